// Formats the measurements as a table of at most 120 columns, and reports outcomes that are not explained.
import type { Outcome } from "./experiment.ts";
import { type Fleet, fleetName } from "./fleet.ts";
import { hasProgram, versionOf } from "./lab.ts";
import type { Column } from "./plan.ts";
import { PROGRAM_NAMES, type ProgramName, programVersion } from "./programs.ts";
import { rowOf, type RowName, ROWS } from "./rows.ts";

export interface MeasuredCell {
  column: Column;
  fleet: Fleet;
  expected: string;
  outcome: Outcome;
}
export type Measured = Map<RowName, MeasuredCell[]>;

const COLUMNS: readonly [Column, string][] = [
  ["without", "without"],
  ["1", "1"],
  ["30", "30"],
  ["1000", "1,000"],
  ["control", "no remedy"],
];
const NAME_WIDTH = 27;
const CELL_WIDTH = 17;

export function tableText(measured: Measured): string {
  const head = line(
    "",
    COLUMNS.map(([, title]) => title),
  );
  const programs = Map.groupBy([...measured.keys()], (row) => ROWS[row].program);
  const text = [...programs].map(([program, rows]) => {
    const lines = rows.map((row) => rowText(row, measured.get(row) ?? []));
    return `\n${program} ${versionsOf(program)}\n${head}${lines.join("")}`;
  });
  return text.join("");
}

function rowText(row: RowName, cells: readonly MeasuredCell[]): string {
  const texts = COLUMNS.map(([column]) => {
    const shown = cells
      .filter((cell) => cell.column === column)
      .map(({ outcome }) => outcome.detail ?? outcome.verdict);
    return [...new Set(shown)].join(", ") || "-";
  });
  const { limit } = rowOf(row);
  return line(row, texts) + (limit === undefined ? "" : `    to do: ${limit.replaceAll("`", "")}\n`);
}

function line(name: string, cells: readonly string[]): string {
  const text = name.padEnd(NAME_WIDTH) + cells.map((cell) => cell.padEnd(CELL_WIDTH)).join(" ");
  return `${text.trimEnd()}\n`;
}

function versionsOf(program: string): string {
  const versions = program.split(", ").map((name) => {
    if (PROGRAM_NAMES.includes(name as ProgramName)) return programVersion(name as ProgramName);
    return hasProgram(name) ? versionOf(name) : "";
  });
  return versions.filter((version) => version !== "").join(", ");
}

/**
 * Returns a sentence for each outcome next to our Nodes that differs from the one without rollcall, if the row has no
 * `limit`. Also returns a sentence for each measured outcome that its row does not state.
 */
export function differences(measured: Measured): string[] {
  return [...measured].flatMap(([row, cells]) => {
    const { limit } = rowOf(row);
    const without = cells.find(({ column }) => column === "without")?.outcome.verdict;
    return cells.flatMap(({ column, fleet, outcome: { verdict }, expected }) => {
      const isOurs = column !== "without" && column !== "control";
      if (isOurs && verdict !== without && limit === undefined)
        return [`${row}: "${verdict}" with ${fleetName(fleet)}, and "${without}" without rollcall`];
      return verdict === expected
        ? []
        : [`${row}: "${verdict}" with ${fleetName(fleet)}, and the table has "${expected}"`];
    });
  });
}
