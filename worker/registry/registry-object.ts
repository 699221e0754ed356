// The registry: join tokens, pins of names to keys, machines that wait for approval, operators, and the logs of changes.
// One Durable Object; it stores no private key and no secret.
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
import {
  type AdmissionRequest,
  admitRequest,
  approvePending,
  claimedTokenId,
  type NotFresh,
  pinnedTo,
} from "./admission.ts";
import {
  audit,
  type AuditRecord,
  type AuditRequest,
  noteRefusedChange,
  readAudit,
  type RefusedChange,
} from "./audit.ts";
import { Imports, readTable, type RegistryTable } from "./imports.ts";
import {
  BULK_PACE,
  type BulkToPlan,
  bulkTurnOf,
  type ConfirmedBulk,
  listBulks,
  planBulk,
  showBulk,
  startPlanned,
  startRemovals,
  stopBulk,
} from "./bulk.ts";
import { gatewaysInUse, reassignGateway, type RefusedByGateway } from "./gateways.ts";
import {
  createOperator,
  listOperators,
  type NamedOperator,
  revokeOperator,
  useOperator,
} from "./operators.ts";
import { listOriginMachines, listOrigins, noteOrigin, type OriginMachinesRequest } from "./origins.ts";
import { countPending, listPending, type NotPinned, PendingUpdates, rejectPending } from "./pending.ts";
import {
  type ConfirmedPin,
  confirmPin,
  countPinned,
  findPin,
  type GrantedPin,
  leavePin,
  listRevocations,
  pinnedAmong,
  pinnedNames,
  type RotationRefused,
  samplePinned,
  setNextKey,
  unpin,
  wasPinned,
} from "./pins.ts";
import { Refusals } from "./refusals.ts";
import { REGISTRY_MIGRATIONS } from "./schema.ts";
import { fromText, type SessionHolder, Sessions, type SignInRequest } from "./sessions.ts";
import { findToken, insertToken, listedToken, listTokens, revokeToken } from "./tokens.ts";
import { currentMs } from "../clock.ts";

