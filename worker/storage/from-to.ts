// Formats a span of time for a line of history.

/** Returns a text such as `from 2026-01-02T10:18:01Z to 2026-01-02T10:18:56Z`. */
export function fromTo(fromMs: number, toMs: number): string {
  const text = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
  return `from ${text(fromMs)} to ${text(toMs)}`;
}
