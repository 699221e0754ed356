// Stores operators' sessions in a browser, and the codes that start sessions. A session ends with the secret that
// started it, and its role is at most that secret's present role. Secrets and codes are stored as SHA-256.
import { isAtLeast, type ReadingRole } from "../../shared/protocol/administration-api.ts";
import { SESSION_LIMITS } from "../../shared/protocol/limits.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { Environment } from "../env.ts";
import { configuredRole } from "../identity/operator.ts";
import { cell, hasRow, type Row } from "../storage/query.ts";
import { shortened } from "../storage/shortened.ts";
import { audit, countToday } from "./audit.ts";
import { findOperator, type NamedOperator } from "./operators.ts";

/** The operator of a session, and the secret that started the session. */
export interface SessionHolder {
  who: string;
  role: ReadingRole;
  /** The SHA-256 of the secret, in base64url. */
  secret: string;
}

export interface SignInRequest {
  /** The ID of the new session. */
  id: string;
  by: SessionHolder | { code: string };
  /** The operator's address; "" if the platform does not provide it. */
  address: string;
  /** The browser's header User-Agent. */
  browser: string;
}

export interface KeptSession {
  id: string;
  who: string;
  /** The operator's present role. */
  role: ReadingRole;
  /** The label selector of the operator's machines; absent for all machines. */
  selector?: string;
  createdAtMs: number;
  expiresAtMs: number;
  address: string;
  browser: string;
}

/** `refused`: invalid code or secret. `too many sessions`: of all operators; `too many sign-ins`: of one, today. */
export type NoSession = "refused" | "too many sessions" | "too many sign-ins";

type PresentRights = Pick<KeptSession, "role" | "selector" | "expiresAtMs">;
type HolderRow = { who: string; role: ReadingRole; secret: string };
type SessionRow = Row<Omit<KeptSession, "selector">> & { secret: string };
const COLUMNS = `id, who, role, created_at_ms AS createdAtMs, expires_at_ms AS expiresAtMs, address, browser, secret`;

export class Sessions {
  readonly #sql: SqlStorage;
  readonly #env: Environment;

  constructor(sql: SqlStorage, env: Environment) {
    this.#sql = sql;
    this.#env = env;
  }

