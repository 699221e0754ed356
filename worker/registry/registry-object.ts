// The registry: join tokens, who has which name, who waits for one, and the audit log. One object, a thin shell around
// worker/registry; it knows public keys only.
import { DurableObject } from "cloudflare:workers";
import type { TokenRequest } from "../../shared/protocol/join-tokens.ts";
import type {
  AuditEntry,
  ListedToken,
  MintedToken,
  OriginMachine,
  OriginUse,
  PendingMachine,
} from "../../shared/protocol/operator-answers.ts";
import type { AuditQuery, OriginMachinesQuery } from "../../shared/protocol/operator-api.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { type Environment, origins } from "../env.ts";
import { claimedKid, type ProvenMachine, verifyBinding } from "../identity/jwt.ts";
import { mintJoinToken, nameMatches } from "../identity/join-token.ts";
import { migrate } from "../storage/migrations.ts";
import { admit, approvePending, REFUSED } from "./admission.ts";
import { audit, type AuditRecord, logMachine, readAudit } from "./audit.ts";
import { listOriginMachines, listOrigins, noteOrigin } from "./origins.ts";
import { listPending, type NotPinned, rejectPending } from "./pending.ts";
import {
  confirmPin,
  findPin,
  type GrantedPin,
  type RotationRefused,
  setNextKey,
  unpin,
  wasPinned,
} from "./pins.ts";
import { REGISTRY_MIGRATIONS } from "./schema.ts";
import { findToken, insertToken, listedToken, listTokens, revokeToken } from "./tokens.ts";

export interface AdmissionRequest {
  name: string;
  method: string;
  path: string;
  binding: string;
  machine: ProvenMachine;
  /** The address that it asks from; "" where the platform does not tell. */
  address: string;
}

