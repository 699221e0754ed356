// Formats and parses the times of leases and series of events, with microseconds (metav1.MicroTime).

/** Microseconds since 1970 → `2026-03-14T15:09:26.594205Z`. A number is exact until the year 2255. */
export function formatMicroTime(micros: number): string {
  const millis = Math.floor(micros / 1000);
  const rest = String(Math.floor(micros) - millis * 1000).padStart(3, "0");
  return new Date(millis).toISOString().replace("Z", `${rest}Z`);
}

/** An RFC 3339 time → microseconds since 1970; finer digits are cut off. NaN for a text that is no time. */
export function parseMicroTime(time: string): number {
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? "";
  const seconds = Date.parse(time.replace(/\.\d+/, "")) / 1000;
  return seconds * 1_000_000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}

/** Microseconds since 1970 → `2026-03-14T15:09:26Z` (metav1.Time); finer digits are cut off. */
export function formatSeconds(micros: number): string {
  return `${formatMicroTime(micros).slice(0, 19)}Z`;
}