  /** Starts a session. Uses up a code only if the session can start. Call start in a transaction. */
  start({ id, by, address, browser }: SignInRequest, nowMs: number): Result<KeptSession, NoSession> {
    const holder = "code" in by ? this.#holderOf(by.code, nowMs) : by;
    const now = holder && this.#now(holder, nowMs);
    if (!holder || !now) return failure("refused");
    const { who, secret } = holder;
    const { signInsADay } = SESSION_LIMITS;
    if (countToday(this.#sql, `sign-ins of ${who}`, signInsADay, nowMs) > signInsADay)
      return failure("too many sign-ins");
    if (!this.#makeRoom(secret, nowMs)) return failure("too many sessions");
    if ("code" in by) this.#sql.exec("DELETE FROM session_codes WHERE code = ?", by.code);
    const expiresAtMs = Math.min(nowMs + 1000 * SESSION_LIMITS.lifeSeconds, now.expiresAtMs);
    const insert = `INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING ${COLUMNS}`;
    const text = shortened(browser, SESSION_LIMITS.browserLength);
    const values = [id, who, now.role, secret, nowMs, expiresAtMs, address, text];
    const row = this.#sql.exec<SessionRow>(insert, ...values).one();
    const detail = `${now.role}${"code" in by ? " by a code" : ""}, ${fromText(address)}`;
    audit(this.#sql, { who, what: "session.start", target: id, detail }, nowMs);
    return success(kept(row, now));
  }

  /**
   * Returns the session with this ID; null if no session has the ID, or the session has ended. `knowsSelectors`: false
   * if the caller does not confine an operator with a selector, whose sessions it then does not find.
   */
  find(id: string, knowsSelectors: boolean, nowMs: number): KeptSession | null {
    const query = `SELECT ${COLUMNS} FROM sessions WHERE id = ? AND expires_at_ms > ?`;
    const [row] = this.#sql.exec<SessionRow>(query, id, nowMs);
    const now = row && this.#now(row, nowMs);
    return now && (knowsSelectors || now.selector === undefined) ? kept(row, now) : null;
  }

  /** Returns the valid sessions, newest first. */
  list(nowMs: number): KeptSession[] {
    const query = `SELECT ${COLUMNS} FROM sessions WHERE expires_at_ms > ? ORDER BY created_at_ms DESC, id`;
    const rows = this.#sql.exec<SessionRow>(query, nowMs).toArray();
    return rows.flatMap((row) => {
      const now = this.#now(row, nowMs);
      return now ? [kept(row, now)] : [];
    });
  }

  end(id: string): Result<null> {
    const isEnded = hasRow(this.#sql, "DELETE FROM sessions WHERE id = ? RETURNING 1", id);
    return isEnded ? success(null) : failure("no session has this ID");
  }

  /** Stores a code and returns its expiry. Fails if too many codes are unused. */
  addCode(code: string, { who, role, secret }: SessionHolder, nowMs: number): Result<number> {
    this.#sql.exec("DELETE FROM session_codes WHERE expires_at_ms <= ?", nowMs);
    if (this.#count("session_codes") >= SESSION_LIMITS.codes) return failure("too many codes are out");
    const endsMs = nowMs + 1000 * SESSION_LIMITS.codeSeconds;
    this.#sql.exec("INSERT INTO session_codes VALUES (?, ?, ?, ?, ?)", code, who, role, secret, endsMs);
    return success(endsMs);
  }

  #holderOf(code: string, nowMs: number): SessionHolder | null {
    const query = "SELECT who, role, secret FROM session_codes WHERE code = ? AND expires_at_ms > ?";
    return this.#sql.exec<HolderRow>(query, code, nowMs).toArray()[0] ?? null;
  }

  /** Returns the secret's present rights, limited to the holder's role; null if the secret is not valid any more. */
  #now({ role, secret }: SessionHolder, nowMs: number): PresentRights | null {
    const configured = configuredRole(secret, this.#env);
    const found: Omit<NamedOperator, "name"> | null = configured
      ? { role: configured, expiresAtMs: Infinity }
      : findOperator(this.#sql, { sha256: secret, knowsSelectors: true }, nowMs);
    if (!found || !isAtLeast(found.role, "view")) return null;
    const { selector, expiresAtMs } = found;
    const now = { role: isAtLeast(role, found.role) ? found.role : role, expiresAtMs };
    return selector === undefined ? now : { ...now, selector };
  }

  /** Deletes ended sessions, then this secret's oldest if needed. Returns false if other secrets have all sessions. */
  #makeRoom(secret: string, nowMs: number): boolean {
    this.#sql.exec("DELETE FROM sessions WHERE expires_at_ms <= ?", nowMs);
    if (this.#count("sessions") >= SESSION_LIMITS.sessions) this.#forgetRefused(nowMs);
    const count = cell<number>(this.#sql, "SELECT COUNT(*) FROM sessions WHERE secret = ?", secret);
    const isFull = this.#count("sessions") >= SESSION_LIMITS.sessions;
    if (count < SESSION_LIMITS.sessionsOfSecret && !isFull) return true;
    const oldest = "SELECT id FROM sessions WHERE secret = ? ORDER BY created_at_ms, id LIMIT 1";
    this.#sql.exec(`DELETE FROM sessions WHERE id IN (${oldest})`, secret);
    return count > 0;
  }

  /** Deletes sessions whose secret is not valid any more. */
  #forgetRefused(nowMs: number): void {
    const holders = this.#sql.exec<HolderRow>("SELECT DISTINCT secret, who, role FROM sessions");
    for (const holder of holders.toArray())
      if (!this.#now(holder, nowMs)) this.#sql.exec("DELETE FROM sessions WHERE secret = ?", holder.secret);
  }

  #count(table: "sessions" | "session_codes"): number {
    return cell(this.#sql, `SELECT COUNT(*) FROM ${table}`);
  }
}

/** Formats an address for the audit log. */
export const fromText = (address: string) => (address === "" ? "from an unknown address" : `from ${address}`);

function kept(row: SessionRow, { role, selector }: PresentRights): KeptSession {
  const { secret: _, ...session } = row;
  return { ...session, role, ...(selector !== undefined && { selector }) };
}
