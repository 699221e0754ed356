// Parses values of flags: whole numbers, durations (`2h`, `3d4h`), and times, as a duration or in RFC 3339. Pure.
import { InvalidArgumentError } from "commander";
import { atTime, durationMs } from "../../shared/fleet/time-words.ts";

const MOST_TIMEOUT_MS = 86_400_000;

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

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (text !== "" && Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidArgumentError("must be a whole number from 1.");
}
