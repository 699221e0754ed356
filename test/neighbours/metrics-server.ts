// Measures metrics-server: which kubelets it reads next to our Nodes, which have no kubelet.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join as joinPath } from "node:path";
import { freePort } from "../../infra/local/ports.ts";
import type { Experiment } from "./experiment.ts";
import { type Fleet, join } from "./fleet.ts";
import { until } from "./kube.ts";
import type { Lab } from "./lab.ts";
import { missingProgram, programOf } from "./programs.ts";
import { startWorkers, workersIn } from "./workers.ts";

const WORKERS = 3;
/** The interval of metrics-server's reads in seconds: the shortest that it accepts. */
const RESOLUTION_S = 10;
const ROUND_WITHIN_MS = 90_000;
/** The address of our Nodes: a loopback address at which no program listens. */
const OUR_ADDRESS = "127.0.2.1";

export const metricsServerExperiment: Experiment = {
  rows: ["kubelet-metrics", "failed-scrapes"],
  missing: () => missingProgram("metrics-server"),
  measure,
};

async function measure(lab: Lab, fleet: Fleet) {
  const closeKubelet = await startReadWorkers(lab, WORKERS);
  try {
    await join(lab, fleet, OUR_ADDRESS);
    const { log } = await startMetricsServer(lab);
    const [round = "", nodes = "0"] = await until(
      ROUND_WITHIN_MS,
      "metrics-server has ended a round",
      async () => {
        const text = readFileSync(log, "utf8");
        return /^[^]*?"Scrape finished".*nodeCount=(\d+)/.exec(text) ?? undefined;
      },
    );
    const failed = round.match(/"Failed to scrape node/g)?.length ?? 0;
    return {
      "kubelet-metrics": { verdict: `${nodes} of ${WORKERS}` },
      "failed-scrapes": { verdict: `${failed}` },
    };
  } finally {
    closeKubelet();
  }
}

/** Starts workers whose kubelets report that they use half a CPU and 500 MB. Returns a function that ends the kubelets. */
export async function startReadWorkers(lab: Lab, count: number): Promise<() => void> {
  const kubelet = createServer((_, response) => {
    const cpuSeconds = performance.now() / 2000;
    response.end(`node_cpu_usage_seconds_total ${cpuSeconds}\nnode_memory_working_set_bytes 5e+08\n`);
  });
  await new Promise<void>((resolve) => void kubelet.listen(0, "127.0.1.1", resolve));
  const { port } = kubelet.address() as AddressInfo;
  const workers = workersIn(["zone-a", "zone-b", "zone-c"], count);
  await startWorkers(
    lab,
    workers.map((worker) => ({ ...worker, address: "127.0.1.1", port })),
  );
  return () => {
    kubelet.close();
    kubelet.closeAllConnections();
  };
}

/** Starts metrics-server. Returns its port and the path of its log. */
export async function startMetricsServer(lab: Lab): Promise<{ port: number; log: string }> {
  const port = await freePort();
  const log = lab.run("metrics-server", programOf("metrics-server"), [
    `--kubeconfig=${lab.kubeconfig}`,
    `--authentication-kubeconfig=${lab.kubeconfig}`,
    `--authorization-kubeconfig=${lab.kubeconfig}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${joinPath(lab.folder, "metrics-server")}`,
    `--metric-resolution=${RESOLUTION_S}s`,
    "--kubelet-use-node-status-port",
    "--kubelet-preferred-address-types=InternalIP",
    "--kubelet-request-timeout=5s",
    "--deprecated-kubelet-completely-insecure",
    "--v=1",
  ]);
  return { port, log };
}
