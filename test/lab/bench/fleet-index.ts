// Measures the cost of the fleet index with 100,000 machines: a list by each filter and in each order, and a
// transition. Real: workerd, the Worker, its routes, HTTP. Made up: the machines, which the benchmark adds in place
// of their objects.
import { fileURLToPath } from "node:url";
import type { Benchmark, Progress } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { CHANGES, feedCost, type FeedCost } from "./feed.ts";
import { once } from "./once.ts";
import { type BenchWorker, startBenchWorker } from "./workerd.ts";

const ENTRY = fileURLToPath(new URL("../../worker/support/filled-index-entry.ts", import.meta.url));
const MACHINES = 100_000;
const AT_ONCE = 5000;
const TURNS = 20;
const TRANSITIONS = 2000;

/**
 * The measured queries: filters of each kind, some that match all and some that match no machine, and every order.
 */
const QUERIES = [
  "",
  "state=silent",
  "phase=registered",
  "phase=cloned",
  "condition=Ready",
  "condition=!Ready",
  "selector=site=site-7",
  "selector=kubernetes.io/os=linux",
  "selector=!site",
  "selector=site notin (site-1,site-2,site-3)",
  "version=<0.1.0",
  "version=!=0.0.9",
  "address=203.0.7.0/24",
  "beside=machine-000007",
  "token=token-1",
  "unused=true",
  "text=machine-0999",
  "text=bookworm",
  "since=2026-01-01T00:01:00Z",
  "sort=-since",
  "sort=urgency",
  "sort=version",
  "sort=-address&selector=tier=edge",
  "sort=state&condition=Ready",
].map((query) => query.replaceAll(" ", "%20").replaceAll("=<", "=%3C"));

interface Cost extends FeedCost {
  slowestListMs: number;
  exportMs: number;
  transitionMs: number;
  rowsATransition: number;
}

const cost = once(async (progress: Progress): Promise<Cost> => {
  const worker = await startBenchWorker({ url: "http://127.0.0.1:9", token: "made-up" }, "m-*", {
    entry: ENTRY,
  });
  try {
    for (let from = 0; from < MACHINES; from += AT_ONCE)
      await get(worker, `/fill/${from}/${from + AT_ONCE}/${MACHINES}`);
    progress(`${MACHINES} machines are told`);
    const lists: [ms: number, query: string][] = [];
    for (const query of QUERIES) lists.push([await listMs(worker, query), query]);
    lists.sort(([a], [b]) => b - a);
    for (const [ms, query] of lists) progress(`${ms.toFixed(1)} ms: ${query}`);
    const whole = worker.cpuMicroseconds();
    await get(worker, "/v1/machines?format=csv");
    const exported = worker.cpuMicroseconds();
    const feed = await feedCost(worker, MACHINES, () => get(worker, `/transitions/0/${CHANGES}/${MACHINES}`));
    const rows = Number(await get(worker, "/rows"));
    const before = worker.cpuMicroseconds();
    const after = Number(await get(worker, `/transitions/0/${TRANSITIONS}/${MACHINES}`));
    return {
      ...feed,
      slowestListMs: lists[0]?.[0] ?? 0,
      exportMs: (exported - whole) / 1000,
      transitionMs: (worker.cpuMicroseconds() - before) / 1000 / TRANSITIONS,
      rowsATransition: (after - rows) / TRANSITIONS,
    };
  } finally {
    await worker.stop();
  }
});

/**
 * Measures the CPU time of workerd for a page of a list, with routes and HTTP. Returns the mean of many requests:
 * the kernel counts CPU time in hundredths of a second.
 */
async function listMs(worker: BenchWorker, query: string): Promise<number> {
  await get(worker, `/v1/machines?${query}`);
  const before = worker.cpuMicroseconds();
  for (let turn = 0; turn < TURNS; turn++) await get(worker, `/v1/machines?${query}`);
  return (worker.cpuMicroseconds() - before) / 1000 / TURNS;
}

async function get({ url, operator }: BenchWorker, path: string): Promise<string> {
  const response = await fetch(url + path, { headers: operator.headers });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path} → ${response.status}: ${text}`);
  return text;
}

const measured = (name: string, of: (cost: Cost) => number): Benchmark => ({
  ...budgetOf(name),
  measure: async (progress) => [{ ours: of(await cost(progress)) }],
});

export const fleetIndexCosts: Benchmark[] = [
  measured("fleet-list", ({ slowestListMs }) => slowestListMs),
  measured("fleet-export", ({ exportMs }) => exportMs),
  measured("fleet-transition", ({ transitionMs }) => transitionMs),
  measured("fleet-transition-rows", ({ rowsATransition }) => rowsATransition),
  measured("feed-snapshot", ({ snapshotSeconds }) => snapshotSeconds),
  measured("feed-snapshot-time", ({ snapshotTakesSeconds }) => snapshotTakesSeconds),
  measured("feed-snapshot-size", ({ snapshotKiB }) => snapshotKiB / 1024),
  measured("feed-changes", ({ changesBytes }) => changesBytes),
];
