// Records changes that were refused since the operator may not make them: in the audit log, so that whoever reads that
// learns of a secret in the wrong hands. At most so many a day for each operator: they displace nobody's acts.
import { audit } from "./audit.ts";

export const REFUSED_CHANGES_A_DAY = 20;
const DAY_MS = 24 * 3600 * 1000;

export interface RefusedChange {
  who: string;
  /** `POST /v1/bulk` */
  what: string;
}

/** Of those beyond the limit nothing is kept, and no row is written. */
export function noteRefusedChange(sql: SqlStorage, { who, what }: RefusedChange, nowMs: number): void {
  const count = countToday(sql, who, REFUSED_CHANGES_A_DAY, nowMs);
  if (count > REFUSED_CHANGES_A_DAY) return;
  const last = count === REFUSED_CHANGES_A_DAY ? "; no more of this operator's are noted today (UTC)" : "";
  const detail = `may not: ${what.slice(0, MAX_TEXT)}${last}`;
  audit(sql, { who, what: "change.refuse", target: who, detail }, nowMs);
}

/** How many there were of this today (UTC), with this one; one that is beyond `most` is not counted, nor is any row written. */
export function countToday(sql: SqlStorage, what: string, most: number, nowMs: number): number {
  const day = Math.floor(nowMs / DAY_MS);
  const query = "SELECT count FROM refused_changes WHERE who = ? AND day = ?";
  const count = (sql.exec<{ count: number }>(query, what, day).toArray()[0]?.count ?? 0) + 1;
  if (count > most) return count;
  if (count === 1) sql.exec("DELETE FROM refused_changes WHERE day <> ?", day);
  sql.exec("INSERT OR REPLACE INTO refused_changes VALUES (?, ?, ?)", what, day, count);
  return count;
}

const MAX_TEXT = 256;
