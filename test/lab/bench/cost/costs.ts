// Returns a machine's monthly cost and its traffic as rows of the benchmarks. The tables after the rows have all
// other counts.
import type { Benchmark, Progress } from "../benchmark.ts";
import { budgetOf } from "../budgets.ts";
import { once } from "../once.ts";
import { billOf, dollarsOfUsage, sumOf } from "./bill.ts";
import { costText, dollarsText, megabytesAMonth } from "./cost-text.ts";
import { type CostRecord, FLEETS, measureCosts } from "./measure-costs.ts";
import { DEFAULT_PROFILE, LOW_TRAFFIC_PROFILE } from "./profiles.ts";
import { recordedCosts } from "./recorded.ts";
import { TRANSPORTS } from "./transports.ts";

/** Two runs count as equal if their values differ relatively by this share at most. */
const SAME = 0.05;

let measured: CostRecord | undefined;
const record = once(async (progress: Progress) => (measured = await measureCosts(progress)));

function dollarsAt({ counted }: CostRecord, name: string, machines: number): number {
  const of = counted[name];
  return of ? sumOf(billOf(of, machines)) : Number.NaN;
}

/** Returns the dollars for a thousand of these questions. */
function questionsOf({ questions }: CostRecord, name: string): number {
  const of = questions[name];
  return of ? 1000 * dollarsOfUsage(of.usage, of.cpuMs) : Number.NaN;
}

function trafficOf({ traffic }: CostRecord, name: string, profile: string): number {
  const found = traffic.find((each) => each.transport === name && each.profile === profile);
  return found ? megabytesAMonth(found) : Number.NaN;
}

/** Returns the tables, and their differences from docs/costs.md. */
function details(): string {
  if (!measured) return "";
  const known = recordedCosts();
  const stale = TRANSPORTS.flatMap(({ name }) =>
    FLEETS.flatMap((machines) => {
      const [now, before] = [measured!, known].map((each) => dollarsAt(each, name, machines));
      if (Math.abs(now! / before! - 1) <= SAME) return [];
      return `docs/costs.md says $${dollarsText(before!)} of ${name} with ${machines}: npm run costs\n`;
    }),
  );
  return costText(measured) + stale.join("");
}

const row = (name: string, of: (record: CostRecord) => number): Benchmark => ({
  ...budgetOf(name),
  details,
  measure: async (progress) => [{ ours: of(await record(progress)) }],
});

export const costs: readonly Benchmark[] = TRANSPORTS.flatMap(({ key, name }) => [
  ...FLEETS.map((machines) => row(`cost-${key}-${machines}`, (found) => dollarsAt(found, name, machines))),
  row(`cost-${key}-traffic`, (found) => trafficOf(found, name, DEFAULT_PROFILE)),
  row(`cost-${key}-low-traffic`, (found) => trafficOf(found, name, LOW_TRAFFIC_PROFILE)),
  row(`cost-${key}-question`, (found) => questionsOf(found, `disks, ${name}`)),
  ...(key === "socket" ? [row("cost-socket-bundle", (found) => questionsOf(found, `bundle, ${name}`))] : []),
]);
