// Log lines: readable ones on a terminal, JSON elsewhere. Never a secret in them.

export type Log = (level: "info" | "warn", message: string) => void;

/** `now` gives RFC 3339. */
export function stderrLog(now: () => string): Log {
  if (process.stderr.isTTY)
    return (level, message) => console.error(`${now().slice(11, 19)} ${level} ${message}`);
  return (level, message) => console.error(JSON.stringify({ time: now(), level, message }));
}
