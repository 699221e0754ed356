// Formats what the agents cost as a table of Markdown.
import type { Weight } from "../bench/process-weight.ts";

/** The weights of the processes by their names: at rest, with a growing log, and with problems in it. */
export type Measured = Record<"rest" | "busy" | "ill", ReadonlyMap<string, Weight>>;

const HEAD = ["", "resident", "anonymous", "CPU at rest", "100 lines a second", "and problems"];

/** Returns a row for each process. Memory is that with a growing log. */
export function agentsTable({ rest, busy, ill }: Measured): string {
  const rows = [...busy].map(([name, { resident, anonymous, cpu }]) => [
    name,
    `${resident.toFixed(0)} MiB`,
    `${anonymous.toFixed(1)} MiB`,
    percent(rest.get(name)?.cpu),
    percent(cpu),
    percent(ill.get(name)?.cpu),
  ]);
  return [HEAD, HEAD.map(() => "-"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

const percent = (cpu: number | undefined) => (cpu === undefined ? "?" : `${cpu.toFixed(2)} %`);