export class RegistryObject extends DurableObject<Environment> {
  readonly #sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    migrate(ctx.storage, REGISTRY_MIGRATIONS);
    this.#sql = ctx.storage.sql;
  }

  /** Makes a join token and answers it, once: only its public key is kept. `who`: the operator. */
  async mintToken(request: TokenRequest, who: string): Promise<MintedToken> {
    const { id, key, token } = await mintJoinToken();
    const nowMs = Date.now();
    return this.ctx.storage.transactionSync(() => {
      insertToken(this.#sql, { id, key, request, createdBy: who, nowMs });
      audit(this.#sql, { who, what: "token.create", target: id, detail: request.names }, nowMs);
      return { ...listedToken(findToken(this.#sql, id, nowMs)!), token };
    });
  }

  /** All join tokens, newest first. */
  listTokens(): ListedToken[] {
    return listTokens(this.#sql, Date.now()).map(listedToken);
  }

  /** Nobody enrols with this token any more. The error: there is none. */
  revokeToken(id: string, who: string): Result<null> {
    return this.#changing({ who, what: "token.revoke", target: id }, () =>
      revokeToken(this.#sql, id, Date.now()),
    );
  }

  /**
   * Decides about a machine that holds a token for this name; answers the pin that its object is to follow. Who has no
   * token learns nothing, not even why. The same (token, name, key) is admitted again for ever and counts once.
   */
  async admit(request: AdmissionRequest): Promise<Result<GrantedPin, NotPinned>> {
    const { name, method, path, binding, machine, address } = request;
    const { thumbprint, key, machineID, systemUUID } = machine;
    const tokenId = claimedKid(binding);
    const token = tokenId === undefined ? undefined : findToken(this.#sql, tokenId, Date.now());
    if (!token || !nameMatches(token.names, name)) return REFUSED;
    const signed = { name, method, path, origins: origins(this.env) };
    const isBound = await verifyBinding(binding, token.key, signed, thumbprint);
    if (!isBound) return REFUSED;
    const asking = { token: token.id, name, thumbprint, machine: { key, machineID, systemUUID, address } };
    return this.ctx.storage.transactionSync(() => admit(this.#sql, asking, Date.now()));
  }

  /** Has a machine this name, also one that was revoked? */
  knows(name: string): boolean {
    return findPin(this.#sql, name) !== undefined;
  }

  /** Has a machine ever had this name, also one that has left? */
  knew(name: string): boolean {
    return wasPinned(this.#sql, name);
  }

  /** Notes what an operator does to a machine's object. The error, and nothing noted: no machine has the name. */
  noteAbout(record: AuditRecord): Result<null> {
    return this.#changing(record, () =>
      this.knows(record.target) ? success(null) : failure("no machine has this name"),
    );
  }

  /**
   * The machine reports with this key by this origin: for the first time since it was pinned or rotated, or in a day.
   * False: it has lost the name.
   */
  confirm(name: string, generation: number, thumbprint: string, origin: string): boolean {
    return this.ctx.storage.transactionSync(() => {
      const isConfirmed = confirmPin(this.#sql, { name, generation, thumbprint }, Date.now());
      if (isConfirmed) noteOrigin(this.#sql, name, origin, Date.now());
      return isConfirmed;
    });
  }

  /** Has the next key noted, which takes over with its first report. */
  rotate(name: string, generation: number, thumbprint: string): Result<null, RotationRefused> {
    return this.ctx.storage.transactionSync(() =>
      setNextKey(this.#sql, { name, generation, thumbprint }, Date.now()),
    );
  }

  /**
   * All keys of this name are refused for ever; a machine that leaves is forgotten, too. Repeatable. Answers a
   * generation: what the machine's object has seen before it is out of date. The error: no machine ever had the name.
   */
  unpin(name: string, what: "machine.revoke" | "machine.leave", who: string): Result<number> {
    return this.#changing({ who, what, target: name }, () => unpin(this.#sql, name, what, Date.now()));
  }

  /** The same, by the machine that has this key: it leaves. */
  leave(name: string, thumbprint: string): Result<number> {
    return this.ctx.storage.transactionSync(() => {
      const who = `machine ${thumbprint}`;
      if (findPin(this.#sql, name))
        logMachine(this.#sql, { who, what: "machine.leave", target: name }, Date.now());
      return unpin(this.#sql, name, "machine.leave", Date.now());
    });
  }

  /** The machines that wait for a name, oldest first. */
  listPending(): PendingMachine[] {
    return listPending(this.#sql, Date.now());
  }

  /** The machine that waits with this key has the name from now on; answers its pin. The error: none waits with it. */
  approve(name: string, thumbprint: string, who: string): Result<GrantedPin> {
    const record = { who, what: "machine.approve", target: name, detail: `key ${thumbprint}` } as const;
    return this.#changing(record, () => approvePending(this.#sql, name, thumbprint, Date.now()));
  }

  /** The machine that waits with this key never gets a name. The error: none waits with it. */
  reject(name: string, thumbprint: string, who: string): Result<null> {
    const record = { who, what: "machine.reject", target: name, detail: `key ${thumbprint}` } as const;
    return this.#changing(record, () => rejectPending(this.#sql, name, thumbprint, Date.now()));
  }

  /** Which origins machines report by: the configured ones first. */
  listOrigins(): OriginUse[] {
    return listOrigins(this.#sql, origins(this.env));
  }

  /** A page of the machines that used this origin last, by name. */
  listOriginMachines(query: OriginMachinesQuery): OriginMachine[] {
    return listOriginMachines(this.#sql, query);
  }

  /** A page of the audit log, or of what machines caused; newest first. */
  audit(query: AuditQuery): AuditEntry[] {
    return readAudit(this.#sql, query);
  }

  /** A change and its entry in the audit log, both or neither; nothing is noted where there was nothing to change. */
  #changing<T>(record: AuditRecord, change: () => Result<T>): Result<T> {
    return this.ctx.storage.transactionSync(() => {
      const result = change();
      if (result.ok) audit(this.#sql, record, Date.now());
      return result;
    });
  }
}
