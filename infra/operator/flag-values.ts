// Parses values of flags: whole numbers, durations (`2h`, `3d4h`), and times, as a duration or in RFC 3339. Pure.
import { InvalidArgumentError } from "commander";
import { parseDuration } from "../../shared/go/duration.ts";
import { valueOr } from "../../shared/result.ts";

const DAY_MS = 86_400_000;
const MOST_TIMEOUT_MS = DAY_MS;

/** Returns the milliseconds of `90m`, `7d` or `1d12h`, or NaN. Unlike in Go, a duration may have days. */
export function durationMs(text: string): number {
  const [, days, rest] = /^(?:(\d+)d)?(.*)$/.exec(text) ?? [];
  const restMs = rest === "" && days !== undefined ? 0 : valueOr(parseDuration(rest ?? ""), Number.NaN);
  return Number(days ?? 0) * DAY_MS + restMs;
}

/** Parses a flag's value as a duration, and returns milliseconds. */
export function positiveDuration(text: string): number {
  const ms = durationMs(text);
  if (ms > 0 && Number.isSafeInteger(Math.round(ms))) return ms;
  throw new InvalidArgumentError("must be a duration such as 90s, 15m, 24h or 7d.");
}

/** Parses the time limit of a request as kubectl does, where a number without a unit is seconds. Returns Infinity for 0. */
export function timeoutMs(text: string): number {
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : durationMs(text);
  if (ms >= 0 && ms <= MOST_TIMEOUT_MS) return ms === 0 ? Infinity : ms;
  throw new InvalidArgumentError("must be a duration such as 10s or 2m, up to 24h, or 0 for no limit.");
}

/** Checks that a flag's value is a time in the past, and returns the text unchanged. timeOf converts it later. */
export function timeText(text: string): string {
  if (!Number.isNaN(atTime(text, 0))) return text;
  throw new InvalidArgumentError(
    "must be a duration before now (15m, 2h, 3d) or a time (2026-01-31T12:00:00Z).",
  );
}

/** Returns a time in the past in RFC 3339. */
export const timeOf = (text: string, nowMs: number) => new Date(atTime(text, nowMs)).toISOString();

/** Checks that a flag's value is a future time, like `4h`, and returns the text for laterOf to convert. */
export function laterText(text: string): string {
  if (!Number.isNaN(atTime(text, 0))) return text;
  throw new InvalidArgumentError(
    "must be a duration from now (15m, 2h, 3d) or a time (2026-01-31T12:00:00Z).",
  );
}

export const laterOf = (text: string, nowMs: number) => new Date(atTime(text, nowMs, 1)).toISOString();

/** Returns milliseconds since 1970, or NaN. `direction`: -1 for a duration before now, 1 for one after now. */
function atTime(text: string, nowMs: number, direction: 1 | -1 = -1): number {
  const length = durationMs(text);
  if (length >= 0) return nowMs + direction * length;
  const isTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  return isTime ? Date.parse(text) : Number.NaN;
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (text !== "" && Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidArgumentError("must be a whole number from 1.");
}
