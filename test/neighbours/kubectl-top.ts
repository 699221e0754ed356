// Runs metrics-server and the adapter of infra/kubectl-top next to each other on a real apiserver, and measures which
// workers `kubectl top nodes` still shows.
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join as joinPath } from "node:path";
import { generate } from "selfsigned";
import { pause } from "../../node-shim/base/clock.ts";
import { freePort } from "../../infra/local/ports.ts";
import { switchOn } from "../../infra/kubectl-top/switch.ts";
import type { Kubectl } from "../../infra/operator/kubectl.ts";
import { shownUsage, USAGE, usageOf } from "../../shared/protocol/usage.ts";
import { failure, success } from "../../shared/result.ts";
import { ROOT } from "../e2e/local-cluster.ts";
import type { Experiment } from "./experiment.ts";
import { type Fleet, join } from "./fleet.ts";
import { until } from "./kube.ts";
import { assets, hasProgram, type Lab } from "./lab.ts";
import { startMetricsServer, startReadWorkers } from "./metrics-server.ts";
import { missingProgram } from "./programs.ts";

const WORKERS = 3;
/** metrics-server needs two rounds for a rate. */
const RATES_WITHIN_MS = 60_000;

export const kubectlTopExperiment: Experiment = {
  rows: ["top-nodes"],
  missing: () => (hasProgram("kubectl") ? missingProgram("metrics-server") : "kubectl"),
  measure,
};

async function measure(lab: Lab, fleet: Fleet) {
  const names = await join(lab, fleet);
  const top = await TopLab.start(lab, names);
  try {
    const switched = await switchOn(top.kubectl, pause);
    if (!switched.ok) throw new Error(switched.error);
    const rows = await top.nodesWith(WORKERS + fleet.count);
    const workers = rows.filter(([name]) => name?.startsWith("worker-"));
    return { "top-nodes": { verdict: `${workers.length} of ${WORKERS}`, detail: `${rows.length} Nodes` } };
  } finally {
    await top.close();
  }
}

const METRICS = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io";
const SECRET = "view-secret";
const ADAPTER_NAME = "kubectl-top.rollcall-top.svc";

/** metrics-server for three workers, a Worker with the usage of machines, and the adapter, which is off. */
export class TopLab {
  readonly lab: Lab;
  readonly adapterPort: number;
  /** false: the Worker answers 503. */
  isWorkerUp = true;
  readonly #metricsServerPort: number;
  #closing: (() => void)[] = [];

  private constructor(lab: Lab, adapterPort: number, metricsServerPort: number) {
    this.lab = lab;
    this.adapterPort = adapterPort;
    this.#metricsServerPort = metricsServerPort;
  }

  /** `machines`: the machines that send their usage. */
  static async start(lab: Lab, machines: readonly string[]): Promise<TopLab> {
    const closeKubelet = await startReadWorkers(lab, WORKERS);
    const { port } = await startMetricsServer(lab);
    const top = new TopLab(lab, await freePort(), port);
    top.#closing.push(closeKubelet);
    await top.#register();
    await top.#startAdapter(await top.#startWorker(machines));
    return top;
  }

