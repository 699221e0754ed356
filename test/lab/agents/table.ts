// Formats what the agents cost as a table of Markdown.
import type { Weight } from "../bench/process-weight.ts";

export type Measured = ReadonlyMap<string, Weight>;

const HEAD = ["", "resident", "anonymous", "CPU at rest", "at 100 lines a second"];

/** Returns a row for each process. `rest` and `busy`: the weights at rest, and while the log grows. */
export function agentsTable(rest: Measured, busy: Measured): string {
  const rows = [...busy].map(([name, { resident, anonymous, cpu }]) => [
    name,
    `${resident.toFixed(0)} MiB`,
    `${anonymous.toFixed(1)} MiB`,
    percent(rest.get(name)?.cpu),
    percent(cpu),
  ]);
  return [HEAD, HEAD.map(() => "-"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

const percent = (cpu: number | undefined) => (cpu === undefined ? "?" : `${cpu.toFixed(2)} %`);
