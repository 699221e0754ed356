// Defines the registry: the one Durable Object with join tokens, pins of names to keys, machines that wait for
// approval, operators, and the logs of changes. The registry stores no private key and no secret.
import type { NewOperator, RevocationsQuery } from "../../shared/protocol/administration-api.ts";
import type { BackupCell, BackupPage } from "../../shared/protocol/backup.ts";
import type { DecidedRequest } from "../../shared/protocol/join-tokens.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { type Environment, fleetIndex, gatewaySize, origins } from "../env.ts";
import { mintJoinToken } from "../identity/join-token.ts";
import { parseMacKeys } from "../identity/mac-keys.ts";
import { mintOperatorSecret } from "../identity/operator.ts";
import { ApiserverProbe, askForNode, askForNodeFeature, type Probed } from "../kube/probe.ts";
import type { Measured } from "../metrics/metrics.ts";
import { migrate } from "../storage/migrations.ts";
import { ALL_ROWS, column, type RowsPage } from "../storage/query.ts";
import {
  type AdmissionRequest,
  admitRequest,
  approvePending,
  claimedTokenId,
  type NotAdmitted,
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
import { type AnswerNote, type Asking, Askings, type NotYet } from "./askings.ts";
import { Imports, readTable, type RegistryTable } from "./imports.ts";
import {
  gatewaysInUse,
  noteCapacity,
  payingSize,
  reassignGateway,
  type RefusedByGateway,
} from "./gateways.ts";
import {
  createOperator,
  listOperators,
  operatorRecord,
  type NamedOperator,
  revokeOperator,
  useOperator,
} from "./operators.ts";
import { listOriginMachines, listOrigins, noteOrigin, type OriginMachinesRequest } from "./origins.ts";
import { countPending, listPending, PendingUpdates, rejectPending } from "./pending.ts";
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
import { RegistryWithRollouts } from "./rollouts.ts";
import { followedRevisions } from "./rules.ts";
import { REGISTRY_MIGRATIONS } from "./schema.ts";
import { fromText, type SessionHolder, Sessions, type SignInRequest } from "./sessions.ts";
import { createToken, endTokens, listedToken, listTokens, revokeToken } from "./tokens.ts";
import { Turns } from "./turns.ts";
import { currentMs } from "../clock.ts";

export class RegistryObject extends RegistryWithRollouts {
  readonly #sql: SqlStorage;
  readonly #refusals: Refusals;
  readonly #apiserver: ApiserverProbe;
  readonly #pending: PendingUpdates;
  readonly #sessions: Sessions;
  readonly #imports: Imports;
  readonly #turns = new Turns();
  readonly #askings: Askings;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    migrate(ctx.storage, REGISTRY_MIGRATIONS);
    this.#apiserver = new ApiserverProbe(askForNode(env), currentMs, askForNodeFeature(env));
    this.#sql = ctx.storage.sql;
    this.#refusals = new Refusals(this.#sql);
    this.#sessions = new Sessions(this.#sql, env);
    this.#imports = new Imports(ctx.storage, env);
    this.#askings = new Askings(this.#sql);
    this.#pending = new PendingUpdates({
      sql: this.#sql,
      nowMs: currentMs,
      send: (pending) => fleetIndex(env).setPending(pending),
    });
  }

  /** Creates a join token and returns it, this once: the registry stores only its public key. `who`: the operator. */
  async mintToken(request: DecidedRequest, who: string) {
    const { id, key, token } = await mintJoinToken(parseMacKeys(this.env.KID_MAC_KEYS));
    const made = { id, key, request, createdBy: who, nowMs: currentMs() };
    return this.#atomically(() => ({ ...createToken(this.#sql, made), token }));
  }

  /** Returns a page of the join tokens, newest first. Earlier versions request all tokens. */
  listTokens(page: RowsPage = ALL_ROWS) {
    return listTokens(this.#sql, page, currentMs()).map(listedToken);
  }

  /** Returns the IDs of all join tokens. */
  tokenIds(): string[] {
    return column(this.#sql, "SELECT id FROM tokens");
  }

  /** Revokes a join token. Fails if no token has this ID. */
  revokeToken(id: string, who: string): Result<null> {
    return this.#changing({ who, what: "token.revoke", target: id }, () =>
      revokeToken(this.#sql, id, currentMs()),
    );
  }

  /**
   * Admits a machine that has a token for this name, and returns its pin. A machine without a token does not learn
   * why it is refused. Repeated admissions with the same token, name and key count once.
   */
  async admit(request: AdmissionRequest): Promise<Result<GrantedPin, NotAdmitted>> {
    const tokenId = claimedTokenId(request.binding);
    const admitted = await admitRequest(this.ctx.storage, request, tokenId, origins(this.env), this.#turns);
    const { name, machine, address } = request;
    const asked = { name, thumbprint: machine.thumbprint, token: tokenId };
    const isWaiting = !admitted.ok && admitted.error.reason === "pending";
    const outcome = admitted.ok ? "admitted" : isWaiting ? "waits" : "refused";
    this.ctx.waitUntil(this.#pending.enrolled({ ...asked, outcome }));
    if (!admitted.ok) this.#refusals.noteRefused({ ...asked, address }, admitted.error, currentMs());
    return admitted;
  }

  /** Returns this name's pin, for a machine's object that lost its storage; null if the name has another key. */
  pinnedTo(name: string, thumbprint: string) {
    return pinnedTo(this.#sql, name, thumbprint, currentMs());
  }

  /** Reports whether a machine has this name. A revoked machine counts too. */
  knows(name: string): boolean {
    return findPin(this.#sql, name) !== undefined;
  }

  /** Returns those of `names` that belong to a machine. */
  known(names: string[]): string[] {
    return pinnedAmong(this.#sql, names);
  }

  /** Returns a page of all machines' names, sorted. */
  names(after: string, limit: number): string[] {
    return pinnedNames(this.#sql, after, limit);
  }

  /** Returns a random sample of all machines' names. */
  sampleNames(limit: number): string[] {
    return samplePinned(this.#sql, limit);
  }

  countNames(): number {
    return countPinned(this.#sql);
  }

  /** Reports whether a machine has this name or had it earlier. */
  knew(name: string): boolean {
    return wasPinned(this.#sql, name);
  }

  /** Records an operator's action on a machine in the audit log. Fails if no machine has the name. */
  noteAbout(record: AuditRecord): Result<null> {
    return this.#changing(record, () =>
      this.knows(record.target) ? success(null) : failure("no machine has this name"),
    );
  }

  /** Records a question to a machine before it is sent, and later the end of its answer. Returns its entry, or why not. */
  noteQuestion(noted: Asking | AnswerNote): Result<number, NotYet> {
    return this.#atomically(() => this.#askings.note(noted, currentMs()));
  }

  /** Records an operator's action in the audit log, if the action is not about a machine. */
  noteChange(record: AuditRecord): void {
    this.#atomically(() => audit(this.#sql, record, currentMs()));
  }

  /** Records a report's key and origin, for a new key and then daily. Returns null if the key has lost the name. */
  confirm(
    name: string,
    generation: number,
    thumbprint: string,
    origin: string,
    key?: string,
    intervalMs = 0, // absent from an object of an earlier version
  ) {
    const pinned = { name, generation, thumbprint, key };
    return this.#atomically((): ConfirmedPin | null => {
      const size = payingSize(this.#sql, gatewaySize(this.env), intervalMs);
      const confirmed = confirmPin(this.#sql, pinned, size, currentMs());
      if (confirmed) noteOrigin(this.#sql, name, origin, currentMs());
      return confirmed && { ...confirmed, rules: followedRevisions(this.#sql, name) };
    });
  }

  /** Replaces a machine's full gateway. Returns null without gateways, or if the key has lost the name. */
  reassign(refused: RefusedByGateway): number | null {
    return this.#atomically(() => reassignGateway(this.#sql, refused, gatewaySize(this.env)));
  }

  /** Stores how many machines a gateway can serve, as the gateway has measured. */
  noteCapacity(number: number, machines: number): void {
    noteCapacity(this.#sql, number, machines);
  }

  /** Returns the numbers of all gateways that have machines. */
  gatewaysInUse(): number[] {
    return gatewaysInUse(this.#sql);
  }

  /** Stores a machine's next key, which replaces the present key with its first report. */
  rotate(name: string, generation: number, thumbprint: string, key?: string): Result<null, RotationRefused> {
    return this.#atomically(() => setNextKey(this.#sql, { name, generation, thumbprint, key }, currentMs()));
  }

  /**
   * Revokes or forgets a machine: all its keys are refused for ever. Safe to repeat. Returns a generation: pins
   * with a lower generation are out of date. Fails if no machine ever had the name.
   */
  unpin(name: string, what: "machine.revoke" | "machine.forget", who: string): Result<number> {
    return this.#changing({ who, what, target: name }, () => unpin(this.#sql, name, what, currentMs()));
  }

  /** Forgets a machine that leaves, as `unpin` does. Also fails if another key has the name. */
  leave(name: string, generation: number, thumbprint: string): Result<number> {
    return this.#atomically(() => leavePin(this.#sql, { name, generation, thumbprint }, currentMs()));
  }

  /** Returns a page of the machines that wait for approval, oldest first. Earlier versions request all machines. */
  listPending(page: RowsPage = ALL_ROWS) {
    return listPending(this.#sql, currentMs(), page);
  }

  /**
   * Sends the list of waiting machines to the fleet index, if the list has changed. A new feed calls this method
   * too. The name `tellPending` stays, since older versions call it during a deploy.
   */
  tellPending(): void {
    this.ctx.waitUntil(this.#pending.send());
  }

  /** Gives the name to the machine that waits with this key. Fails if no machine waits with this key. */
  approve(name: string, thumbprint: string, who: string): Result<GrantedPin> {
    const record = { who, what: "machine.approve", target: name, detail: `key ${thumbprint}` } as const;
    const approved = this.#changing(record, () => approvePending(this.#sql, name, thumbprint, currentMs()));
    this.tellPending();
    return approved;
  }

  /** Rejects the machine that waits with this key, and refuses the key for ever. Fails if no such machine waits. */
  reject(name: string, thumbprint: string, who: string): Result<null> {
    const record = { who, what: "machine.reject", target: name, detail: `key ${thumbprint}` } as const;
    const rejected = this.#changing(record, () => rejectPending(this.#sql, name, thumbprint, currentMs()));
    this.tellPending();
    return rejected;
  }

  /** Returns the origins to which machines report, configured origins first. */
  listOrigins() {
    return listOrigins(this.#sql, origins(this.env));
  }

  /** Returns a page of the machines whose last origin is the requested origin, sorted by name. */
  listOriginMachines(query: OriginMachinesRequest) {
    return listOriginMachines(this.#sql, query);
  }

  /** Creates an operator and returns the secret, this once: the registry stores only the secret's hash. */
  async createOperator(request: NewOperator, createdBy: string) {
    const { secret, sha256 } = await mintOperatorSecret();
    const created = this.#changing(operatorRecord(request, createdBy), () =>
      createOperator(this.#sql, { request, sha256, createdBy }, currentMs()),
    );
    return created.ok ? success({ ...created.value, secret }) : created;
  }

  listOperators() {
    return listOperators(this.#sql, currentMs());
  }

  /** Revokes an operator. Fails if no operator has the name. */
  revokeOperator(name: string, who: string): Result<null> {
    return this.#changing({ who, what: "operator.revoke", target: name }, () =>
      revokeOperator(this.#sql, name, currentMs()),
    );
  }

  /** As useOperator of operators.ts. An isolate of an earlier version calls without `knowsSelectors`. */
  useOperator(sha256: string, knowsSelectors = false): NamedOperator | null {
    return useOperator(this.#sql, { sha256, knowsSelectors }, currentMs());
  }

  /** Starts a session for an operator who signs in. */
  startSession(request: SignInRequest) {
    return this.#atomically(() => this.#sessions.start(request, currentMs()));
  }

  /** As `find` of Sessions. Writes nothing. An isolate of an earlier version calls without `knowsSelectors`. */
  session(id: string, knowsSelectors = false) {
    return this.#sessions.find(id, knowsSelectors, currentMs());
  }

  /** Returns sessions, newest first. */
  listSessions() {
    return this.#sessions.list(currentMs());
  }

  /** Ends a session. Fails if no session has this ID. */
  endSession(id: string, who: string, what: "session.end" | "session.revoke"): Result<null> {
    return this.#changing({ who, what, target: id }, () => this.#sessions.end(id));
  }

  /** Stores a sign-in code by its SHA-256 and returns the code's expiry. Fails if too many codes are unused. */
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

  /**
   * Removes join tokens that ended long ago, and starts removing the Nodes of machines silent for
   * REMOVE_SILENT_NODES_DAYS. The cron trigger calls this daily, also in earlier versions, so that the name stays. The
   * alarm also continues a rollout and actions whose own alarm was lost, for example to an earlier Worker.
   */
  async removeSilentNodes(): Promise<void> {
    this.#atomically(() => endTokens(this.#sql, currentMs()));
    const { startSilentRemovals } = await import("./bulk.ts");
    try {
      await startSilentRemovals(this.ctx.storage, this.env);
    } finally {
      await this.alarmAt(currentMs());
    }
  }

  /** Returns a page of one of the three logs, newest first. */
  audit(query: AuditRequest) {
    return readAudit(this.#sql, query);
  }

  /** Returns a page of a table for a backup. `after`: the key of the previous page's last row. */
  backupRows(table: RegistryTable, after: BackupCell[] | null) {
    return readTable(this.#sql, table, after);
  }

  importState() {
    return this.#imports.state();
  }

  /** Imports a page of a backup. The error is a text for an operator. */
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

  /** Returns the registry's clock and its last probe of the apiserver, which all isolates share. */
  async readiness(): Promise<{ apiserver: Probed; nowMs: number }> {
    const apiserver = await this.#apiserver.probe();
    return { apiserver, nowMs: currentMs() };
  }

  #atomically<T>(act: () => T): T {
    return this.ctx.storage.transactionSync(act);
  }

  /** Makes a change and its entry in the audit log in one transaction. A failed change has no entry. */
  #changing<T>(record: AuditRecord, change: () => Result<T>): Result<T> {
    return this.#atomically(() => {
      const result = change();
      if (result.ok) audit(this.#sql, record, currentMs());
      return result;
    });
  }
}
