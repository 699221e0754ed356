// Runs `npm run neighbours`: prints the decisions of a cluster's programs without rollcall, and next to 1, 30 and
// 1,000 of its Nodes.
import { Command, Option } from "commander";
import type { Experiment, Outcome } from "./experiment.ts";
import { fleetName } from "./fleet.ts";
import { hasProgram, Lab } from "./lab.ts";
import { measurements } from "./measurements.ts";
import { cellsOf, EXPERIMENTS } from "./plan.ts";
import { buildProgram, PROGRAM_NAMES } from "./programs.ts";
import { ROWS, type RowName } from "./rows.ts";
import { differences, type Measured, tableText } from "./table-text.ts";

const HELP = `
Needs KUBEBUILDER_ASSETS: a folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler.
Other programs are built with Go, once (minutes); promtool comes from Prometheus.

Exit codes: 0 when each row that differs names what to do, 1 otherwise, 2 for a wrong command line.

Examples:
  npm run neighbours
  npm run neighbours -- --row spread-hostname
  npm run neighbours -- --build`;

interface Flags {
  row?: RowName;
  build?: boolean;
}

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function run({ row, build }: Flags): Promise<void> {
  for (const name of PROGRAM_NAMES) {
    const fault = buildProgram(name);
    if (fault !== null) say(`${name} cannot be built: ${fault}`);
  }
  if (build) return;
  if (!hasProgram("kube-apiserver"))
    throw new Error("KUBEBUILDER_ASSETS names no folder with kube-apiserver");
  const measured: Measured = new Map();
  const lab = await Lab.start();
  try {
    for (const [name, experiment] of Object.entries<Experiment>(EXPERIMENTS))
      if (row === undefined || experiment.rows.includes(row))
        await measureAll(lab, name, experiment, measured);
    process.stdout.write(tableText(measured));
    if (row === undefined) process.stdout.write(await measurements(lab, say));
  } finally {
    await lab.close();
  }
  const wrong = differences(measured);
  for (const each of wrong) say(each);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}

async function measureAll(lab: Lab, name: string, experiment: Experiment, measured: Measured): Promise<void> {
  const missing = experiment.missing();
  if (missing !== null) return say(`${name}: skipped, for there is no ${missing}`);
  for (const { fleet, expected } of cellsOf(experiment)) {
    const beganMs = performance.now();
    const outcomes: Partial<Record<RowName, Outcome>> = await experiment.measure(lab, fleet);
    await lab.clear();
    for (const { row, column, outcome } of expected) {
      const cells = measured.get(row) ?? [];
      measured.set(row, cells);
      cells.push({ column, fleet, expected: outcome, outcome: outcomes[row] ?? { verdict: "not measured" } });
    }
    say(`${name}: ${fleetName(fleet)} (${((performance.now() - beganMs) / 1000).toFixed(0)} s)`);
  }
}

const program = new Command("npm run neighbours --")
  .description("Prove with real programs that Nodes of ours change nothing for others in a cluster.")
  .addOption(new Option("--row <name>", "one row of the table").choices(Object.keys(ROWS)))
  .option("--build", "build the programs, and end")
  .addHelpText("after", HELP)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .action(run);

try {
  await program.parseAsync();
} catch (error) {
  say(`npm run neighbours: ${(error as Error).message}`);
  process.exitCode = 1;
}
