// Records changes that were refused since the operator may not make them: in the audit log, so that whoever reads that
// learns of a secret in the wrong hands. At most so many a day for each operator: they displace nobody's acts.
import { audit } from "./audit.ts";
import { countToday } from "./count-today.ts";

export const REFUSED_CHANGES_A_DAY = 20;

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

const MAX_TEXT = 256;
