// Records who changed what in the registry, and when: operators' actions in the audit log, what machines cause in a log
// of its own, so that no machine displaces an operator's action. An entry is in the transaction of its change, and has
// no secret.
import type { AuditEntry } from "../../shared/protocol/operator-answers.ts";
import type { AuditQuery } from "../../shared/protocol/operator-api.ts";

export type AuditRequest = Omit<AuditQuery, "format" | "limit"> & { limit: number };

interface LogRecord<Action> {
  who: string;
  what: Action;
  /** A Node's name, the ID of a token or a session, an operator, or the number of a bulk. */
  target: string;
  detail?: string;
}

/** `who`: an operator (`admin secret`, `alice@example.com`). */
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
  | "machine.approve"
  | "machine.reject"
  | "machine.revoke"
  | "machine.forget"
  | "node.register"
  | "node.remove"
  | "node.set"
  | "node.believe"
  | "index.repair"
  | "rollout.set"
  | "rollout.stop"
  | "rollout.end"
  | "backup.export"
  | "backup.import"
  | "backup.abandon"
>;

/** The changes by machines. A name may have CHANGES_A_DAY of each kind. */
export type MachineChange =
  "machine.enrol" | "machine.take-over" | "machine.wait" | "machine.rotate" | "machine.leave";
/** `who`: `token ID` or `machine THUMBPRINT`; `target`: the Node's name. */
export type MachineRecord = LogRecord<MachineChange>;

type LogRow = Omit<AuditEntry, "at"> & { at_ms: number };

const DAY_MS = 24 * 3600 * 1000;
export const AUDIT_KEPT_MS = 365 * DAY_MS;
/** Of each kind, for each name: more than a machine in trouble needs, and no load for the registry, which all share. */
export const CHANGES_A_DAY = 24;
/** How many entries of one name are kept: more than it may have in a day, of all kinds. */
export const MACHINE_ENTRIES_A_NAME = 128;
/** How many entries of all names together are kept. */
export const MACHINE_ENTRIES = 1_000_000;
/** How many refused enrolments are kept, of all names together. */
export const REFUSAL_ENTRIES = 10_000;
/** Surplus entries are deleted in small portions, with each new entry. */
const PRUNED_AT_ONCE = 10;

/** Records what an operator did. It is kept for a year, regardless of what machines do. */
export function audit(sql: SqlStorage, record: AuditRecord, nowMs: number): void {
  insert(sql, "audit", record, nowMs);
  const oldest = "SELECT id FROM audit ORDER BY id LIMIT ?";
  const tooOld = nowMs - AUDIT_KEPT_MS;
  sql.exec(`DELETE FROM audit WHERE id IN (${oldest}) AND at_ms < ?`, PRUNED_AT_ONCE, tooOld);
}

/** Records what a machine caused. Only the newest entries of its name, and of all names, are kept. */
export function logMachine(sql: SqlStorage, record: MachineRecord, nowMs: number): void {
  insert(sql, "machine_log", record, nowMs);
  sql.exec(
    `DELETE FROM machine_log WHERE id IN (SELECT id FROM machine_log WHERE target = ? ORDER BY id DESC LIMIT ? OFFSET ?)`,
    record.target,
    PRUNED_AT_ONCE,
    MACHINE_ENTRIES_A_NAME,
  );
  sql.exec(
    `DELETE FROM machine_log WHERE id IN (SELECT id FROM machine_log ORDER BY id LIMIT ?)
     AND id <= (SELECT MAX(id) FROM machine_log) - ?`,
    PRUNED_AT_ONCE,
    MACHINE_ENTRIES,
  );
}

/** Records an enrolment that was refused. Only the newest entries are kept, and they displace no others. */
export function logRefusal(
  sql: SqlStorage,
  record: Omit<LogRecord<"machine.refuse">, "what">,
  nowMs: number,
): void {
  insert(sql, "refusal_log", { ...record, what: "machine.refuse" }, nowMs);
  sql.exec(
    `DELETE FROM refusal_log WHERE id IN (SELECT id FROM refusal_log ORDER BY id LIMIT ?)
     AND id <= (SELECT MAX(id) FROM refusal_log) - ?`,
    PRUNED_AT_ONCE,
    REFUSAL_ENTRIES,
  );
}

/** May this name have another change of this kind? The last 24 hours count. */
export function mayChange(sql: SqlStorage, name: string, what: MachineChange, nowMs: number): boolean {
  const today = sql.exec<{ count: number }>(
    "SELECT COUNT(*) AS count FROM machine_log WHERE target = ? AND what = ? AND at_ms > ?",
    name,
    what,
    nowMs - DAY_MS,
  );
  return today.one().count < CHANGES_A_DAY;
}

const LOGS = { operators: "audit", machines: "machine_log", refusals: "refusal_log" } as const;

/** A page of one of the logs, newest first. */
export function readAudit(sql: SqlStorage, { by, target, before, limit }: AuditRequest): AuditEntry[] {
  const [ofTarget, bindings] = target === undefined ? ["", []] : ["AND target = ?", [target]];
  const rows = sql.exec<LogRow>(
    // No `? IS NULL OR …`, which no index answers: a log may have a million rows.
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
  sql.exec(
    `INSERT INTO ${log} (at_ms, who, what, target, detail) VALUES (?, ?, ?, ?, ?)`,
    nowMs,
    who,
    what,
    target,
    detail,
  );
}
