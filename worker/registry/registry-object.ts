// The registry: join tokens, which key has which name, pending machines, and the audit log. One object, a thin shell
// around the functions of worker/registry. It stores public keys alone.
import type { BulkQuery, NewOperator, RevocationsQuery } from "../../shared/protocol/administration-api.ts";
import type { BackupCell, BackupPage } from "../../shared/protocol/backup.ts";
import type { TokenRequest } from "../../shared/protocol/join-tokens.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { type Environment, fleetIndex, gatewaySize, origins, removeSilentNodesDays } from "../env.ts";
import { mintJoinToken } from "../identity/join-token.ts";
import { randomNonce } from "../identity/mac-keys.ts";
import { mintOperatorSecret } from "../identity/operator.ts";
import { ApiserverProbe, askForNode, type Probed } from "../kube/probe.ts";
import type { Measured } from "../metrics/metrics.ts";
import { LazyAlarm } from "../storage/lazy-alarm.ts";
import { migrate, StoredObject } from "../storage/migrations.ts";
import { approvePending, type NotFresh, pinnedTo } from "./admission.ts";
import { type AdmissionRequest, admitRequest, claimedTokenId } from "./admission-request.ts";
import { audit, type AuditRecord, type AuditRequest, readAudit } from "./audit.ts";
import { readTable, type RegistryTable } from "./backup-tables.ts";
import {
  type BulkToPlan,
  type ConfirmedBulk,
  listBulks,
  planBulk,
  showBulk,
  startPlanned,
  startRemovals,
  stopBulk,
} from "./bulk.ts";
import { BULK_PACE, bulkTurnOf } from "./bulk-runner.ts";
import { gatewaysInUse, reassignGateway, type RefusedByGateway } from "./gateways.ts";
import {
  createOperator,
  listOperators,
  type NamedOperator,
  revokeOperator,
  useOperator,
} from "./operators.ts";
import { Imports } from "./imports.ts";
import { listOriginMachines, listOrigins, noteOrigin, type OriginMachinesRequest } from "./origins.ts";
import { countPending, listPending, type NotPinned, rejectPending } from "./pending.ts";
import { PendingTeller } from "./pending-teller.ts";
import {
  type ConfirmedPin,
  confirmPin,
  countPinned,
  findPin,
  type GrantedPin,
  leavePin,
  pinnedAmong,
  pinnedNames,
  type RotationRefused,
  samplePinned,
  setNextKey,
  unpin,
  wasPinned,
} from "./pins.ts";
import { type RefusedChange, noteRefusedChange } from "./refused-changes.ts";
import { Refusals } from "./refusals.ts";
import { listRevocations } from "./revocations.ts";
import { REGISTRY_MIGRATIONS } from "./schema.ts";
import { fromText, type SessionHolder, Sessions, type SignInRequest } from "./sessions.ts";
import { findToken, insertToken, listedToken, listTokens, revokeToken } from "./tokens.ts";
import { currentMs } from "../clock.ts";