  /** Runs the kubectl of the cluster's version. */
  readonly run = (
    args: readonly string[],
    input = "",
  ): Promise<{ code: number; stdout: string; stderr: string }> =>
    new Promise((resolve) => {
      const flags = [
        `--kubeconfig=${this.lab.kubeconfig}`,
        `--cache-dir=${joinPath(this.lab.folder, "kubectl")}`,
      ];
      const child = execFile(joinPath(assets, "kubectl"), [...args, ...flags], (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
      // A kubectl that ends at once reads no input. The exit code counts.
      child.stdin?.on("error", () => undefined).end(input);
    });

  /**
   * Runs kubectl for `rollcall kubectl-top`. The adapter of the test has another port, and no controller of the test
   * could remove a namespace.
   */
  readonly kubectl: Kubectl = async (args, input) => {
    if (args[0] === "delete" && args[1]?.startsWith("namespace/")) return success("");
    const own = args.map((each) => each.replace('"port":443', `"port":${this.adapterPort}`));
    const { code, stdout, stderr } = await this.run(own, input);
    return code === 0 ? success(stdout) : failure(stderr.trim());
  };

  /** Returns the rows of `kubectl top nodes` with values, once there are `count` of them or the time is over. */
  async nodesWith(count: number): Promise<string[][]> {
    let rows: string[][] = [];
    await until(RATES_WITHIN_MS, `${count} Nodes with values`, async () => {
      rows = this.rowsOf((await this.run(["top", "nodes", "--no-headers"])).stdout);
      return rows.length >= count ? true : undefined;
    });
    return rows;
  }

  rowsOf(stdout: string): string[][] {
    const rows = stdout.split("\n").map((line) => line.trim().split(/ +/));
    return rows.filter(([name, cpu]) => name !== "" && cpu !== "<unknown>");
  }

  /** Lets the apiserver ask metrics-server, as metrics-server's manifests do. A name leads to its port on loopback. */
  async #register(): Promise<void> {
    const services = "/api/v1/namespaces/kube-system/services";
    await this.lab.kube.remove(`${services}/metrics-server`);
    const spec = { type: "ExternalName", externalName: "localhost" };
    const service = (name: string) => ({ apiVersion: "v1", kind: "Service", metadata: { name }, spec });
    await this.lab.kube.create(services, service("metrics-server"));
    await this.lab.kube.create("/apis/apiregistration.k8s.io/v1/apiservices", {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1beta1.metrics.k8s.io", labels: { "k8s-app": "metrics-server" } },
      spec: {
        service: { name: "metrics-server", namespace: "kube-system", port: this.#metricsServerPort },
        group: "metrics.k8s.io",
        version: "v1beta1",
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    });
  }

  async #startWorker(machines: readonly string[]): Promise<string> {
    const used = { cpuUsed: 0.25, windowSeconds: 60, memoryWorkingSetBytes: 2 ** 29 };
    const nothing = shownUsage(usageOf(USAGE.map(() => null)), null);
    const worker = createServer((request, response) => {
      const isAsked = request.url === "/v1/usage" && request.headers.authorization === `Bearer ${SECRET}`;
      response.statusCode = !isAsked ? 401 : this.isWorkerUp ? 200 : 503;
      const at = new Date().toISOString();
      response.end(
        JSON.stringify({
          machines: machines.map((name) => ({ name, at, ...nothing, ...used })),
          isComplete: true,
        }),
      );
    });
    await new Promise<void>((resolve) => void worker.listen(0, "127.0.0.1", resolve));
    this.#closing.push(() => {
      worker.close();
      worker.closeAllConnections();
    });
    return `http://127.0.0.1:${(worker.address() as AddressInfo).port}`;
  }

  /** Applies infra/kubectl-top, and runs the adapter with the account of its pods. */
  async #startAdapter(worker: string): Promise<void> {
    const folder = joinPath(this.lab.folder, "adapter");
    mkdirSync(folder, { recursive: true });
    const write = (name: string, text: string) =>
      writeFileSync(joinPath(folder, name), text, { mode: 0o600 });
    const { cert, private: key } = await generate([{ name: "commonName", value: ADAPTER_NAME }], {
      keyType: "ec",
      extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: ADAPTER_NAME }] }],
    });
    write("tls.crt", cert);
    write("tls.key", key);
    const rendered = await this.#must(["kustomize", joinPath(ROOT, "infra/kubectl-top")]);
    const origin = "https://metrics-server.kube-system.svc";
    const manifests = rendered.replace(origin, `${origin}:${this.#metricsServerPort}`);
    await this.#must(["apply", "--server-side", "--force-conflicts", "-f", "-"], manifests);
    const files = ["tls.crt", "tls.key"].map((name) => `--from-file=${joinPath(folder, name)}`);
    const secret = await this.#must([
      "create",
      "secret",
      "generic",
      "kubectl-top-tls",
      ...files,
      ...IN_NAMESPACE,
      ...DRY,
    ]);
    await this.#must(["apply", "-f", "-"], secret);
    const service = { spec: { type: "ExternalName", externalName: "localhost" } };
    await this.lab.kube.patch(`/api/v1/namespaces/rollcall-top/services/kubectl-top`, service);
    const status = { replicas: 2, readyReplicas: 2, availableReplicas: 2 };
    await this.lab.kube.patch("/apis/apps/v1/namespaces/rollcall-top/deployments/kubectl-top/status", {
      status,
    });
    write("token", await this.#must(["create", "token", "kubectl-top", ...IN_NAMESPACE]));
    write("ca.crt", readFileSync(this.lab.address.caFile, "utf8"));
    write("secret", SECRET);
    const log = this.lab.run("kubectl-top", process.execPath, [
      joinPath(ROOT, "infra/operator/main.ts"),
      "kubectl-top",
      "serve",
      `--url=${worker}`,
      `--secret-file=${joinPath(folder, "secret")}`,
      `--port=${this.adapterPort}`,
      `--tls=${folder}`,
      `--account=${folder}`,
      `--apiserver=${this.lab.address.url}`,
      `--metrics-server=https://127.0.0.1:${this.#metricsServerPort}`,
    ]);
    await until(30_000, "the adapter serves", async () => {
      const text = readFileSync(log, "utf8");
      return Promise.resolve(text.includes("serving on port") ? true : undefined);
    });
  }

  async #must(args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  /** Without the API no controller of a later experiment waits for its server. */
  async close(): Promise<void> {
    await this.lab.kube.remove(METRICS);
    for (const close of this.#closing) close();
  }
}

const IN_NAMESPACE = ["-n", "rollcall-top"];
const DRY = ["--dry-run=client", "-o", "yaml"];
