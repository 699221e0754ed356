// npm run fleet: the local cluster of npm start with a thousand machines, of which some break; compares what the cluster,
// the API, the command line, the feed and the metrics say of each. Exit code 1: some disagree.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { mintToken } from "../../../infra/local/admin.ts";
import { adminSecret } from "../../../infra/local/settings.ts";
import { until, withLocalFleet } from "../bench/local-fleet.ts";
import { inThisProcess } from "../../e2e/own-worker.ts";
import { countStates } from "./agreement.ts";
import { expectedState, faultsOf, fromTheStart, THOUSAND, writeFaults } from "./broken-fleet.ts";
import { simulation } from "./simulation.ts";
import { type AskedWorker, compareViews, openFeed } from "./views.ts";

/** From when something was noticed until all places show it; the feed comes last, once a second. */
const WITHIN_MS = 2000;

const HELP = `Usage: npm run fleet -- [--nodes N] [--within SECONDS]
Breaks ${Object.entries(THOUSAND)
  .map(([fault, count]) => `${count} (${fault})`)
  .join(", ")} of N simulated machines (default 1000), and compares what five places say of each. With
KUBEBUILDER_ASSETS on a real apiserver.`;

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

const faults = faultsOf(THOUSAND);
const names = Array.from({ length: count }, (_, index) => `sim-${index + 1}`);

const isDone = await withLocalFleet(async (fleet) => {
  const worker = { url: fleet.workerUrl, adminSecret: adminSecret(fleet.folder).secret };
  const wish = { names: "sim-*", uses: 2 * count, withoutFactsOnlyTaint: false };
  const joinToken = await mintToken(worker.url, worker.adminSecret, wish);
  const folder = join(fleet.folder, "machines");
  const feed = openFeed(worker);
  const rollcall = async (args: string[]) => {
    const environment = { ROLLCALL_URL: worker.url, ROLLCALL_ADMIN_SECRET: worker.adminSecret };
    return (await inThisProcess(args, environment)).stdout;
  };
  const compared = () => compareViews({ admin: fleet.admin, worker, rollcall, feed });
  /** All are in the state that is expected of them, and nobody disagrees. */
  const settled = async (what: string, expected: (name: string) => string) => {
    const startedMs = performance.now();
    let last: string[] = [];
    const isSettled = async () => {
      const { api, lines } = await compared();
      const others = names.filter((name) => api.get(name)?.state !== expected(name));
      last = [...others.map((name) => `${name} is ${api.get(name)?.state}, not ${expected(name)}`), ...lines];
      console.log(
        `${what}: ${JSON.stringify(countStates(api))}, ${others.length} to come, ${lines.length} disagree`,
      );
      return last.length === 0;
    };
    await until(what, isSettled, 2000, withinMs).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${last.slice(0, 20).join("\n")}`);
    });
    console.log(`${what}: all agree after ${Math.round((performance.now() - startedMs) / 1000)} s`);
  };
  try {
    simulation(fleet.parts, { worker: worker.url, folder, count, joinToken }, fromTheStart(faults));
    await settled("all well", (name) => (faults.get(name) === "waiting for Node" ? "blocked" : "ready"));
    writeFaults(folder, faults);
    await settled("some broken", (name) => expectedState(faults.get(name)));
    const lags = (await stateLines(worker)).flatMap(({ name, at }) => {
      const came = feed.cameAtMs(name);
      return came?.state === expectedState(faults.get(name)) && faults.has(name)
        ? came.atMs - Date.parse(at)
        : [];
    });
    return saysLags(lags);
  } catch (error) {
    console.error(String(error));
    return false;
  } finally {
    await feed.close();
  }
});
process.exit(isDone ? 0 : 1);

/** The last change of each machine's state, with when it was noticed. */
async function stateLines({
  url,
  adminSecret: secret,
}: AskedWorker): Promise<{ name: string; at: string }[]> {
  const headers = { authorization: `Bearer ${secret}` };
  const answer = await fetch(`${url}/v1/history?kind=state&format=ndjson`, { headers });
  const lines = (await answer.text()).split("\n").filter((line) => line !== "");
  const newestFirst = lines.map((line) => JSON.parse(line) as { name: string; at: string });
  return [...new Map(newestFirst.reverse().map((line) => [line.name, line])).values()];
}

/** From when a state was noticed until it came through the feed. false: one took too long. */
function saysLags(lagsMs: number[]): boolean {
  const sorted = lagsMs.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  console.log(
    `noticed → in the feed, ${sorted.length} machines: median ${at(0.5)} ms, longest ${at(1)} ms of ${WITHIN_MS}`,
  );
  return at(1) <= WITHIN_MS;
}
