// Measures the time and size of a scrape with 10,000 machines. Real: workerd, the Worker, HTTP. Made up: the data
// of the fleet index; the apiserver's address refuses connections.
import { fileURLToPath } from "node:url";
import { updateOf } from "../../worker/support/made-up-fleet.ts";
import type { Benchmark, Progress, Round } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { once } from "./once.ts";
import { startBenchWorker } from "./workerd.ts";

const ENTRY = fileURLToPath(new URL("../../worker/support/telling-entry.ts", import.meta.url));
const MACHINES = 10_000;
const AT_ONCE = 500;
const SCRAPES = 21;

interface Scraped {
  ms: number;
  /**
   * The mean CPU time of all scrapes, in milliseconds. A single scrape is too short: the kernel counts in
   * hundredths of a second.
   */
  cpuMs: number;
  bytes: number;
}

const scrapes = once(async (progress: Progress): Promise<Scraped[]> => {
  const address = { url: "http://127.0.0.1:9", token: "made-up" };
  const worker = await startBenchWorker(address, "m-*", { entry: ENTRY, variables: { NODE_WATCH: "off" } });
  try {
    progress(`${MACHINES} machines are told of`);
    for (let from = 0; from < MACHINES; from += AT_ONCE) {
      const tellings = Array.from({ length: AT_ONCE }, (_, index) => updateOf(from + index, 1));
      await fetch(`${worker.url}/tell`, { method: "POST", body: JSON.stringify(tellings) });
    }
    progress(`${SCRAPES} scrapes`);
    const { headers } = worker.operator;
    const found: Omit<Scraped, "cpuMs">[] = [];
    const before = worker.cpuMicroseconds();
    for (let round = 0; round < SCRAPES; round++) {
      const startedMs = performance.now();
      const body = await (await fetch(`${worker.url}/metrics`, { headers })).arrayBuffer();
      found.push({ ms: performance.now() - startedMs, bytes: body.byteLength });
    }
    const cpuMs = (worker.cpuMicroseconds() - before) / 1000 / SCRAPES;
    return found.map((scraped) => ({ ...scraped, cpuMs }));
  } finally {
    await worker.stop();
  }
});

const rounds = async (progress: Progress, of: (scraped: Scraped) => number): Promise<Round[]> =>
  (await scrapes(progress)).map((scraped) => ({ ours: of(scraped) }));

export const metricsScrapes: Benchmark[] = [
  { ...budgetOf("metrics-cpu"), measure: (progress) => rounds(progress, ({ cpuMs }) => cpuMs) },
  { ...budgetOf("metrics-scrape"), measure: (progress) => rounds(progress, ({ ms }) => ms) },
  { ...budgetOf("metrics-bytes"), measure: (progress) => rounds(progress, ({ bytes }) => bytes) },
];
