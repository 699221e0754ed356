// Starts the local cluster of npm start with many machines, of which some break. Compares what the cluster, the
// API, the command line, the feed and the metrics report of each machine.
import { join } from "node:path";
import { mintToken } from "../../../infra/local/admin.ts";
import { adminSecret } from "../../../infra/local/settings.ts";
import { until, withLocalFleet } from "../bench/local-fleet.ts";
import { inThisProcess } from "../../e2e/own-worker.ts";
import { countStates } from "./agreement.ts";
import { expectedState, faultsOf, fromTheStart, THOUSAND, writeFaults } from "./broken-fleet.ts";
import { simulation } from "./simulation.ts";
import { type AskedWorker, compareViews, openFeed } from "./views.ts";

/**
 * Milliseconds from the time the Worker notices a change until all places must show it. The feed is the last place,
 * because it sends once a second.
 */
const WITHIN_MS = 2000;

/** Runs `count` machines, some of which break. Returns false if some places disagree, or if the feed is late. */
export async function runFleet(count: number, withinMs: number): Promise<boolean> {
  const faults = faultsOf(THOUSAND);
  const names = Array.from({ length: count }, (_, index) => `sim-${index + 1}`);

  return withLocalFleet(async (fleet) => {
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
    /** Waits until all machines are in their expected state. Returns true if no place disagrees. */
    const settled = async (what: string, expected: (name: string) => string) => {
      const startedMs = performance.now();
      let last: string[] = [];
      const isSettled = async () => {
        const { api, lines } = await compared();
        const others = names.filter((name) => api.get(name)?.state !== expected(name));
        last = [
          ...others.map((name) => `${name} is ${api.get(name)?.state}, not ${expected(name)}`),
          ...lines,
        ];
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
}

/** Returns the last change of each machine's state, with the time at which the Worker noticed it. */
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

/** Prints the times from the notice of a state until the feed had it. Returns false if one exceeds WITHIN_MS. */
function saysLags(lagsMs: number[]): boolean {
  const sorted = lagsMs.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  console.log(
    `noticed → in the feed, ${sorted.length} machines: median ${at(0.5)} ms, longest ${at(1)} ms of ${WITHIN_MS}`,
  );
  return at(1) <= WITHIN_MS;
}
