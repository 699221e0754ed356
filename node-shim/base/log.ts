// Log lines: readable ones on a terminal, JSON elsewhere, or as --log-format says. They never have a secret in them.

import type { LogMessage } from "./log-table.ts";

export type Log = (level: "info" | "warn", message: LogMessage) => void;

export const LOG_FORMATS = ["text", "json"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** `now` gives RFC 3339. */
export function stderrLog(now: () => string, format?: LogFormat): Log {
  const chosen = format ?? (process.stderr.isTTY ? "text" : "json");
  return (level, message) => console.error(logLine(chosen, now(), level, message));
}

/** One line, without its end. */
export function logLine(format: LogFormat, time: string, level: string, message: string): string {
  if (format === "text") return `${time.slice(11, 19)} ${level} ${message}`;
  return JSON.stringify({ time, level, message });
}
