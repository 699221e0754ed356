// Runs a thousand machines of which some break, and checks whether five places report the same of each (`npm run
// fleet`).
import { parseArgs } from "node:util";
import { THOUSAND } from "./broken-fleet.ts";

const HELP = `Usage: npm run fleet -- [--nodes N] [--within SECONDS]
Breaks ${Object.entries(THOUSAND)
  .map(([fault, count]) => `${count} (${fault})`)
  .join(", ")} of N simulated machines (default 1000), and compares what five places say of each. With
KUBEBUILDER_ASSETS on a real apiserver. Exit codes: 0; 1 when some disagree; 2 for a wrong command line.`;

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "1000" },
    within: { type: "string", default: "420" },
    help: { type: "boolean", default: false },
  },
});
const [count, withinMs] = [Number(values.nodes), 1000 * Number(values.within)];
const least = Object.values(THOUSAND).reduce((sum, each) => sum + each, 0);
if (values.help || !Number.isInteger(count) || count < least || !(withinMs > 0)) {
  console.error(
    values.help ? HELP : `--nodes is a number from ${least} on, --within one of seconds\n\n${HELP}`,
  );
  process.exit(values.help ? 0 : 2);
}
// The module is imported only here, so that the help does not wait for it.
const { runFleet } = await import("./run.ts");
process.exit((await runFleet(count, withinMs)) ? 0 : 1);
