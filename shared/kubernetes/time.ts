// Compares times that the apiserver returns.

/** The zero value of metav1.Time, which is null in JSON. */
const ZERO_TIME = "0001-01-01T00:00:00Z";

/** Returns true if two RFC 3339 times are the same instant, to the nanosecond. An absent time is ZERO_TIME. */
export function sameInstant(a: string | null | undefined, b: string | null | undefined): boolean {
  return a === b || instantOf(a ?? ZERO_TIME) === instantOf(b ?? ZERO_TIME);
}

/** Returns a text that is equal for equal instants only. A text that is no time is returned unchanged. */
function instantOf(time: string): string {
  const parts = /^(.{19})(?:[.,](\d+))?(.*)$/.exec(time);
  const seconds = Date.parse(`${parts?.[1]}${parts?.[3]}`) / 1000;
  if (Number.isNaN(seconds)) return time;
  const nanoseconds = (parts?.[2] ?? "").padEnd(9, "0").slice(0, 9);
  return `${seconds}.${nanoseconds}`;
}
