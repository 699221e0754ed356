// A real etcd and kube-apiserver, kube-controller-manager where there is one, and `npm start` behind a proxy in which
// a test can have the Worker's requests go wrong.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import { writeKubeconfig } from "../../../infra/local/kubernetes.ts";
import { startRealApiserver } from "../../../infra/local/real-apiserver.ts";
import { adminOf, type Start, startLocal, temporaryFolder } from "../../e2e/local-cluster.ts";
import { type Proxy, startProxy } from "./proxy.ts";
import { type Storage, storageOf } from "./storage.ts";

export interface RealCluster {
  /** Past the proxy. */
  admin: KubeConfig;
  proxy: Proxy;
  start: Start;
  /** Of `npm start`. */
  stateFolder: string;
  storage: Storage;
  stop: () => Promise<void>;
}

/** Fast, so that the tests are; a status is due with every second report. */
const CONFIGURATION = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nodeStatusUpdateFrequency: 1s
nodeStatusReportFrequency: 2s
nodeLeaseDurationSeconds: 4
`;

export function controllerManagerOf(assets: string): string | undefined {
  const program = join(assets, "kube-controller-manager");
  return existsSync(program) ? program : undefined;
}

/** `simulated`: so many machines beside this one. */
export async function startRealCluster(assets: string, simulated = 0): Promise<RealCluster> {
  const folder = temporaryFolder();
  const apiserver = await startRealApiserver({ dir: join(folder.path, "kube-apiserver"), assets });
  const ca = readFileSync(apiserver.caFile, "utf8");
  const direct = join(folder.path, "kubeconfig");
  writeKubeconfig(direct, apiserver.url, ca, apiserver.adminToken);
  const proxy = await startProxy(join(folder.path, "proxy"), apiserver.url, ca);
  const proxied = join(folder.path, "proxied");
  writeKubeconfig(proxied, proxy.url, proxy.ca, apiserver.adminToken);
  const configuration = join(folder.path, "kubelet.yaml");
  writeFileSync(configuration, CONFIGURATION);
  const manager = startControllerManager(assets, direct, simulated > 0 ? 15 : 6);
  const flags = [
    "--state",
    join(folder.path, "state"),
    "--kubeconfig",
    proxied,
    "--yes",
    "--config",
    configuration,
  ];
  const start = startLocal([...flags, "--nodes", String(simulated)]);
  const storage = storageOf(apiserver, join(folder.path, "kube-apiserver"));
  const stop = async () => {
    start.process.kill("SIGINT");
    await start.ended;
    manager?.kill("SIGKILL");
    await proxy.refuse();
    await storage.kill();
    folder.remove();
  };
  const stateFolder = join(folder.path, "state");
  return { admin: adminOf(folder.path), proxy, start, stateFolder, storage, stop };
}

/** `graceSeconds`: so long without a report is silence. A simulated machine reports every 9.4 to 9.8 s. */
function startControllerManager(
  assets: string,
  kubeconfig: string,
  graceSeconds: number,
): ChildProcess | undefined {
  const program = controllerManagerOf(assets);
  if (program === undefined) return undefined;
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    "--controllers=node-lifecycle-controller,daemonset-controller",
    "--leader-elect=false",
    `--node-monitor-grace-period=${graceSeconds}s`,
    "--node-monitor-period=1s",
    `--node-startup-grace-period=${graceSeconds}s`,
    "--secure-port=0",
  ];
  return spawn(program, flags, { stdio: "ignore" });
}
