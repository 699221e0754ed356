// A real etcd and kube-apiserver with infra/rbac, a Worker in workerd that writes there, and machines that report to it.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { applyFile, type Cluster, workerToken, writeKubeconfig } from "../../infra/local/kubernetes.ts";
import { startRealApiserver } from "../../infra/local/real-apiserver.ts";
import { controllerManagerOf } from "../cluster/faults/cluster.ts";
import { adminOf, ROOT, temporaryFolder } from "../e2e/local-cluster.ts";
import { type OwnWorker, startOwnWorker } from "../e2e/own-worker.ts";
import { type MachineWish, type SimulatedMachine, simulatedMachine } from "../e2e/simulated-machine.ts";

export interface RealDeployment {
  worker: OwnWorker;
  cluster: Cluster;
  core: CoreV1Api;
  kubeconfig: string;
  /** Enrols with a key of its own, by a token of its own or by the one that is given. */
  machine: (index: number, wish?: MachineWish) => Promise<SimulatedMachine>;
  uidOf: (name: string) => Promise<string | undefined>;
  stop: () => Promise<void>;
}

/** `assets`: KUBEBUILDER_ASSETS. With the controllers of namespaces and accounts, where there are any. */
export async function startRealDeployment(assets: string): Promise<RealDeployment> {
  const folder = temporaryFolder();
  const apiserver = await startRealApiserver({ dir: join(folder.path, "kube-apiserver"), assets });
  const kubeconfig = join(folder.path, "kubeconfig");
  const kubeCa = readFileSync(apiserver.caFile, "utf8");
  const cluster = writeKubeconfig(kubeconfig, apiserver.url, kubeCa, apiserver.adminToken);
  const controllers = [
    `--kubeconfig=${kubeconfig}`,
    "--controllers=namespace-controller,serviceaccount-controller",
    "--leader-elect=false",
    "--secure-port=0",
  ];
  const program = controllerManagerOf(assets);
  const manager = program === undefined ? undefined : spawn(program, controllers, { stdio: "ignore" });
  for (const file of ["rollcall", "flow-control"])
    await applyFile(cluster, join(ROOT, `infra/rbac/${file}.yaml`));
  const kubeToken = await workerToken(cluster.admin);
  const worker = await startOwnWorker(folder.path, { kubeUrl: apiserver.url, kubeCa, kubeToken });
  const core = adminOf(folder.path).makeApiClient(CoreV1Api);
  return {
    worker,
    cluster,
    core,
    kubeconfig,
    machine: (index, wish) => simulatedMachine(worker, index, wish),
    uidOf: async (name) => (await core.readNode({ name })).metadata?.uid,
    async stop() {
      await worker.stop();
      manager?.kill("SIGKILL");
      await apiserver.stop();
      folder.remove();
    },
  };
}
