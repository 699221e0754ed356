// Stores the registry's logs: operators' actions, changes by machines, and refused enrolments. The logs are
// separate, so that no machine displaces an operator's action. An entry is written in the transaction of its
// change, and contains no secret.
import type { AuditEntry } from "../../shared/protocol/operator-answers.ts";
import type { AuditQuery } from "../../shared/protocol/operator-api.ts";
import { prune } from "../storage/prune.ts";
import { cell } from "../storage/query.ts";

export type AuditRequest = Omit<AuditQuery, "format" | "limit"> & { limit: number };

interface LogRecord<Action> {
  who: string;
  what: Action;
  /** The object of the action: a Node, a token, a session, an operator, or a bulk action, by its name, ID or number. */
  target: string;
  detail?: string;
}

/** An operator's action. `who`: the operator (`admin secret`, `alice@example.com`). */
export type AuditRecord = LogRecord<
  | "operator.create"
  | "operator.revoke"
  | "session.start"
  | "session.end"
  | "session.revoke"
  | "session.code"
  | "change.refuse"
  | "bulk.start"
  | "bulk.stop"
  | "receiver.set"
  | "receiver.remove"
  | "receiver.test"
  | "letter.resend"
  | "mute.create"
  | "mute.end"
  | "token.create"
  | "token.revoke"
  | "token.end"
  | "machine.approve"
  | "machine.reject"
  | "machine.revoke"
  | "machine.forget"
  | "machine.ask"
  | "node.register"
  | "node.remove"
  | "node.set"
  | "node.believe"
  | "node.clear"
  | "index.repair"
  | "rollout.set"
  | "rollout.stop"
  | "rollout.end"
  | "rules.apply"
  | "rules.undo"
  | "rules.continue"
  | "backup.export"
  | "backup.import"
  | "backup.abandon"
>;

/** The changes by machines. A name may have CHANGES_A_DAY changes of each kind. */
export type MachineChange =
  "machine.enrol" | "machine.take-over" | "machine.wait" | "machine.rotate" | "machine.leave";
/** A machine's change. `who`: `token ID` or `machine THUMBPRINT`. `target`: the Node's name. */
type MachineRecord = LogRecord<MachineChange>;

type LogRow = Omit<AuditEntry, "at"> & { at_ms: number };

const DAY_MS = 24 * 3600 * 1000;
export const AUDIT_KEPT_MS = 365 * DAY_MS;
/** The most changes of each kind that a name may have in a day: more than a machine needs. */
export const CHANGES_A_DAY = 24;
/** The most stored entries of one name: more than the name may cause in a day with all kinds of changes. */
export const MACHINE_ENTRIES_A_NAME = 128;
/** The most stored changes by machines, of all names together. */
export const MACHINE_ENTRIES = 1_000_000;
/** The most stored refusals, of all names together. */
export const REFUSAL_ENTRIES = 10_000;
/** The number of surplus entries that each new entry deletes. */
const PRUNED_AT_ONCE = 10;

/** Records an operator's action. The entry stays for a year: machines cannot displace it. */
export function audit(sql: SqlStorage, record: AuditRecord, nowMs: number): void {
  insert(sql, "audit", record, nowMs);
  prune(sql, "audit", { beforeMs: nowMs - AUDIT_KEPT_MS, atOnce: PRUNED_AT_ONCE });
}

/** Records a machine's change. Only the newest entries of the name, and of all names, are kept. */
export function logMachine(sql: SqlStorage, record: MachineRecord, nowMs: number): void {
  insert(sql, "machine_log", record, nowMs);
  const surplus = "SELECT id FROM machine_log WHERE target = ? ORDER BY id DESC LIMIT ? OFFSET ?";
  const limits = [PRUNED_AT_ONCE, MACHINE_ENTRIES_A_NAME];
  sql.exec(`DELETE FROM machine_log WHERE id IN (${surplus})`, record.target, ...limits);
  prune(sql, "machine_log", { entries: MACHINE_ENTRIES, atOnce: PRUNED_AT_ONCE });
}

/** Records a refused enrolment. Only the newest entries are kept. */
export function logRefusal(
  sql: SqlStorage,
  record: Omit<LogRecord<"machine.refuse">, "what">,
  nowMs: number,
): void {
  insert(sql, "refusal_log", { ...record, what: "machine.refuse" }, nowMs);
  prune(sql, "refusal_log", { entries: REFUSAL_ENTRIES, atOnce: PRUNED_AT_ONCE });
}

/** Reports whether this name may have another change of this kind today. The changes of the last 24 hours count. */
export function mayChange(sql: SqlStorage, name: string, what: MachineChange, nowMs: number): boolean {
  const today = "SELECT COUNT(*) FROM machine_log WHERE target = ? AND what = ? AND at_ms > ?";
  return cell<number>(sql, today, name, what, nowMs - DAY_MS) < CHANGES_A_DAY;
}

const LOGS = { operators: "audit", machines: "machine_log", refusals: "refusal_log" } as const;

/** Returns a page of the log `by`, newest entries first. */
export function readAudit(sql: SqlStorage, { by, target, before, limit }: AuditRequest): AuditEntry[] {
  const [ofTarget, bindings] = target === undefined ? ["", []] : ["AND target = ?", [target]];
  const rows = sql.exec<LogRow>(
    // With the condition `? IS NULL OR …` SQLite would use no index, and a log may have a million rows.
    `SELECT * FROM ${LOGS[by]} WHERE id < ? ${ofTarget} ORDER BY id DESC LIMIT ?`,
    before ?? Number.MAX_SAFE_INTEGER,
    ...bindings,
    limit,
  );
  return rows.toArray().map(({ at_ms, ...entry }) => ({ ...entry, at: new Date(at_ms).toISOString() }));
}

function insert(
  sql: SqlStorage,
  log: (typeof LOGS)[keyof typeof LOGS],
  { who, what, target, detail = "" }: LogRecord<string>,
  nowMs: number,
): void {
  const insert = `INSERT INTO ${log} (at_ms, who, what, target, detail) VALUES (?, ?, ?, ?, ?)`;
  sql.exec(insert, nowMs, who, what, target, detail);
}

/** Counts `what` for today (UTC); returns the count. Above `most`, no row is written. A new day drops older counts. */
export function countToday(sql: SqlStorage, what: string, most: number, nowMs: number): number {
  const day = Math.floor(nowMs / DAY_MS);
  const query = "SELECT count FROM refused_changes WHERE who = ? AND day = ?";
  const count = (sql.exec<{ count: number }>(query, what, day).toArray()[0]?.count ?? 0) + 1;
  if (count > most) return count;
  if (count === 1) sql.exec("DELETE FROM refused_changes WHERE day <> ?", day);
  sql.exec("INSERT OR REPLACE INTO refused_changes VALUES (?, ?, ?)", what, day, count);
  return count;
}

export const REFUSED_CHANGES_A_DAY = 20;

export interface RefusedChange {
  who: string;
  /** The refused route, such as `POST /v1/bulk`. */
  what: string;
}

/** Records that a role did not allow a change: another person may have the secret. Limits each operator's entries. */
export function noteRefusedChange(sql: SqlStorage, { who, what }: RefusedChange, nowMs: number): void {
  const count = countToday(sql, who, REFUSED_CHANGES_A_DAY, nowMs);
  if (count > REFUSED_CHANGES_A_DAY) return;
  const last = count === REFUSED_CHANGES_A_DAY ? "; no more of this operator's are noted today (UTC)" : "";
  const detail = `may not: ${what.slice(0, 256)}${last}`;
  audit(sql, { who, what: "change.refuse", target: who, detail }, nowMs);
}
