// Renders times as text: how long ago, like kubectl, or the date in the operator's time zone.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Returns a duration by the rules of kubectl's AGE: `42s`, `5m`, `5m10s`, `3h`, `3h20m`, `2d`, `2d4h`, `90d`. */
export function shortDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / SECOND));
  if (ms < 2 * MINUTE) return `${seconds}s`;
  if (ms < 10 * MINUTE) return both(ms, MINUTE, "m", SECOND, "s");
  if (ms < 3 * HOUR) return `${Math.floor(ms / MINUTE)}m`;
  if (ms < 8 * HOUR) return both(ms, HOUR, "h", MINUTE, "m");
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)}h`;
  if (ms < 8 * DAY) return both(ms, DAY, "d", HOUR, "h");
  return `${Math.floor(ms / DAY)}d`;
}

/** Returns a duration that is known to the minute only: `<1m`, `5m`. */
export function minutesDuration(ms: number): string {
  if (ms < MINUTE) return "<1m";
  return ms < 3 * HOUR ? `${Math.floor(ms / MINUTE)}m` : shortDuration(ms);
}

function both(ms: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)}${largeUnit}${rest > 0 ? `${rest}${smallUnit}` : ""}`;
}

/** Returns `5m ago` or `in 5m`. A time less than two seconds ahead counts as now, because clocks differ. */
export function relative(atMs: number, nowMs: number): string {
  const sinceMs = nowMs - atMs;
  return sinceMs < -2 * SECOND ? `in ${shortDuration(-sinceMs)}` : `${shortDuration(sinceMs)} ago`;
}

/** Returns a time in the operator's time zone, with the zone: `2026-11-22, 14:03:09 GMT+1`. */
export function absolute(atMs: number, locale?: string, timeZone?: string): string {
  const isOwn = locale === undefined && timeZone === undefined;
  return (isOwn ? OWN_FORMAT : formatOf(locale, timeZone)).format(atMs);
}

const formatOf = (locale: string | undefined, timeZone: string | undefined) =>
  new Intl.DateTimeFormat(locale, {
    dateStyle: undefined,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZoneName: "short",
    timeZone,
  });
/** The format of the operator's locale and time zone, made once because making it is slow. */
const OWN_FORMAT = formatOf(undefined, undefined);