export class RegistryObject extends StoredObject {
  readonly #sql: SqlStorage;
  readonly #refusals: Refusals;
  readonly #apiserver: ApiserverProbe;
  readonly #pending: PendingUpdates;
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
    this.#pending = new PendingUpdates({
      sql: this.#sql,
      nowMs: currentMs,
      send: (pending) => fleetIndex(env).setPending(pending),
    });
  }

  /** Creates a join token and returns it, once: only its public key is stored. `who`: the operator. */
  async mintToken(request: TokenRequest, who: string) {
    const { id, key, token } = await mintJoinToken();
    const nowMs = currentMs();
    return this.#atomically(() => {
      insertToken(this.#sql, { id, key, request, createdBy: who, nowMs });
      audit(this.#sql, { who, what: "token.create", target: id, detail: request.names }, nowMs);
      return { ...listedToken(findToken(this.#sql, id, nowMs)!), token };
    });
  }

  /** Returns all join tokens, newest first. */
  listTokens() {
    return listTokens(this.#sql, currentMs()).map(listedToken);
  }

  /** Revokes a join token. Fails if it does not exist. */
  revokeToken(id: string, who: string): Result<null> {
    return this.#changing({ who, what: "token.revoke", target: id }, () =>
      revokeToken(this.#sql, id, currentMs()),
    );
  }

  /**
   * Admits a machine that has a token for this name, and returns its pin. A machine without a token does not learn the
   * reason of its refusal. A repeated admission of the same token, name and key counts once.
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

  /** Returns the pin of this name, for a machine's object that was lost; null if the key does not have the name. */
  pinnedTo(name: string, thumbprint: string) {
    return pinnedTo(this.#sql, name, thumbprint, currentMs());
  }

  /** Reports whether a machine has this name. A revoked machine counts. */
  knows(name: string): boolean {
    return findPin(this.#sql, name) !== undefined;
  }

  /** Returns those names that a machine has. */
  known(names: string[]): string[] {
    return pinnedAmong(this.#sql, names);
  }

  /** Returns a page of the names that machines have, in order. */
  names(after: string, limit: number): string[] {
    return pinnedNames(this.#sql, after, limit);
  }

  /** Returns a random sample of these names. */
  sampleNames(limit: number): string[] {
    return samplePinned(this.#sql, limit);
  }

  countNames(): number {
    return countPinned(this.#sql);
  }

  /** Reports whether a machine has or had this name. */
  knew(name: string): boolean {
    return wasPinned(this.#sql, name);
  }

  /** Records an operator's action on a machine in the audit log. Fails if no machine has the name. */
  noteAbout(record: AuditRecord): Result<null> {
    return this.#changing(record, () =>
      this.knows(record.target) ? success(null) : failure("no machine has this name"),
    );
  }

  /** Records an operator's action on another object in the audit log. */
  noteChange(record: AuditRecord): void {
    this.#atomically(() => audit(this.#sql, record, currentMs()));
  }

  /**
   * Records that a machine reports with this key and origin: for the first time since it was pinned or rotated, or in a
   * day. Returns null if the key has lost the name.
   */
  confirm(name: string, generation: number, thumbprint: string, origin: string, key?: string) {
    const pinned = { name, generation, thumbprint, key };
    return this.#atomically((): ConfirmedPin | null => {
      const confirmed = confirmPin(this.#sql, pinned, gatewaySize(this.env), currentMs());
      if (confirmed) noteOrigin(this.#sql, name, origin, currentMs());
      return confirmed;
    });
  }

  /** Assigns another gateway to a machine whose own is full. Returns null without gateways, or if the key lost the name. */
  reassign(refused: RefusedByGateway): number | null {
    return this.#atomically(() => reassignGateway(this.#sql, refused, gatewaySize(this.env)));
  }

  /** Returns the numbers of the gateways that machines have. */
  gatewaysInUse(): number[] {
    return gatewaysInUse(this.#sql);
  }

  /** Stores the next key, which replaces the present one with its first report. */
  rotate(name: string, generation: number, thumbprint: string, key?: string): Result<null, RotationRefused> {
    const next = { name, generation, thumbprint, key };
    return this.#atomically(() => setNextKey(this.#sql, next, currentMs()));
  }

  /**
   * Revokes or forgets a machine: all its keys are refused for ever. Safe to repeat. Returns a generation: pins of the
   * machine's object with a lower one are out of date. Fails if no machine ever had the name.
   */
  unpin(name: string, what: "machine.revoke" | "machine.forget", who: string): Result<number> {
    return this.#changing({ who, what, target: name }, () => unpin(this.#sql, name, what, currentMs()));
  }

  /** Forgets a machine that leaves, as `unpin` does. Fails also if another key has the name. */
  leave(name: string, generation: number, thumbprint: string): Result<number> {
    return this.#atomically(() => leavePin(this.#sql, { name, generation, thumbprint }, currentMs()));
  }

  /** Returns the machines that wait for approval, oldest first. */
  listPending() {
    return listPending(this.#sql, currentMs());
  }

  /**
   * Updates the fleet index's list of waiting machines, if it has changed. Also called when a feed opens. `tellPending` is the
   * name on the wire.
   */
  tellPending(): void {
    this.ctx.waitUntil(this.#pending.send());
  }

  /** Gives the name to the machine that waits with this key. Fails if none waits with it. */
  approve(name: string, thumbprint: string, who: string): Result<GrantedPin> {
    const record = { who, what: "machine.approve", target: name, detail: `key ${thumbprint}` } as const;
    const approved = this.#changing(record, () => approvePending(this.#sql, name, thumbprint, currentMs()));
    this.tellPending();
    return approved;
  }

  /** Rejects the machine that waits with this key: the key is refused for ever. Fails if none waits with it. */
  reject(name: string, thumbprint: string, who: string): Result<null> {
    const record = { who, what: "machine.reject", target: name, detail: `key ${thumbprint}` } as const;
    const rejected = this.#changing(record, () => rejectPending(this.#sql, name, thumbprint, currentMs()));
    this.tellPending();
    return rejected;
  }

  /** Returns the origins that machines report to, configured ones first. */
  listOrigins() {
    return listOrigins(this.#sql, origins(this.env));
  }

  /** Returns a page of the machines whose last origin is this one, sorted by name. */
  listOriginMachines(query: OriginMachinesRequest) {
    return listOriginMachines(this.#sql, query);
  }

  /** Creates an operator and returns the secret, once. */
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

  /** Fails if no operator has the name. */
  revokeOperator(name: string, who: string): Result<null> {
    return this.#changing({ who, what: "operator.revoke", target: name }, () =>
      revokeOperator(this.#sql, name, currentMs()),
    );
  }

  /** Returns the operator whose secret has this SHA-256; null if there is none, or it was revoked or has expired. */
  useOperator(sha256: string): NamedOperator | null {
    return useOperator(this.#sql, sha256, currentMs());
  }

  /** Starts a session of an operator who signs in. */
  startSession(request: SignInRequest) {
    return this.#atomically(() => this.#sessions.start(request, currentMs()));
  }

  /** Returns null if the session does not exist or has ended. Writes nothing. */
  session(id: string) {
    return this.#sessions.find(id, currentMs());
  }

  /** Returns sessions, newest first. */
  listSessions() {
    return this.#sessions.list(currentMs());
  }

  /** Fails if there is no such session. */
  endSession(id: string, who: string, what: "session.end" | "session.revoke"): Result<null> {
    return this.#changing({ who, what, target: id }, () => this.#sessions.end(id));
  }

  /** Stores a sign-in code by its SHA-256 and returns when it expires. Fails if too many codes are unused. */
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

  /** Stores the result of a dry run for a confirmation. */
  planBulk(plan: BulkToPlan) {
    return this.#atomically(() => planBulk(this.#sql, plan, randomNonce() + randomNonce(), currentMs()));
  }

  /** Starts a confirmed action. */
  async startBulk(confirmed: ConfirmedBulk) {
    const started = this.#atomically(() => startPlanned(this.#sql, confirmed, currentMs()));
    if (started.ok) await this.#alarm.atLatest(currentMs());
    return started;
  }

  /** Returns actions, newest first. */
  listBulks(limit: number) {
    return listBulks(this.#sql, limit);
  }

  /** Returns null if there is no such action. Sets the alarm if the action runs, in case the alarm was lost. */
  async showBulk(id: number, query: BulkQuery) {
    const bulk = showBulk(this.#sql, id, query);
    if (bulk?.state === "running") await this.#alarm.atLatest(currentMs() + BULK_PACE.againMs);
    return bulk ?? null;
  }

  /** Fails if there is no such action. */
  stopBulk(id: number, who: string): Result<null> {
    return this.#atomically(() => stopBulk(this.#sql, id, who, currentMs()));
  }

  /** Removes the Nodes of machines that are silent for REMOVE_SILENT_NODES_DAYS. Runs once a day. */
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

  /** Returns a page of one of the three logs, newest first. */
  audit(query: AuditRequest) {
    return readAudit(this.#sql, query);
  }

  /** Returns a page of a table for a backup. `after`: the key of the page's last row before. */
  backupRows(table: RegistryTable, after: BackupCell[] | null) {
    return readTable(this.#sql, table, after);
  }

  importState() {
    return this.#imports.state();
  }

  /** Imports a page of a backup. The error tells an operator what to do. */
  importPage(page: BackupPage, who: string) {
    return this.#imports.take(page, who);
  }

  abandonImport(who: string) {
    return this.#imports.abandon(who);
  }

  /** Returns the samples for GET /metrics. */
  metrics(): Measured {
    const nowMs = currentMs();
    return {
      rollcall_machines: [{ labels: { state: "pending" }, value: countPending(this.#sql, nowMs) }],
      rollcall_refusals_total: this.#refusals.counts(nowMs),
    };
  }

  /** Reports the object's clock and the last probe of the apiserver, which all isolates share. */
  async readiness(): Promise<{ apiserver: Probed; nowMs: number }> {
    const apiserver = await this.#apiserver.probe();
    return { apiserver, nowMs: currentMs() };
  }

  #atomically<T>(act: () => T): T {
    return this.ctx.storage.transactionSync(act);
  }

  /** Makes a change and its entry in the audit log in one transaction. A change that fails gets no entry. */
  #changing<T>(record: AuditRecord, change: () => Result<T>): Result<T> {
    return this.#atomically(() => {
      const result = change();
      if (result.ok) audit(this.#sql, record, currentMs());
      return result;
    });
  }
}
