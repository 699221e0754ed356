// Renders times as text: how long ago, or the date in the operator's time zone. The page names the zone once.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Returns a duration in whole minutes from a minute on: `42s`, `5m`, `179m`, `3h`, `3h20m`, `47h`, `2d4h`, `90d`. */
export function shortDuration(ms: number): string {
  const elapsed = Math.max(0, ms);
  if (elapsed < MINUTE) return `${Math.floor(elapsed / SECOND)}s`;
  if (elapsed < 3 * HOUR) return `${Math.floor(elapsed / MINUTE)}m`;
  if (elapsed < 8 * HOUR) return both(elapsed, HOUR, "h", MINUTE, "m");
  if (elapsed < 2 * DAY) return `${Math.floor(elapsed / HOUR)}h`;
  if (elapsed < 8 * DAY) return both(elapsed, DAY, "d", HOUR, "h");
  return `${Math.floor(elapsed / DAY)}d`;
}

/** Returns a duration that is known to the minute only: `<1m`, `5m`. */
export const minutesDuration = (ms: number): string => (ms < MINUTE ? "<1m" : shortDuration(ms));

function both(ms: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)}${largeUnit}${rest > 0 ? `${rest}${smallUnit}` : ""}`;
}

/** Returns `5m ago` or `in 5m`. A time less than two seconds ahead counts as now, because clocks differ. */
export function relative(atMs: number, nowMs: number): string {
  const sinceMs = nowMs - atMs;
  return sinceMs < -2 * SECOND ? `in ${shortDuration(-sinceMs)}` : `${shortDuration(sinceMs)} ago`;
}

/** Returns the minutes by which local time is ahead of UTC, typically minus Date's getTimezoneOffset. */
export type ZoneOffset = (atMs: number) => number;

export const localOffset: ZoneOffset = (atMs) => -new Date(atMs).getTimezoneOffset();

/** Returns a time in the operator's zone: `2026-11-22 14:03:09`. */
export function absolute(atMs: number, offset: ZoneOffset = localOffset): string {
  return new Date(atMs + offset(atMs) * MINUTE).toISOString().slice(0, 19).replace("T", " ");
}

/** Returns the operator's zone at a time: `UTC`, `UTC+1`, `UTC-3:30`. The browser needs long for a zone's own name. */
export function zoneName(atMs: number, offset: ZoneOffset = localOffset): string {
  const minutes = offset(atMs);
  if (minutes === 0) return "UTC";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "-" : "+"}${hours}${rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`}`;
}
