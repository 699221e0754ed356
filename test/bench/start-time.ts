// From the start of a shim's process until its Node is Ready in the apiserver, and its lease there: a machine that is
// new, and one that is known. All parts are real processes; the machine is this one, under other names.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { CoordinationV1Api, type V1Node } from "@kubernetes/client-node";
import type { Benchmark, Progress } from "./benchmark.ts";
import { type LocalFleet, readyOf, until, watchNodes, withLocalFleet } from "./local-fleet.ts";
import { once } from "./once.ts";
import { ROOT } from "./workerd.ts";

const RUNS = 5;
/** A heartbeat's times are whole seconds: a status that is written within the same one changes nothing. */
const PAUSE_MS = 1100;

interface StartTimes {
  /** Medians, in seconds. */
  fresh: number;
  known: number;
}

async function startTimes(fleet: LocalFleet, progress: Progress): Promise<StartTimes> {
  const nodes = new Map<string, V1Node>();
  const watch = await watchNodes(fleet.admin, (node) => {
    nodes.set(node.metadata?.name ?? "", node);
  });
  const times: Record<keyof StartTimes, number[]> = { fresh: [], known: [] };
  for (let run = 0; run < RUNS; run++) {
    const name = `start-${run}`;
    const token = await fleet.joinTokenFile(name, 1);
    mkdirSync(join(fleet.folder, name), { mode: 0o700 });
    for (const kind of ["fresh", "known"] as const) {
      progress(`${run * 2 + (kind === "fresh" ? 1 : 2)} of ${RUNS * 2} starts`);
      times[kind].push(await startOne(fleet, name, token, nodes));
    }
  }
  watch.stop();
  const median = (of: number[]) => of.toSorted((a, b) => a - b)[Math.floor(RUNS / 2)] ?? Number.NaN;
  return { fresh: median(times.fresh), known: median(times.known) };
}

/** Seconds. A known Node is Ready all the time: what counts is the first status that this process has written. */
async function startOne(
  { admin, folder, workerUrl, parts }: LocalFleet,
  name: string,
  token: string,
  nodes: Map<string, V1Node>,
): Promise<number> {
  const before = nodes.get(name)?.metadata?.resourceVersion;
  const command = [process.execPath, join(ROOT, "node-shim/bin/node-shim.cjs"), "run", "--url", workerUrl];
  command.push("--state", join(folder, name), "--join-token-file", token, "--hostname-override", name);
  command.push("--container-runtime-endpoint", "");
  const [startedMs, startedAt] = [performance.now(), Date.now()];
  const part = parts.start(name, command, join(folder, `${name}.log`));
  const isWritten = () => {
    const seen = nodes.get(name);
    return seen !== undefined && seen.metadata?.resourceVersion !== before && readyOf(seen) === "True";
  };
  await until(`${name} Ready`, isWritten, 1, 30_000);
  const leases = admin.makeApiClient(CoordinationV1Api);
  const isRenewed = async () => {
    const lease = await leases
      .readNamespacedLease({ name, namespace: "kube-node-lease" })
      .catch(() => undefined);
    return Date.parse(String(lease?.spec?.renewTime)) >= startedAt;
  };
  await until(`${name}'s lease`, isRenewed, 1, 30_000);
  const endedMs = performance.now();
  part.process.kill("SIGTERM");
  await part.ended;
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  return (endedMs - startedMs) / 1000;
}

const measured = once((progress: Progress) => withLocalFleet((fleet) => startTimes(fleet, progress)));

export const starts: Benchmark[] = [
  {
    name: "start-new",
    what: "shim start → Ready and lease, new machine",
    unit: "s",
    budget: 0.5,
    atLeast: false,
    measure: async (progress) => (await measured(progress)).fresh,
  },
  {
    name: "start-known",
    what: "shim start → Ready and lease, known machine",
    unit: "s",
    budget: 0.4,
    atLeast: false,
    measure: async (progress) => (await measured(progress)).known,
  },
];
