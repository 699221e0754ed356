// When it is recorded that a machine's clock is off, and within which range that record stays as it is.

/** A clock that is off by more than this is recorded. */
export const MAX_SKEW_MS = 60_000;

/** What is recorded of a machine's clock. */
export interface RecordedClock {
  isSkewed: boolean;
  /** By how much it was off when that was recorded; 0: it was not. */
  skewMs: number;
}

/** One that drifts is recorded anew when that is another matter, so that it costs a few rows at most. */
export function isOtherSkew(skewMs: number, recordedMs: number): boolean {
  return Math.abs(skewMs - recordedMs) > sameWithinMs(recordedMs);
}

const sameWithinMs = (recordedMs: number) => Math.max(MAX_SKEW_MS, Math.abs(recordedMs) / 2);

/** Between which whole milliseconds, both included, nothing more is recorded; null: whatever it is, something is. */
export function unrecordedSkewMs({
  isSkewed,
  skewMs,
}: RecordedClock): readonly [from: number, to: number] | null {
  if (!isSkewed) return [-MAX_SKEW_MS, MAX_SKEW_MS];
  const [from, to] = [skewMs - sameWithinMs(skewMs), skewMs + sameWithinMs(skewMs)];
  if (skewMs > 0) return [Math.max(from, MAX_SKEW_MS + 1), to];
  return skewMs < 0 ? [from, Math.min(to, -MAX_SKEW_MS - 1)] : null;
}
