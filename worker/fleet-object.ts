// The registry: join tokens and who enrolled with them. One object; it knows public keys only.
import { DurableObject } from "cloudflare:workers";
import type { TokenRequest } from "../shared/protocol.ts";
import type { Environment } from "./env.ts";
import { origins } from "./env.ts";
import { claimedKid, type ProvenMachine, verifyBinding } from "./identity/jwt.ts";
import { mintJoinToken, nameMatches } from "./identity/join-token.ts";

export interface MintedToken {
  /** RFC 7638 thumbprint of the token's public key. */
  id: string;
  /** The secret; shown once. */
  token: string;
  names: string;
  /** RFC 3339. */
  expiresAt: string;
  uses: number;
  withoutFactsOnlyTaint: boolean;
}

export interface AdmissionRequest {
  name: string;
  method: string;
  path: string;
  binding: string;
  machine: ProvenMachine;
}

/** What a token lets the machine that enrolled with it do. */
export interface Admission {
  token: string;
  withoutFactsOnlyTaint: boolean;
}

type TokenRow = {
  id: string;
  key: string;
  names: string;
  expires_at_ms: number;
  uses: number;
  used: number;
  without_facts_only_taint: number;
};

export class FleetObject extends DurableObject<Environment> {
  constructor(ctx: DurableObjectState, env: Environment) {
    super(ctx, env);
    ctx.storage.sql.exec(`
      CREATE TABLE IF NOT EXISTS tokens (
        id TEXT PRIMARY KEY, key TEXT NOT NULL, names TEXT NOT NULL, expires_at_ms INTEGER NOT NULL,
        uses INTEGER NOT NULL, used INTEGER NOT NULL, without_facts_only_taint INTEGER NOT NULL
      ) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS enrolments (
        token TEXT NOT NULL, name TEXT NOT NULL, thumbprint TEXT NOT NULL, admitted_at_ms INTEGER NOT NULL,
        PRIMARY KEY (token, name, thumbprint)
      ) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS tombstones (
        thumbprint TEXT NOT NULL, name TEXT NOT NULL, left_at_ms INTEGER NOT NULL, PRIMARY KEY (thumbprint, name)
      ) WITHOUT ROWID;`);
  }

  /** Makes a join token; only its public key is kept. */
  async mintToken(request: TokenRequest): Promise<MintedToken> {
    const { id, key, token } = await mintJoinToken();
    const expiresAtMs = Date.now() + request.expiresInSeconds * 1000;
    this.ctx.storage.sql.exec(
      "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, 0, ?)",
      id,
      key,
      request.names,
      expiresAtMs,
      request.uses,
      request.withoutFactsOnlyTaint ? 1 : 0,
    );
    const { names, uses, withoutFactsOnlyTaint } = request;
    return { id, token, names, expiresAt: new Date(expiresAtMs).toISOString(), uses, withoutFactsOnlyTaint };
  }

  /**
   * Admits a machine that holds a token for this name. The same (token, name, key) is admitted again for ever
   * and counts once. null for every other case: who has no token learns nothing, not even why.
   */
  async admit({ name, method, path, binding, machine }: AdmissionRequest): Promise<Admission | null> {
    const tokenId = claimedKid(binding);
    const token = tokenId === null ? undefined : this.#token(tokenId);
    if (!token) return null;
    const request = { name, method, path, origins: origins(this.env) };
    if (!(await verifyBinding(binding, token.key, request, machine.thumbprint))) return null;
    if (!nameMatches(token.names, name)) return null;
    return this.ctx.storage.transactionSync(() => this.#countUse(token.id, name, machine.thumbprint))
      ? { token: token.id, withoutFactsOnlyTaint: token.without_facts_only_taint === 1 }
      : null;
  }

  /** Has a machine ever been admitted under this name? */
  knows(name: string): boolean {
    const known = this.ctx.storage.sql.exec("SELECT 1 FROM enrolments WHERE name = ? LIMIT 1", name);
    return known.toArray().length > 0;
  }

  /** Has a machine ever been admitted under this name, also one that has left? */
  knew(name: string): boolean {
    const left = "SELECT 1 FROM tombstones WHERE name = ? LIMIT 1";
    return this.knows(name) || this.ctx.storage.sql.exec(left, name).toArray().length > 0;
  }

  /** A machine leaves: its key is refused for ever, and what admitted it is forgotten. */
  bury(name: string, thumbprint: string): void {
    const { sql } = this.ctx.storage;
    this.ctx.storage.transactionSync(() => {
      sql.exec("INSERT OR IGNORE INTO tombstones VALUES (?, ?, ?)", thumbprint, name, Date.now());
      sql.exec("DELETE FROM enrolments WHERE name = ? AND thumbprint = ?", name, thumbprint);
    });
  }

  #token(id: string): TokenRow | undefined {
    return this.ctx.storage.sql.exec<TokenRow>("SELECT * FROM tokens WHERE id = ?", id).toArray()[0];
  }

  /** Reads the token again: other requests may have run while the signature was verified. */
  #countUse(id: string, name: string, thumbprint: string): boolean {
    const { sql } = this.ctx.storage;
    const buried = "SELECT 1 FROM tombstones WHERE thumbprint = ? LIMIT 1";
    if (sql.exec(buried, thumbprint).toArray().length > 0) return false;
    const known = "SELECT 1 AS known FROM enrolments WHERE token = ? AND name = ? AND thumbprint = ?";
    if (sql.exec(known, id, name, thumbprint).toArray().length > 0) return true;
    const token = this.#token(id);
    const nowMs = Date.now();
    if (!token || token.expires_at_ms <= nowMs || token.used >= token.uses) return false;
    sql.exec("UPDATE tokens SET used = used + 1 WHERE id = ?", id);
    sql.exec("INSERT INTO enrolments VALUES (?, ?, ?, ?)", id, name, thumbprint, nowMs);
    return true;
  }
}
