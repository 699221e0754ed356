// Runs a real apiserver for one file of experiments, with the programs under test. All objects are deleted between
// two experiments.
import { type ChildProcess, execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeKubeconfig } from "../../infra/local/kubernetes.ts";
import { startProgram, stopProgram } from "../infra/local/started-apiserver.ts";
import { type Controllers, RunningServer, type ServerAddress } from "../cluster/running-server.ts";
import { type FrontProxy, makeFrontProxy } from "./front-proxy.ts";
import { Heartbeats } from "./heartbeats.ts";
import { type Kube, kubeOf, LEASES, NODES, PODS, SERVICES, until } from "./kube.ts";

/** The folder of the programs; "" if KUBEBUILDER_ASSETS is not set, in which case no experiment runs. */
export const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";

/** The collections to which experiments write. Pods come last: their owners would replace deleted pods. */
const COLLECTIONS = [
  "/apis/apps/v1/namespaces/default/daemonsets",
  "/apis/apps/v1/namespaces/default/controllerrevisions",
  "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
  "/apis/storage.k8s.io/v1/volumeattachments",
  "/api/v1/namespaces/default/persistentvolumeclaims",
  "/api/v1/persistentvolumes",
  LEASES,
  NODES,
  PODS,
];
const WITH_FINALIZERS = COLLECTIONS.filter((path) => path.includes("volume"));
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const NAMESPACE_WITHIN_MS = 60_000;

export class Lab {
  readonly kube: Kube;
  /** Renews the leases of the experiment's Nodes. */
  readonly heartbeats: Heartbeats;
  readonly kubeconfig: string;
  readonly address: ServerAddress;
  /** Makes client certificates of the authority to which the apiserver's own belongs. */
  readonly frontProxy: FrontProxy;
  /** The folder for the files of an experiment. */
  readonly folder: string;
  readonly #server: RunningServer;
  #ending = new AbortController();
  #acts: Promise<void>[] = [];
  readonly #programs = new Map<string, ChildProcess>();

  private constructor(folder: string, server: RunningServer, address: ServerAddress, frontProxy: FrontProxy) {
    this.folder = folder;
    this.#server = server;
    this.address = address;
    this.frontProxy = frontProxy;
    this.kube = kubeOf(address);
    this.heartbeats = new Heartbeats(this.kube);
    this.kubeconfig = join(folder, "kubeconfig");
  }

  /** Starts etcd and kube-apiserver. Both end with `close`, or with this process. */
  static async start(): Promise<Lab> {
    const folder = mkdtempSync(join(tmpdir(), "rollcall-neighbours-"));
    const frontProxy = await makeFrontProxy(join(folder, "front-proxy"));
    const server = new RunningServer({ dir: join(folder, "cluster"), assets, flags: frontProxy.flags });
    const kill = () => {
      server.kill();
      rmSync(folder, { recursive: true, force: true });
    };
    process.once("exit", kill);
    // Without a handler a signal ends the process without the event "exit", so that the programs would stay.
    for (const signal of SIGNALS) process.once(signal, () => process.exit(1));
    const address = await server.start();
    const lab = new Lab(folder, server, address, frontProxy);
    process.once("exit", () => lab.#programs.forEach((program) => program.kill("SIGKILL")));
    const ca = readFileSync(address.caFile, "utf8");
    writeKubeconfig(lab.kubeconfig, address.url, ca, address.adminToken);
    for (const name of ["default", "kube-node-lease"])
      await until(NAMESPACE_WITHIN_MS, `the namespace ${name}`, async () => {
        const found = await lab.kube.get(`/api/v1/namespaces/${name}`);
        return found ?? undefined;
      });
    return lab;
  }

  /** Starts a program and returns the path of its output. The program ends with the experiment. */
  run(name: string, program: string, args: string[]): string {
    const log = join(this.folder, `${name}.log`);
    rmSync(log, { force: true });
    const child = startProgram({ program, args }, log);
    this.#programs.set(name, child);
    return log;
  }

  /** Stops one program of the experiment. */
  async stop(name: string): Promise<void> {
    const program = this.#programs.get(name);
    if (program) await stopProgram(program);
  }

  startScheduler(): void {
    const config = join(this.folder, "scheduler.json");
    const clientConnection = { kubeconfig: this.kubeconfig, qps: 2000, burst: 4000 };
    const text = {
      apiVersion: "kubescheduler.config.k8s.io/v1",
      kind: "KubeSchedulerConfiguration",
      leaderElection: { leaderElect: false },
      clientConnection,
    };
    writeFileSync(config, JSON.stringify(text));
    const args = [`--config=${config}`, "--secure-port=0"];
    this.run("kube-scheduler", join(assets, "kube-scheduler"), args);
  }

  startControllers(wanted: Controllers): void {
    this.#server.startControllers(wanted);
  }

  /** Runs `act` until the experiment ends. `act` must end soon after its signal is aborted. */
  during(act: (signal: AbortSignal) => Promise<void>): void {
    const acting = act(this.#ending.signal);
    // `clear` throws the error of `act`: an early rejection must not end the process.
    acting.catch(() => undefined);
    this.#acts.push(acting);
  }

  /** Ends an experiment: aborts what `during` runs, stops programs and heartbeats, and deletes all objects. */
  async clear(): Promise<void> {
    this.#ending.abort();
    const acts = await Promise.allSettled(this.#acts);
    this.#acts = [];
    this.#ending = new AbortController();
    await this.heartbeats.stopAll();
    await Promise.all([...this.#programs.values()].map(stopProgram));
    this.#programs.clear();
    await this.#server.stopControllers();
    await this.#withoutFinalizers();
    for (const path of COLLECTIONS) await this.kube.remove(path);
    for (const { metadata } of await this.kube.list(SERVICES))
      if (metadata.name !== "kubernetes") await this.kube.remove(`${SERVICES}/${metadata.name}`);
    for (const act of acts) if (act.status === "rejected") throw act.reason;
  }

  /** Removes the finalizers of volumes, whose controllers no longer run. */
  async #withoutFinalizers(): Promise<void> {
    for (const path of WITH_FINALIZERS)
      for (const { metadata } of await this.kube.list(path))
        await this.kube.patch(`${path}/${metadata.name}`, { metadata: { finalizers: null } });
  }

  async close(): Promise<void> {
    await this.clear();
    this.kube.close();
    await this.#server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Reports whether the folder KUBEBUILDER_ASSETS has the program. */
export function hasProgram(name: string): boolean {
  return assets !== "" && existsSync(join(assets, name));
}

/** Returns the version of a program in KUBEBUILDER_ASSETS, such as `v1.36.3`. */
export function versionOf(name: string): string {
  const text = execFileSync(join(assets, name), ["--version"], { encoding: "utf8" });
  return /v\d[\w.+-]*/.exec(text)?.[0] ?? "unknown";
}
