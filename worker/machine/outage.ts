// Records that a machine had no answer for a while: the Worker was away, or the network in between. Only the machine can
// tell, and it tells a duration alone: the times are by this clock, whatever the machine's says.
import { NO_ANSWER } from "../../shared/fleet/silence.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { allowanceAt } from "../storage/allowance.ts";
import type { Stored } from "../storage/journal.ts";
import { fromTo } from "../storage/from-to.ts";

/** Lines of history, whatever a machine says: six at once, then six an hour. */
export const OUTAGE_LINES = { atOnce: 6, everyMs: 600_000 } as const;
/** The same outage is told again when the answer was lost; its begin is as exact as the network and whole seconds. */
const SAME_WITHIN_MS = 5000;

/** Call it for each fresh report that is applied. Two rows for an outage, none without. */
export function recordOutage(
  { records, journal }: Stored,
  { noAnswerSeconds }: Pick<Report, "noAnswerSeconds">,
  nowMs: number,
): void {
  if (noAnswerSeconds === undefined) return;
  const sinceMs = nowMs - 1000 * noAnswerSeconds;
  const before = records.get("outage");
  if (before && Math.abs(sinceMs - before.sinceMs) <= SAME_WITHIN_MS) return;
  const left = allowanceAt(before, OUTAGE_LINES, nowMs);
  if (left < 1) return;
  records.put("outage", { left: left - 1, atMs: nowMs, sinceMs });
  journal.note("silence", NO_ANSWER + fromTo(sinceMs, nowMs), nowMs);
}
