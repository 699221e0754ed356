// Compares this source tree with another one, in turns: decisions in this process, heartbeats in a workerd for each
// tree. A developer uses the comparison for changes that must not slow anything down. The other tree needs the same
// benchmarks at the same paths.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Benchmark, Progress } from "./benchmark.ts";
import * as ownDecisions from "./decision.ts";
import { heartbeatsBeside } from "./heartbeat-rate.ts";
import * as ownMachine from "./machine.ts";
import { once } from "./once.ts";
import { sideBySide } from "./side-by-side.ts";
import { ROOT, startBenchWorker } from "./workerd.ts";

const SLOWER_AT_MOST = 1.1;

interface Decisions {
  decisions: Pick<typeof ownDecisions, "decide" | "decideAndPatch" | "unchangedReports" | "changedReports">;
  machine: Pick<typeof ownMachine, "machineFacts">;
}

/** Returns the benchmarks that compare this tree with the one in the root folder `tree`. */
export function compareBenchmarks(tree: string): Benchmark[] {
  const beside = { against: "other tree", budget: SLOWER_AT_MOST } as const;
  const heartbeats = once((progress: Progress) =>
    heartbeatsBeside(
      (kube) => startBenchWorker(kube, "m-*"),
      (kube) => startBenchWorker(kube, "b-*", { root: tree }),
      progress,
    ),
  );
  return [
    {
      ...beside,
      name: "decision-unchanged",
      what: "time per decision, unchanged Node with 50 images",
      unit: "µs",
      measure: async () => sideBySide(unchanged(OWN), unchanged(await decisionsOf(tree))),
    },
    {
      ...beside,
      name: "decision-changed",
      what: "time per decision and its patch, changed condition",
      unit: "µs",
      measure: async () => sideBySide(changed(OWN), changed(await decisionsOf(tree))),
    },
    {
      ...beside,
      name: "heartbeat-rate",
      what: "heartbeats per second through workerd, over HTTP",
      unit: "/s",
      budget: 1 / SLOWER_AT_MOST,
      atLeast: true,
      measure: async (progress) => (await heartbeats(progress)).rate,
    },
    {
      ...beside,
      name: "heartbeat-cpu",
      what: "workerd's CPU time per heartbeat, over HTTP",
      unit: "µs",
      measure: async (progress) => (await heartbeats(progress)).cpu,
    },
  ];
}

const OWN: Decisions = { decisions: ownDecisions, machine: ownMachine };

async function decisionsOf(tree: string): Promise<Decisions> {
  const load = (file: string) => import(pathToFileURL(join(tree, "test/lab/bench", file)).href) as unknown;
  return {
    decisions: (await load("decision.ts")) as Decisions["decisions"],
    machine: (await load("machine.ts")) as Decisions["machine"],
  };
}

const unchanged = ({ decisions, machine }: Decisions) => ({
  prepare: decisions.unchangedReports(machine.machineFacts()),
  operate: decisions.decide,
});

const changed = ({ decisions, machine }: Decisions) => ({
  prepare: decisions.changedReports(machine.machineFacts()),
  operate: decisions.decideAndPatch,
});

/**
 * Calls `work` with the other tree's folder. A given folder is used as it is. A git revision is checked out in a
 * temporary folder, with this tree's node_modules, and removed afterwards.
 */
export async function withTree<T>(given: string, work: (tree: string) => Promise<T>): Promise<T> {
  if (existsSync(given) && statSync(given).isDirectory()) return work(resolve(given));
  const folder = mkdtempSync(join(tmpdir(), "rollcall-compare-"));
  const git = (...args: string[]) => execFileSync("git", ["-C", ROOT, ...args], { stdio: "pipe" });
  try {
    git("worktree", "add", "--detach", folder, given);
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    git("worktree", "prune");
  }
}
