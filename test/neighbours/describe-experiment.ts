// Makes tests from experiments: next to each fleet, each row of rows.ts must have the outcome that rows.ts states.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { fleetName } from "./fleet.ts";
import { assets, Lab } from "./lab.ts";
import { cellsOf, type ExperimentName, EXPERIMENTS } from "./plan.ts";

/** The time limit of a test: several times what the slowest experiment takes on two busy cores. */
const LIMIT_MS = 240_000;
/**
 * The programs choose Nodes at random and act by the real clock, so one run in some hundreds has another outcome.
 * A wrong label or taint has the same wrong outcome in each run.
 */
const OPTIONS = { timeout: LIMIT_MS, retry: 1 } as const;

/** Runs these experiments one after another, on one separate cluster. */
export function describeExperiments(names: readonly ExperimentName[]): void {
  const runnable = names.filter((name) => isRunnable(name));
  let lab: Lab;
  beforeAll(async () => {
    if (runnable.length > 0) lab = await Lab.start();
  }, LIMIT_MS);
  afterEach(() => lab?.clear(), LIMIT_MS);
  afterAll(() => lab?.close(), LIMIT_MS);

  for (const name of names)
    describe.skipIf(!runnable.includes(name))(name, () => {
      it.each(cellsOf(EXPERIMENTS[name]).map((cell) => ({ ...cell, title: fleetName(cell.fleet) })))(
        "$title",
        OPTIONS,
        async ({ fleet, expected }) => {
          const outcomes = await EXPERIMENTS[name].measure(lab, fleet);
          const lineOf = ({ row, column }: (typeof expected)[number], outcome: string | undefined) =>
            `${row}, ${column}: ${outcome}`;
          const seen = expected.map((each) => lineOf(each, outcomes[each.row]?.verdict));
          expect(seen).toEqual(expected.map((each) => lineOf(each, each.outcome)));
        },
      );
    });
}

function isRunnable(name: ExperimentName): boolean {
  const missing = assets === "" ? "KUBEBUILDER_ASSETS" : EXPERIMENTS[name].missing();
  if (missing !== null) console.log(`neighbours: ${name} is skipped, for there is no ${missing}`);
  return missing === null;
}
