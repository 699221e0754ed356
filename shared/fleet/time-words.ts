// Parses durations and times that operators type: `2h`, `3d4h`, or a time such as 2026-01-31T12:00:00Z.
import { parseDuration } from "../go/duration.ts";
import { valueOr } from "../result.ts";

const DAY_MS = 86_400_000;

/** Returns the milliseconds of `90m`, `7d` or `1d12h`, or NaN. Unlike in Go, a duration may have days. */
export function durationMs(text: string): number {
  const [, days, rest] = /^(?:(\d+)d)?(.*)$/.exec(text) ?? [];
  const restMs = rest === "" && days !== undefined ? 0 : valueOr(parseDuration(rest ?? ""), Number.NaN);
  return Number(days ?? 0) * DAY_MS + restMs;
}

/**
 * Returns milliseconds since 1970, or NaN if the text is neither a duration nor a time. `direction`: -1 for a duration
 * before now, 1 for one after now.
 */
export function atTime(text: string, nowMs: number, direction: 1 | -1 = -1): number {
  const length = durationMs(text);
  if (length >= 0) return nowMs + direction * length;
  const isTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  return isTime ? Date.parse(text) : Number.NaN;
}
