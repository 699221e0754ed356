// Measures the time from the start of an enrolled machine's installed shim, with a containerd, until its first
// report has arrived at a server that only records the time. Measures each Node.js of this computer, next to a
// kubelet's start.
import { spawn } from "node:child_process";
import { once as onceEmitted } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import type { Containerd } from "../../node-shim/sources/cri/containerd.ts";
import { nodes } from "../../runtimes/node-shim/nodes.ts";
import type { Benchmark, Progress, Round } from "./benchmark.ts";
import { majorOf, shimBudgetOf } from "./budgets.ts";
import { type BenchKubelet, type Start, withKubelet } from "./kubelet.ts";
import { once } from "./once.ts";
import { cpuSecondsOf } from "./process-weight.ts";
import { ROOT } from "./workerd.ts";

const RUNS = 7;
const NAME = "first-report";

interface FirstReports {
  seconds: Round[];
  /** The CPU time of all threads until the first report, in seconds. */
  cpuSeconds: Round[];
}

/** Measures first reports of the shim in turns with a kubelet's starts, if this computer has a kubelet. */
async function firstReports(
  node: string,
  runtime: Containerd,
  kubelet: BenchKubelet | undefined,
  progress: Progress,
): Promise<FirstReports> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-bench-"));
  const worker = createServer((_request, response) => {
    response.end(JSON.stringify({ phase: "registered", ready: true, ticket: "t", reportInMs: 3_600_000 }));
  });
  try {
    await new Promise<void>((resolve) => void worker.listen(0, "127.0.0.1", resolve));
    const state = await enrolledState(folder);
    const url = `http://127.0.0.1:${(worker.address() as AddressInfo).port}`;
    const args = [join(ROOT, "node-shim/bin/node-shim.cjs"), "run", "--url", url, "--state", state];
    args.push("--hostname-override", NAME, "--container-runtime-endpoint", `unix://${runtime.socketPath}`);
    const taken: FirstReports = { seconds: [], cpuSeconds: [] };
    for (let run = 1; run <= RUNS; run++) {
      progress(`start ${run} of ${RUNS}`);
      const ours = await startOnce(node, args, worker);
      const beside = await kubelet?.startKnown();
      for (const what of ["seconds", "cpuSeconds"] as const) {
        taken[what].push({ ours: ours[what], ...(beside && { yardstick: beside[what] }) });
      }
    }
    return taken;
  } finally {
    worker.closeAllConnections();
    worker.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the state folder of a machine that is already enrolled. */
async function enrolledState(folder: string): Promise<string> {
  const { jwk, thumbprint } = await makeMachineKey();
  const state = join(folder, "state");
  mkdirSync(state, { mode: 0o700 });
  writeFileSync(join(state, "key.json"), JSON.stringify(jwk));
  writeFileSync(join(state, "enrolment.json"), JSON.stringify({ name: NAME, thumbprint, kid: "k" }));
  return state;
}

async function startOnce(node: string, args: string[], worker: Server): Promise<Start> {
  const startedMs = performance.now();
  const child = spawn(node, args, { stdio: "ignore" });
  const ended = onceEmitted(child, "exit");
  const early = ended.then(() => Promise.reject(new Error("the shim ended before it reported")));
  await Promise.race([onceEmitted(worker, "request"), early]);
  const seconds = (performance.now() - startedMs) / 1000;
  const cpuSeconds = cpuSecondsOf(child.pid as number);
  child.kill("SIGTERM");
  await ended;
  return { seconds, cpuSeconds };
}

export const shimFirstReports: Benchmark[] = nodes().flatMap(([version, node]): Benchmark[] => {
  const major = majorOf(version);
  const measured = once((progress: Progress) =>
    withKubelet(progress, (runtime, kubelet) => firstReports(node, runtime, kubelet, progress)),
  );
  return [
    {
      ...shimBudgetOf("shim-first-report", major),
      measure: async (progress) => (await measured(progress)).seconds,
    },
    {
      ...shimBudgetOf("shim-first-report-cpu", major),
      measure: async (progress) => (await measured(progress)).cpuSeconds,
    },
  ];
});
