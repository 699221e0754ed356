// Formats and parses metav1.MicroTime: the times of leases and series of events, with microseconds.

/** Formats microseconds since 1970 as `2026-03-14T15:09:26.594205Z`. A number is exact until the year 2255. */
export function formatMicroTime(micros: number): string {
  const millis = Math.floor(micros / 1000);
  const rest = String(Math.floor(micros) - millis * 1000).padStart(3, "0");
  return new Date(millis).toISOString().replace("Z", `${rest}Z`);
}

/** Parses an RFC 3339 time into microseconds since 1970, without finer digits. Returns NaN if the text is no time. */
export function parseMicroTime(time: string): number {
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? "";
  const seconds = Date.parse(time.replace(/\.\d+/, "")) / 1000;
  return seconds * 1_000_000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}

/** Formats microseconds since 1970 as metav1.Time, `2026-03-14T15:09:26Z`, and cuts off finer digits. */
export function formatSeconds(micros: number): string {
  return `${formatMicroTime(micros).slice(0, 19)}Z`;
}
