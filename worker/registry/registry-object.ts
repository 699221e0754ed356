// The registry: join tokens, who has which name, who waits for one, and the audit log. One object, a thin shell around
// worker/registry; it knows public keys only.
import { DurableObject } from "cloudflare:workers";
import type { TokenRequest } from "../../shared/protocol/join-tokens.ts";
import type {
  AuditEntry,
  AuditQuery,
  ListedToken,
  MintedToken,
  OriginMachine,
  OriginMachinesQuery,
  OriginUse,
  PendingMachine,
} from "../../shared/protocol/operator-api.ts";
import type { Environment } from "../env.ts";
import { origins } from "../env.ts";
import { claimedKid, type ProvenMachine, verifyBinding } from "../identity/jwt.ts";
import { mintJoinToken, nameMatches } from "../identity/join-token.ts";
import { migrate } from "../storage/migrations.ts";
import { type Admission, admit, takeOver } from "./admission.ts";
import { audit, type AuditRecord, readAudit } from "./audit.ts";
import { listOriginMachines, listOrigins, noteOrigin } from "./origins.ts";
import { findPending, listPending, rejectPending } from "./pending.ts";
import {
  findPin,
  forgetPin,
  type GrantedPin,
  isBuried,
  isPinned,
  nextGeneration,
  revokePin,
  setNext,
  settle,
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

export interface Admitted {
  admission: Admission;
  /** Where the name is the machine's: for its object. */
  pin: GrantedPin | null;
}

export class RegistryObject extends DurableObject<Environment> {
  readonly #sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    migrate(ctx.storage, REGISTRY_MIGRATIONS);
    this.#sql = ctx.storage.sql;
  }

  /** Makes a join token; only its public key is kept. `who`: the operator. */
  async mintToken(request: TokenRequest, who: string): Promise<MintedToken> {
    const { id, key, token } = await mintJoinToken();
    const nowMs = Date.now();
    return this.#changing({ who, what: "token.create", target: id, detail: request.names }, () => {
      insertToken(this.#sql, { id, key, request, createdBy: who, nowMs });
      return { ...listedToken(findToken(this.#sql, id, nowMs)!), token };
    });
  }

  listTokens(): ListedToken[] {
    return listTokens(this.#sql, Date.now()).map(listedToken);
  }

  /** False where there is no such token. */
  revokeToken(id: string, who: string): boolean {
    return this.#changing({ who, what: "token.revoke", target: id }, () =>
      revokeToken(this.#sql, id, Date.now()),
    );
  }

  /**
   * Decides about a machine that holds a token for this name: who has no token learns nothing, not even why. The same
   * (token, name, key) is admitted again for ever and counts once.
   */
  async admit(request: AdmissionRequest): Promise<Admitted> {
    const { name, method, path, binding, machine, address } = request;
    const { thumbprint, key, machineID, systemUUID } = machine;
    const tokenId = claimedKid(binding);
    const token = tokenId === null ? undefined : findToken(this.#sql, tokenId, Date.now());
    if (!token || !nameMatches(token.names, name)) return { admission: "refused", pin: null };
    const signed = { name, method, path, origins: origins(this.env) };
    const isBound = await verifyBinding(binding, token.key, signed, thumbprint);
    if (!isBound) return { admission: "refused", pin: null };
    const asking = { token: token.id, name, thumbprint, machine: { key, machineID, systemUUID, address } };
    return this.ctx.storage.transactionSync(() => {
      const admission = admit(this.#sql, asking, Date.now());
      return { admission, pin: admission === "pinned" ? this.#pinOf(name) : null };
    });
  }

  /** Who has the name, and what its token allows. */
  #pinOf(name: string): GrantedPin | null {
    const pin = findPin(this.#sql, name);
    if (!pin || pin.revokedAtMs !== null) return null;
    const token = findToken(this.#sql, pin.token, Date.now());
    return token ? { ...pin, grant: token.grant } : null;
  }

  /** Has a machine this name, also one that was revoked? */
  knows(name: string): boolean {
    return findPin(this.#sql, name) !== undefined;
  }

  /** Has a machine ever had this name, also one that has left? */
  knew(name: string): boolean {
    return wasPinned(this.#sql, name);
  }

  /** For what an operator does to a machine's object: false, and nothing noted, where no machine has the name. */
  noteAbout(record: AuditRecord): boolean {
    return this.#changing(record, () => this.knows(record.target));
  }

  /**
   * The machine reports with this key by this origin: for the first time since it was pinned or rotated, or in a day.
   * False: it has lost the name.
   */
  settle(name: string, generation: number, thumbprint: string, origin: string): boolean {
    const pin = findPin(this.#sql, name);
    if (pin?.generation !== generation || pin.revokedAtMs !== null) return false;
    if (!isPinned(pin, thumbprint)) return false;
    this.ctx.storage.transactionSync(() => {
      settle(this.#sql, pin, thumbprint, Date.now());
      noteOrigin(this.#sql, name, origin, Date.now());
    });
    return true;
  }

  /** Has the next key noted that takes over with its first report; false where it is no key for this machine. */
  rotate(name: string, generation: number, thumbprint: string): boolean {
    const pin = findPin(this.#sql, name);
    if (pin?.generation !== generation || isBuried(this.#sql, thumbprint)) return false;
    if (pin.nextThumbprint === thumbprint) return true;
    const record = { who: `machine ${pin.thumbprint}`, what: "machine.rotate", target: name } as const;
    return this.#changing({ ...record, detail: `key ${thumbprint}` }, () => {
      setNext(this.#sql, name, thumbprint);
      return true;
    });
  }

  /**
   * All keys of this name are refused for ever; a machine that leaves is forgotten, too. Repeatable. Answers a generation: what the
   * machine's object has seen before it is out of date; null: no machine ever had the name.
   */
  unpin(name: string, what: "machine.revoke" | "machine.leave", who: string): number | null {
    return this.#changing({ who, what, target: name }, () => {
      if (!wasPinned(this.#sql, name)) return null;
      if (what === "machine.revoke") revokePin(this.#sql, name, Date.now());
      else forgetPin(this.#sql, name, Date.now());
      return nextGeneration(this.#sql);
    });
  }

  listPending(): PendingMachine[] {
    return listPending(this.#sql, Date.now());
  }

  /** The machine that waits with this key has the name from now on; null where none does. */
  approve(name: string, thumbprint: string, who: string): GrantedPin | null {
    const record = { who, what: "machine.approve", target: name, detail: `key ${thumbprint}` } as const;
    return this.#changing(record, () => {
      const asking = findPending(this.#sql, name, thumbprint, Date.now());
      if (!asking) return null;
      takeOver(this.#sql, asking, Date.now());
      return this.#pinOf(name);
    });
  }

  /** The machine that waits with this key never gets a name; false where none does. */
  reject(name: string, thumbprint: string, who: string): boolean {
    const record = { who, what: "machine.reject", target: name, detail: `key ${thumbprint}` } as const;
    return this.#changing(record, () => rejectPending(this.#sql, name, thumbprint, Date.now()));
  }

  /** Which origins machines report by. */
  listOrigins(): OriginUse[] {
    return listOrigins(this.#sql, origins(this.env));
  }

  listOriginMachines(query: OriginMachinesQuery): OriginMachine[] {
    return listOriginMachines(this.#sql, query);
  }

  audit(query: AuditQuery): AuditEntry[] {
    return readAudit(this.#sql, query);
  }

  /** A change and its entry in the audit log, both or neither; nothing is noted where there was nothing to change. */
  #changing<Result>(record: AuditRecord, change: () => Result): Result {
    return this.ctx.storage.transactionSync(() => {
      const result = change();
      if (result !== false && result !== null) audit(this.#sql, record, Date.now());
      return result;
    });
  }
}
