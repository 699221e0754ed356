// Prints the measured values as a table and as JSON. Measures nothing.
import { styleText } from "node:util";
import type { Figures, Spread } from "./benchmark.ts";
import { YARDSTICKS, type Yardstick } from "./budgets.ts";
import { judgedOf, type Verdict, verdictOf } from "./rounds.ts";

const HEAD = ["WHAT", "JUDGED", "MIN–MAX", "BUDGET", "MEASURED", "BESIDE", ""];
/** The indices of the columns that are aligned left: the measurement, its yardstick, its verdict. */
const LEFT = new Set([0, 5, 6]);

/** The notes for yardsticks that not every computer has, with their requirements. */
const NEEDS: Partial<Record<Yardstick, string>> = {
  kubelet: "no kubelet here: that takes KUBEBUILDER_ASSETS, root and containerd",
};

/**
 * Returns the table with a line per benchmark, and a note on the benchmarks that were not judged. `colours` adds a
 * terminal's colours.
 */
export function tableText(all: readonly Figures[], colours = false): string {
  const rows = [HEAD, ...all.map(row)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const lines = rows.map((cells) =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        const padded = LEFT.has(column) ? cell.padEnd(width) : cell.padStart(width);
        return colours && column === HEAD.length - 1 && cell !== "" ? coloured(cell as Verdict) : padded;
      })
      .join("  ")
      .trimEnd(),
  );
  const unjudged = all.filter((figures) => verdictOf(figures) === "not judged");
  const missing = new Set(unjudged.flatMap(({ against }) => (against && NEEDS[against]) ?? []));
  const notes = [...missing].map((why) => `not judged: ${why}`);
  return [...lines, ...notes].map((line) => `${line}\n`).join("");
}

function coloured(verdict: Verdict): string {
  if (verdict === "MISSED") return styleText("red", verdict, { validateStream: false });
  if (verdict === "ok") return styleText("green", verdict, { validateStream: false });
  return styleText("dim", verdict, { validateStream: false });
}

function row(figures: Figures): string[] {
  const { what, unit, against, budget, atLeast, ours, yardstick } = figures;
  const judged = judgedOf(figures);
  const judgedUnit = against === undefined ? unit : "×";
  const beside = yardstick && against ? `${withUnit(yardstick.median, unit)} ${against}` : "";
  return [
    what,
    judged ? withUnit(judged.median, judgedUnit) : "-",
    judged ? range(judged) : "",
    budget === null ? "-" : `${atLeast ? "≥" : "≤"} ${withUnit(budget, judgedUnit)}`,
    withUnit(ours.median, unit),
    beside,
    verdictOf(figures),
  ];
}

/** Returns the range of the measured values. "" if all values are equal. */
function range({ min, max }: Spread): string {
  return min === max ? "" : `${figure(min)}–${figure(max)}`;
}

const withUnit = (value: number, unit: string) => `${figure(value)} ${unit}`;

/** Formats a value: from 100 on as a whole number, below 100 with three digits. */
function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

/**
 * Returns unrounded JSON: `[{ name, unit, against, budget, atLeast, verdict, ours: { median, min, max }, yardstick,
 * ratio }]`.
 */
export function figuresJson(all: readonly Figures[]): string {
  const rows = all.map((figures) => {
    const { name, unit, against, budget, atLeast, ours, yardstick, ratio } = figures;
    const verdict = verdictOf(figures);
    return { name, unit, against, budget, atLeast, verdict, ours, yardstick, ratio };
  });
  return `${JSON.stringify(rows, null, 2)}\n`;
}

/** Returns the table of docs/bench.md, made from the budgets. */
export function budgetsMarkdown(budgets: readonly Omit<Figures, "ours">[]): string {
  const lines = budgets.map(({ name, what, unit, against, budget, atLeast }) => {
    const promised =
      budget === null ? "" : `${atLeast ? "≥" : "≤"} ${figure(budget)} ${against ? "×" : unit}`;
    return `| \`${name}\` | ${what} | ${against ?? ""} | ${promised} |\n`;
  });
  return `| name | measured | yardstick | budget |\n| --- | --- | --- | --- |\n${lines.join("")}`;
}

/** Returns a Markdown list that describes each yardstick. */
export function yardsticksMarkdown(): string {
  return Object.entries(YARDSTICKS)
    .filter(([name]) => name !== "other tree")
    .map(([name, what]) => `- **${name}**: ${what}.\n`)
    .join("");
}