export class RegistryObject extends StoredObject {
  readonly #sql: SqlStorage;
  readonly #refusals: Refusals;
  readonly #apiserver: ApiserverProbe;
  readonly #pending: PendingTeller;
  readonly #alarm: LazyAlarm;
  readonly #sessions: Sessions;
  readonly #imports: Imports;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    migrate(ctx.storage, REGISTRY_MIGRATIONS);
    this.#apiserver = new ApiserverProbe(askForNode(env), currentMs);
    this.#alarm = new LazyAlarm(ctx.storage, currentMs);
    this.#sql = ctx.storage.sql;
    this.#refusals = new Refusals(this.#sql);
    this.#sessions = new Sessions(this.#sql, env);
    this.#imports = new Imports(ctx.storage, env);
    this.#pending = new PendingTeller({
      sql: this.#sql,
      nowMs: currentMs,
      send: (pending) => fleetIndex(env).setPending(pending),
    });
  }

  /** Mints a join token and returns it, once: only its public key is kept. `who`: the operator. */
  async mintToken(request: TokenRequest, who: string) {
    const { id, key, token } = await mintJoinToken();
    const nowMs = currentMs();
    return this.#atomically(() => {
      insertToken(this.#sql, { id, key, request, createdBy: who, nowMs });
      audit(this.#sql, { who, what: "token.create", target: id, detail: request.names }, nowMs);
      return { ...listedToken(findToken(this.#sql, id, nowMs)!), token };
    });
  }

  /** All join tokens, newest first. */
  listTokens() {
    return listTokens(this.#sql, currentMs()).map(listedToken);
  }

  /** No machine can enrol with this token any more. The error: there is no such token. */
  revokeToken(id: string, who: string): Result<null> {
    return this.#changing({ who, what: "token.revoke", target: id }, () =>
      revokeToken(this.#sql, id, currentMs()),
    );
  }

  /**
   * Decides about a machine that has a token for this name; returns the pin that its object is to follow. A machine
   * without a token learns nothing, not even why. The same (token, name, key) is admitted again while the key has the
   * name, and counts once.
   */
  async admit(request: AdmissionRequest): Promise<Result<GrantedPin, NotPinned | NotFresh>> {
    const tokenId = claimedTokenId(request.binding);
    const admitted = await admitRequest(this.ctx.storage, request, tokenId, origins(this.env));
    const { name, machine, address } = request;
    const asked = { name, thumbprint: machine.thumbprint, token: tokenId };
    const isWaiting = !admitted.ok && admitted.error.reason === "pending";
    const outcome = admitted.ok ? "admitted" : isWaiting ? "waits" : "refused";
    this.ctx.waitUntil(this.#pending.enrolled({ ...asked, outcome }));
    if (!admitted.ok) this.#refusals.noteRefused({ ...asked, address }, admitted.error, currentMs());
    return admitted;
  }

  /** The pin of this name, for a machine's object that was lost; null: it is not this key's. */
  pinnedTo(name: string, thumbprint: string) {
    return pinnedTo(this.#sql, name, thumbprint, currentMs());
  }

  /** Has a machine this name, also one that was revoked? */
  knows(name: string): boolean {
    return findPin(this.#sql, name) !== undefined;
  }

  /** Of these names, those that a machine has. */
  known(names: string[]): string[] {
    return pinnedAmong(this.#sql, names);
  }

  /** A page of the names that a machine has, in their order. */
  names(after: string, limit: number): string[] {
    return pinnedNames(this.#sql, after, limit);
  }

  /** Some of them. */
  sampleNames(limit: number): string[] {
    return samplePinned(this.#sql, limit);
  }

  countNames(): number {
    return countPinned(this.#sql);
  }

  /** Has a machine ever had this name, also one that has left? */
  knew(name: string): boolean {
    return wasPinned(this.#sql, name);
  }

  /** Records an operator's action on a machine's object in the audit log. The error: no machine has the name. */
  noteAbout(record: AuditRecord): Result<null> {
    return this.#changing(record, () =>
      this.knows(record.target) ? success(null) : failure("no machine has this name"),
    );
  }

  /** Records what an operator does in another object in the audit log. */
  noteChange(record: AuditRecord): void {
    this.#atomically(() => audit(this.#sql, record, currentMs()));
  }

  /**
   * Call it when the machine reports with this key by this origin: for the first time since it was pinned or rotated,
   * or for the first time in a day. null: the key has lost the name.
   */
  confirm(name: string, generation: number, thumbprint: string, origin: string, key?: string) {
    const pinned = { name, generation, thumbprint, key };
    return this.#atomically((): ConfirmedPin | null => {
      const confirmed = confirmPin(this.#sql, pinned, gatewaySize(this.env), currentMs());
      if (confirmed) noteOrigin(this.#sql, name, origin, currentMs());
      return confirmed;
    });
  }

  /** Another gateway for a machine that its own has no room for. null: there is none, or the key has lost the name. */
  reassign(refused: RefusedByGateway): number | null {
    return this.#atomically(() => reassignGateway(this.#sql, refused, gatewaySize(this.env)));
  }

  /** The numbers of the gateways that machines have. */
  gatewaysInUse(): number[] {
    return gatewaysInUse(this.#sql);
  }

  /** Notes the next key, which takes over with its first report. */
  rotate(name: string, generation: number, thumbprint: string, key?: string): Result<null, RotationRefused> {
    const next = { name, generation, thumbprint, key };
    return this.#atomically(() => setNextKey(this.#sql, next, currentMs()));
  }

  /**
   * All keys of this name are refused for ever; a machine that leaves is also forgotten. It can be repeated. Returns a
   * generation, before which all pins that the machine's object has are out of date. The error: no machine ever had the
   * name.
   */
  unpin(name: string, what: "machine.revoke" | "machine.forget", who: string): Result<number> {
    return this.#changing({ who, what, target: name }, () => unpin(this.#sql, name, what, currentMs()));
  }

  /** The same for a machine that leaves. The error also: another key has the name by now. */
  leave(name: string, generation: number, thumbprint: string): Result<number> {
    return this.#atomically(() => leavePin(this.#sql, { name, generation, thumbprint }, currentMs()));
  }

  /** The machines that wait for a name, oldest first. */
  listPending() {
    return listPending(this.#sql, currentMs());
  }

  /** Tells the fleet index who waits, for the feeds, where that has changed. Whoever opens a feed asks for it as well. */
  tellPending(): void {
    this.ctx.waitUntil(this.#pending.tell());
  }

  /** Gives the name to the machine that waits with this key; returns its pin. The error: none waits with it. */
  approve(name: string, thumbprint: string, who: string): Result<GrantedPin> {
    const record = { who, what: "machine.approve", target: name, detail: `key ${thumbprint}` } as const;
    const approved = this.#changing(record, () => approvePending(this.#sql, name, thumbprint, currentMs()));
    this.tellPending();
    return approved;
  }

  /** The machine that waits with this key never gets a name. The error: none waits with it. */
  reject(name: string, thumbprint: string, who: string): Result<null> {
    const record = { who, what: "machine.reject", target: name, detail: `key ${thumbprint}` } as const;
    const rejected = this.#changing(record, () => rejectPending(this.#sql, name, thumbprint, currentMs()));
    this.tellPending();
    return rejected;
  }

  /** Which origins machines report by: the configured ones first. */
  listOrigins() {
    return listOrigins(this.#sql, origins(this.env));
  }

  /** A page of the machines that used this origin last, by name. */
  listOriginMachines(query: OriginMachinesRequest) {
    return listOriginMachines(this.#sql, query);
  }

  /** Makes an operator, and returns the secret, once. The error: why not. */
  async createOperator(request: NewOperator, createdBy: string) {
    const { secret, sha256 } = await mintOperatorSecret();
    const detail = `${request.role}, ${request.expiresInSeconds} s`;
    const record = { who: createdBy, what: "operator.create", target: request.name, detail } as const;
    const created = this.#changing(record, () =>
      createOperator(this.#sql, { request, sha256, createdBy }, currentMs()),
    );
    return created.ok ? success({ ...created.value, secret }) : created;
  }

  listOperators() {
    return listOperators(this.#sql, currentMs());
  }

  /** The error: there is no such operator. */
  revokeOperator(name: string, who: string): Result<null> {
    return this.#changing({ who, what: "operator.revoke", target: name }, () =>
      revokeOperator(this.#sql, name, currentMs()),
    );
  }

  /** The operator whose secret has this SHA-256; null: nobody has it (any more). */
  useOperator(sha256: string): NamedOperator | null {
    return useOperator(this.#sql, sha256, currentMs());
  }

  /** An operator has signed in. The error: why there is no session. */
  startSession(request: SignInRequest) {
    return this.#atomically(() => this.#sessions.start(request, currentMs()));
  }

  /** null: there is none with this ID (any more). Writes nothing. */
  session(id: string) {
    return this.#sessions.find(id, currentMs());
  }

  /** Newest first. */
  listSessions() {
    return this.#sessions.list(currentMs());
  }

  /** The error: there is no such session. */
  endSession(id: string, who: string, what: "session.end" | "session.revoke"): Result<null> {
    return this.#changing({ who, what, target: id }, () => this.#sessions.end(id));
  }

  /** Keeps a code, by its SHA-256; returns when it ends. The error: too many are out. */
  addSessionCode(code: string, by: SessionHolder, address: string): Result<number> {
    const record = { who: by.who, what: "session.code", target: by.who, detail: fromText(address) } as const;
    return this.#changing(record, () => this.#sessions.addCode(code, by, currentMs()));
  }

  noteRefusedChange(refused: RefusedChange): void {
    this.#atomically(() => noteRefusedChange(this.#sql, refused, currentMs()));
  }

  listRevocations(query: RevocationsQuery) {
    return listRevocations(this.#sql, query);
  }

  /** Changes nothing but what a confirmation is good for. */
  planBulk(plan: BulkToPlan) {
    return this.#atomically(() => planBulk(this.#sql, plan, randomNonce() + randomNonce(), currentMs()));
  }

  /** The error: why it does not begin. */
  async startBulk(confirmed: ConfirmedBulk) {
    const started = this.#atomically(() => startPlanned(this.#sql, confirmed, currentMs()));
    if (started.ok) await this.#alarm.atLatest(currentMs());
    return started;
  }

  /** Newest first. */
  listBulks(limit: number) {
    return listBulks(this.#sql, limit);
  }

  /** null: there is none. One that runs has its alarm set, should that be lost. */
  async showBulk(id: number, query: BulkQuery) {
    const bulk = showBulk(this.#sql, id, query);
    if (bulk?.state === "running") await this.#alarm.atLatest(currentMs() + BULK_PACE.againMs);
    return bulk ?? null;
  }

  /** The error: there is none. */
  stopBulk(id: number, who: string): Result<null> {
    return this.#atomically(() => stopBulk(this.#sql, id, who, currentMs()));
  }

  /** Once a day: the Nodes of machines that are silent for as long as the deployment says. */
  async removeSilentNodes(): Promise<void> {
    const days = removeSilentNodesDays(this.env);
    if (days === null) return;
    const names = (await fleetIndex(this.env).silentFor(days)).map(({ name }) => name);
    const started = this.#atomically(() => startRemovals(this.#sql, names, currentMs()));
    if (started) await this.#alarm.atLatest(currentMs());
  }

  /** Executes actions on many machines. */
  override async alarm(): Promise<void> {
    this.#alarm.rang();
    const nextMs = await bulkTurnOf(this.ctx.storage, this.env);
    if (nextMs !== null) await this.#alarm.atLatest(nextMs);
  }

  /** A page of the audit log, of what machines caused, or of what was refused; newest first. */
  audit(query: AuditRequest) {
    return readAudit(this.#sql, query);
  }

  /** A page of a table, for a backup. `after`: the key of the last row before. */
  backupRows(table: RegistryTable, after: BackupCell[] | null) {
    return readTable(this.#sql, table, after);
  }

  importState() {
    return this.#imports.state();
  }

  /** The error: why the page is not taken, and what to do. */
  importPage(page: BackupPage, who: string) {
    return this.#imports.take(page, who);
  }

  abandonImport(who: string) {
    return this.#imports.abandon(who);
  }

  /** For GET /metrics. */
  metrics(): Measured {
    const nowMs = currentMs();
    return {
      rollcall_machines: [{ labels: { state: "pending" }, value: countPending(this.#sql, nowMs) }],
      rollcall_refusals_total: this.#refusals.counts(nowMs),
    };
  }

  /** That it answers, its clock, and whether the apiserver answers: it asks for all isolates together. */
  async readiness(): Promise<{ apiserver: Probed; nowMs: number }> {
    const apiserver = await this.#apiserver.probe();
    return { apiserver, nowMs: currentMs() };
  }

  /** All of it or nothing. */
  #atomically<T>(act: () => T): T {
    return this.ctx.storage.transactionSync(act);
  }

  /** Makes a change and its entry in the audit log, both or neither. A change that fails gets no entry. */
  #changing<T>(record: AuditRecord, change: () => Result<T>): Result<T> {
    return this.#atomically(() => {
      const result = change();
      if (result.ok) audit(this.#sql, record, currentMs());
      return result;
    });
  }
}
