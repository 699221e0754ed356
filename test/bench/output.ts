// Results for people (a table) and for programs (JSON). Measures nothing.
import type { Result } from "./benchmark.ts";

const HEAD = ["WHAT", "BUDGET", "MEASURED", "OF BUDGET", ""];

/** A line per result; one over its budget says so. */
export function tableText(results: readonly Result[]): string {
  const rows = [HEAD, ...results.map(row)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const lines = rows.map((cells) =>
    cells.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    }),
  );
  return lines.map((cells) => `${cells.join("  ").trimEnd()}\n`).join("");
}

function row(result: Result): string[] {
  const { what, unit, budget, measured, atLeast } = result;
  const text = (value: number) => `${figure(value)} ${unit}`;
  if (budget === null) return [what, "-", text(measured), "-", ""];
  return [
    what,
    `${atLeast ? "≥" : "≤"} ${text(budget)}`,
    text(measured),
    budget === 0 ? "-" : `${figure((measured / budget) * 100)} %`,
    isMissed(result) ? "MISSED" : "",
  ];
}

export function isMissed({ budget, measured, atLeast }: Result): boolean {
  if (budget === null) return false;
  return atLeast ? measured < budget : measured > budget;
}

/** Three digits where there is a fraction, whole numbers from 100 on. */
function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

/** `[{ name, unit, budget, measured, atLeast }]` */
export function resultsJson(results: readonly Result[]): string {
  const rows = results.map(({ name, unit, budget, measured, atLeast }) => ({
    name,
    unit,
    budget,
    measured,
    atLeast,
  }));
  return `${JSON.stringify(rows, null, 2)}\n`;
}
