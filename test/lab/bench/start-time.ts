// Measures the time from the start of a shim's process until its Node is Ready in the apiserver and has a lease,
// for a new machine and for a known one. All parts are real processes; the machine is this computer, under other
// names.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { CoordinationV1Api, type V1Node } from "@kubernetes/client-node";
import type { Benchmark, Progress, Round } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { type BenchKubelet, PAUSE_MS, type Start, withKubelet } from "./kubelet.ts";
import { type LocalFleet, readyOf, until, watchNodes, withLocalFleet } from "./local-fleet.ts";
import { once } from "./once.ts";
import { ROOT } from "./workerd.ts";

const RUNS = 5;

interface StartTimes {
  fresh: Round[];
  known: Round[];
}

/** Measures starts of the shim in turns with a kubelet's starts, if this computer has a kubelet. */
async function startTimes(
  fleet: LocalFleet,
  kubelet: BenchKubelet | undefined,
  progress: Progress,
): Promise<StartTimes> {
  const nodes = new Map<string, V1Node>();
  const watch = await watchNodes(fleet.admin, (node) => {
    nodes.set(node.metadata?.name ?? "", node);
  });
  const times: StartTimes = { fresh: [], known: [] };
  const beside = async (ours: number, start: (() => Promise<Start>) | undefined): Promise<Round> =>
    start ? { ours, yardstick: (await start()).seconds } : { ours };
  for (let run = 0; run < RUNS; run++) {
    const name = `start-${run}`;
    const token = await fleet.joinTokenFile(name, 1);
    mkdirSync(join(fleet.folder, name), { mode: 0o700 });
    progress(`${run * 2 + 1} of ${RUNS * 2} starts`);
    times.fresh.push(await beside(await startOne(fleet, name, token, nodes), kubelet?.startNew));
    progress(`${run * 2 + 2} of ${RUNS * 2} starts`);
    times.known.push(await beside(await startOne(fleet, name, token, nodes), kubelet?.startKnown));
  }
  watch.stop();
  return times;
}

/**
 * Returns the seconds of one start. A known Node stays Ready, so its start ends with the first status that the new
 * process has written.
 */
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

const measured = once((progress: Progress) =>
  withKubelet(progress, (_runtime, kubelet) =>
    withLocalFleet((fleet) => startTimes(fleet, kubelet, progress)),
  ),
);

export const starts: Benchmark[] = [
  { ...budgetOf("start-new"), measure: async (progress) => (await measured(progress)).fresh },
  { ...budgetOf("start-known"), measure: async (progress) => (await measured(progress)).known },
];
