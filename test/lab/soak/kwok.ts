// Measures KWOK, the peer of a soak with a real apiserver: the time until all Nodes are Ready, late leases, and the CPU
// time of KWOK, which simulates the kubelets of Nodes that exist.
import { globSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { missingProgram, programOf, programVersion, sourcesOf } from "../../neighbours/programs.ts";
import { type LocalFleet, readyOf, watchNodes, withLocalFleet } from "../bench/local-fleet.ts";
import { cpuSecondsOf } from "../bench/process-weight.ts";
import { someAtOnce } from "../bench/some-at-once.ts";
import type { Finding } from "./finding.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { noteEnd } from "./made-up-place.ts";
import { apiserverCpuSecondsOf, askerOf, readLeases } from "./real-place.ts";
import type { SoakOutput } from "./soak.ts";

const CREATED_AT_ONCE = 16;
const TICK_MS = 1000;
const MINUTE_MS = 60_000;
/** The annotation of the Nodes that KWOK manages. */
const MANAGED = ["kwok.x-k8s.io/node", "fake"] as const;
/** KWOK's own stages of Nodes with leases. */
const STAGES = "kustomize/stage/node/{fast,heartbeat-with-lease}/node-*.yaml";

interface KwokPlan {
  machines: number;
  minutes: number;
}

export async function runKwok(plan: KwokPlan, output: SoakOutput, stop: AbortSignal): Promise<Finding[]> {
  const missing = missingProgram("kwok");
  if (missing !== null) throw new Error(`missing: ${missing}`);
  const died = new AbortController();
  const signal = AbortSignal.any([stop, died.signal]);
  const leases = new LeaseWatch();
  const run = async (fleet: LocalFleet) => {
    const cpu = startKwok(fleet);
    const reading = readLeases(fleet, leases, signal);
    await Promise.race([measure(plan, fleet, { output, signal, leases, cpu }), reading]);
    return leases.end(Date.now());
  };
  const ended = withLocalFleet(run, (part, how) => noteEnd(died, part, how));
  const { late, longestMs, renewals } = await ended.catch((error: unknown) => {
    throw died.signal.aborted ? died.signal.reason : error;
  });
  const counts = `${late.length} of ${renewals} heartbeats late by more than a beat`;
  const longest = `the longest time between two is ${(longestMs / 1000).toFixed(1)} s`;
  return [{ text: `KWOK ${programVersion("kwok")}: ${counts}; ${longest}`, isKept: null }];
}

interface CpuSeconds {
  kwok: number;
  apiserver: number;
}

/** Starts KWOK. Returns a function that reads the CPU times of KWOK and the apiserver. */
function startKwok({ folder, parts }: LocalFleet): () => CpuSeconds {
  const sources = sourcesOf("kwok");
  const stages = globSync(STAGES, { cwd: sources }).flatMap((file) => ["--config", join(sources, file)]);
  const selector = `--manage-nodes-with-annotation-selector=${MANAGED.join("=")}`;
  const managed = ["--manage-all-nodes=false", selector, "--node-lease-duration-seconds=40"];
  const command = [programOf("kwok"), "--kubeconfig", join(folder, "kubeconfig"), ...managed, ...stages];
  const { process } = parts.start("kwok", command, join(folder, "kwok.log"));
  return () => ({ kwok: cpuSecondsOf(process.pid ?? 0), apiserver: apiserverCpuSecondsOf(parts) });
}

interface Measuring {
  output: SoakOutput;
  signal: AbortSignal;
  leases: LeaseWatch;
  cpu: () => CpuSeconds;
}

async function measure(
  { machines, minutes }: KwokPlan,
  fleet: LocalFleet,
  { output, signal, leases, cpu }: Measuring,
): Promise<void> {
  const [beganMs, began] = [performance.now(), cpu()];
  await createdAndReady(machines, fleet, { output, signal });
  const used = (since: CpuSeconds) => {
    const now = cpu();
    return `KWOK ${(now.kwok - since.kwok).toFixed(1)} s of CPU, apiserver ${(now.apiserver - since.apiserver).toFixed(1)} s`;
  };
  const seconds = Math.round((performance.now() - beganMs) / 1000);
  output.say(`${machines} Nodes are Ready after ${seconds} s: ${used(began)}`);
  leases.begin(Date.now());
  for (let minute = 1; minute <= minutes; minute++) {
    const before = cpu();
    await wait(MINUTE_MS, undefined, { signal });
    output.say(`minute ${minute}: ${leases.lateCount} heartbeats late until now; ${used(before)}`);
  }
}

async function createdAndReady(
  machines: number,
  { admin }: LocalFleet,
  { output, signal }: Pick<Measuring, "output" | "signal">,
): Promise<void> {
  const ask = askerOf(admin);
  const annotations = Object.fromEntries([MANAGED]);
  const names = Array.from({ length: machines }, (_, at) => `sim-${at + 1}`);
  const create = (name: string) =>
    ask({ method: "POST", path: "/api/v1/nodes", body: { metadata: { name, annotations } } });
  const ready = new Set<string>();
  const watch = await watchNodes(admin, (node) => {
    if (readyOf(node) === "True") ready.add(node.metadata?.name ?? "");
  });
  const untilReady = async () => {
    while (ready.size < machines) {
      await wait(TICK_MS, undefined, { signal });
      output.show(`${ready.size} of ${machines} Nodes are Ready`);
    }
  };
  try {
    await Promise.all([someAtOnce(CREATED_AT_ONCE, names, create), untilReady()]);
  } finally {
    watch.stop();
  }
}
