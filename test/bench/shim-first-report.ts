// From the start of an enrolled machine's shim, as it is installed and with a containerd, until its first report is at
// the Worker: here a server that only notes when. On each Node.js of this machine.
import { spawn } from "node:child_process";
import { once as onceEmitted } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeMachineKey } from "../../node-shim/identity/machine-key.ts";
import { containerd } from "../node-shim/sources/cri/containerd.ts";
import { nodes } from "../node-shim/nodes.ts";
import type { Benchmark } from "./benchmark.ts";
import { once } from "./once.ts";
import { cpuSecondsOf, median } from "./process-weight.ts";
import { ROOT } from "./workerd.ts";

const RUNS = 7;
const NAME = "first-report";

/** Medians. */
interface FirstReport {
  seconds: number;
  /** Of all threads. On a busy machine it tells more than the time. */
  cpuMs: number;
}

async function firstReport(node: string): Promise<FirstReport> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-bench-"));
  const runtime = containerd();
  const worker = createServer((_request, response) => {
    response.end(JSON.stringify({ phase: "registered", ready: true, ticket: "t", reportInMs: 3_600_000 }));
  });
  try {
    runtime.network(true);
    await runtime.start();
    await new Promise<void>((resolve) => void worker.listen(0, "127.0.0.1", resolve));
    const { jwk, thumbprint } = await makeMachineKey();
    const state = join(folder, "state");
    mkdirSync(state, { mode: 0o700 });
    writeFileSync(join(state, "key.json"), JSON.stringify(jwk));
    writeFileSync(join(state, "enrolment.json"), JSON.stringify({ name: NAME, thumbprint, kid: "k" }));
    const url = `http://127.0.0.1:${(worker.address() as AddressInfo).port}`;
    const args = [join(ROOT, "node-shim/bin/node-shim.cjs"), "run", "--url", url, "--state", state];
    args.push("--hostname-override", NAME, "--container-runtime-endpoint", `unix://${runtime.socketPath}`);
    const taken: FirstReport[] = [];
    for (let run = 0; run < RUNS; run++) {
      const startedMs = performance.now();
      const child = spawn(node, args, { stdio: "ignore" });
      const ended = onceEmitted(child, "exit");
      const early = ended.then(() => Promise.reject(new Error("the shim ended before it reported")));
      await Promise.race([onceEmitted(worker, "request"), early]);
      const seconds = (performance.now() - startedMs) / 1000;
      taken.push({ seconds, cpuMs: cpuSecondsOf(child.pid as number) * 1000 });
      child.kill("SIGTERM");
      await ended;
    }
    return {
      seconds: median(taken.map(({ seconds }) => seconds)),
      cpuMs: median(taken.map(({ cpuMs }) => cpuMs)),
    };
  } finally {
    worker.closeAllConnections();
    worker.close();
    await runtime.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

export const shimFirstReports: Benchmark[] = nodes().flatMap(([version, node]): Benchmark[] => {
  const major = /\d+/.exec(version)?.[0] ?? version;
  const measured = once(() => firstReport(node));
  const what = `shim on Node.js ${major}: start → first report`;
  const name = `shim-${major}-first-report`;
  return [
    { name, what, unit: "s", budget: 0.3, atLeast: false, measure: async () => (await measured()).seconds },
    {
      name: `${name}-cpu`,
      what: `${what}, CPU`,
      unit: "ms",
      budget: null,
      atLeast: false,
      measure: async () => (await measured()).cpuMs,
    },
  ];
});
