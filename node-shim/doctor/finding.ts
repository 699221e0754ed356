// The result of one of doctor's checks, and its text.

export interface Finding {
  /** What was checked: "TLS", "clock". */
  check: string;
  level: "ok" | "warn" | "fail";
  message: string;
  /** What to do about it; absent where all is well. */
  todo?: string;
}

export const ok = (check: string, message: string): Finding => ({ check, level: "ok", message });
export const warn = (check: string, message: string, todo: string): Finding => ({
  check,
  level: "warn",
  message,
  todo,
});
export const fail = (check: string, message: string, todo: string): Finding => ({
  check,
  level: "fail",
  message,
  todo,
});

/** One line each, what to do on a line of its own. */
export function findingsText(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings
    .map(({ check, level, message, todo }) => {
      const line = `${level.padEnd(4)}  ${check.padEnd(width)}  ${message}\n`;
      return todo === undefined ? line : `${line}${" ".repeat(width + 8)}→ ${todo}\n`;
    })
    .join("");
}
