// Lists the equivalent mutants, with the reason of each.

/**
 * A row: the file, the whole line in which the mutant starts, the replaced text, the replacement, and the reason
 * why the mutant has no effect.
 */
type Row = readonly [string, string, string, string, string];

const BUG = "reached by a bug alone, and whatever follows fails as well";

export const table: readonly Row[] = [
  [
    "worker/identity/jwt.ts",
    "} catch {",
    "{ return undefined; }",
    "{}",
    "a function without a return returns undefined",
  ],
  [
    "worker/machine/upkeep.ts",
    'if (!report) throw new Error("a tick without a report");',
    'throw new Error("a tick without a report");',
    ";",
    BUG,
  ],
];
