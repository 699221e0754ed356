// Measures a fleet of a thousand machines at once, whose Worker is killed. Real: every process of the local
// cluster, keys, enrolments, reports. Simulated: the machines' facts, and that one process runs all machines.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Benchmark, Progress } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import {
  type LocalFleet,
  nodesOf,
  readyOf,
  renewals,
  startMachines,
  until,
  watchNodes,
  withLocalFleet,
} from "./local-fleet.ts";
import { once } from "./once.ts";

const MACHINES = 1000;
/**
 * Milliseconds for which status writes are watched: the first writes of a fleet that started at once are spread
 * over 2.5 to 7.5 minutes.
 */
const WATCHED_MS = 8 * 60_000;
const WINDOW_MS = 10_000;

/**
 * Enrols all machines, whose keys exist before. Returns the seconds from the first enrolment until all are Ready.
 */
async function enrolAll(fleet: LocalFleet, progress: Progress): Promise<number> {
  const ready = new Set<string>();
  const watch = await watchNodes(fleet.admin, (node) => {
    const name = node.metadata?.name ?? "";
    if (name.startsWith("sim-") && readyOf(node) === "True") ready.add(name);
  });
  await startMachines(fleet, MACHINES);
  const log = join(fleet.folder, "machines.log");
  await until("keys", () => readFileSync(log, "utf8").includes("enrolling"), 10, 60_000);
  const startedMs = performance.now();
  const isDone = () => {
    progress(`${ready.size} of ${MACHINES} Ready`);
    return ready.size >= MACHINES;
  };
  await until("all Nodes Ready", isDone, 20, 120_000);
  watch.stop();
  return (performance.now() - startedMs) / 1000;
}

export const fleetEnrol: Benchmark = {
  ...budgetOf("fleet-enrol"),
  measure: (progress) => withLocalFleet(async (fleet) => [{ ours: await enrolAll(fleet, progress) }]),
};

interface Restarted {
  /** Seconds from the kill of the Worker until every lease was renewed. */
  seconds: number;
  /** The number of Nodes whose Ready condition was not True at some time. */
  unknown: number;
  /** The largest number of status writes within 10 s, divided by the mean number. */
  spread: number;
}

async function restart(fleet: LocalFleet, progress: Progress): Promise<Restarted> {
  await enrolAll(fleet, progress);
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  const lost = new Set<string>();
  const versions = new Map(
    (await nodesOf(fleet.admin)).map((node) => [node.metadata?.name, versionOf(node)]),
  );
  const writesMs: number[] = [];
  const watch = await watchNodes(fleet.admin, (node) => {
    const name = node.metadata?.name ?? "";
    if (readyOf(node) !== "True") lost.add(name);
    if (versions.get(name) !== versionOf(node)) writesMs.push(Date.now());
    versions.set(name, versionOf(node));
  });
  const killedMs = Date.now();
  const worker = fleet.parts.running().find(({ name }) => name === "worker");
  if (!worker) throw new Error("no worker runs");
  worker.process.kill("SIGKILL");
  await worker.ended;
  fleet.parts.start("worker", worker.command, worker.logFile);
  const allRenewed = async () => {
    const renewed = [...(await renewals(fleet.admin)).values()].filter((atMs) => atMs > killedMs).length;
    progress(`${renewed} leases renewed`);
    return renewed > MACHINES;
  };
  await until("all leases renewed", allRenewed, 250, 120_000);
  const renewedMs = Math.max(...(await renewals(fleet.admin)).values());
  const seconds = (Math.min(renewedMs, Date.now()) - killedMs) / 1000;
  const endMs = killedMs + WATCHED_MS;
  const isOver = () => {
    progress(`status writes for ${Math.round((endMs - Date.now()) / 1000)} s more`);
    return Date.now() >= endMs;
  };
  await until("status writes", isOver, 1000, WATCHED_MS + 60_000);
  watch.stop();
  return { seconds, unknown: lost.size, spread: peakOverMean(writesMs) };
}

const versionOf = ({ metadata }: { metadata?: { resourceVersion?: string } }) =>
  metadata?.resourceVersion ?? "";

/** Returns the largest number of writes in WINDOW_MS, divided by the mean number from the first write to the last. */
function peakOverMean(timesMs: number[]): number {
  if (timesMs.length < MACHINES) throw new Error(`only ${timesMs.length} status writes were seen`);
  const [first = 0, last = 0] = [timesMs[0], timesMs.at(-1)];
  const peak = Math.max(
    ...timesMs.map((from) => timesMs.filter((at) => at >= from && at < from + WINDOW_MS).length),
  );
  return peak / (timesMs.length / Math.max(1, (last - first) / WINDOW_MS));
}

const restarted = once((progress: Progress) => withLocalFleet((fleet) => restart(fleet, progress)));

const RESTART_ROWS: [name: string, figure: keyof Restarted][] = [
  ["fleet-restart-renewed", "seconds"],
  ["fleet-restart-lost", "unknown"],
  ["fleet-restart-spread", "spread"],
];

export const fleetRestarts: Benchmark[] = RESTART_ROWS.map(([name, figure]) => ({
  ...budgetOf(name),
  measure: async (progress) => [{ ours: (await restarted(progress))[figure] }],
}));
