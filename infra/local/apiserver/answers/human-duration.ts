// How old something is, in the words of kubectl's AGE column (apimachinery/pkg/util/duration.HumanDuration).

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** Two units where the smaller one still says something: "3m20s", "2h", "4d5h". */
function pair(ms: number, large: number, small: number, units: [string, string]): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)}${units[0]}${rest === 0 ? "" : `${rest}${units[1]}`}`;
}

/** Milliseconds, negative for the future. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / second);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  if (ms < 10 * minute) return pair(ms, minute, second, ["m", "s"]);
  if (ms < 3 * hour) return `${Math.floor(ms / minute)}m`;
  if (ms < 8 * hour) return pair(ms, hour, minute, ["h", "m"]);
  if (ms < 2 * day) return `${Math.floor(ms / hour)}h`;
  if (ms < 8 * day) return pair(ms, day, hour, ["d", "h"]);
  if (ms < 2 * year) return `${Math.floor(ms / day)}d`;
  if (ms < 8 * year) return pair(ms, year, day, ["y", "d"]);
  return `${Math.floor(ms / year)}y`;
}

/** The age of a timestamp, "<unknown>" without one. */
export function ageOf(timestamp: unknown, now: Date): string {
  if (typeof timestamp !== "string" || timestamp === "") return "<unknown>";
  return humanDuration(now.getTime() - Date.parse(timestamp));
}
