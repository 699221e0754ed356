// A real etcd and kube-apiserver with infra/rbac, a Worker in workerd that writes there, and machines that report to it.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { mintToken } from "../../infra/local/admin.ts";
import { applyFile, type Cluster, workerToken, writeKubeconfig } from "../../infra/local/kubernetes.ts";
import { startRealApiserver } from "../../infra/local/real-apiserver.ts";
import { simulatedFacts, simulatedVitals } from "../../infra/local/simulated-facts.ts";
import { defaultConfiguration } from "../../node-shim/config/config.ts";
import { type MachineKey, makeMachineKey } from "../../node-shim/identity/machine-key.ts";
import { httpTransport } from "../../node-shim/worker-link/http-transport.ts";
import { reporter } from "../../node-shim/worker-link/reporter.ts";
import { enrol } from "../../node-shim/worker-link/requests.ts";
import { controllerManagerOf } from "../cluster/faults/cluster.ts";
import { adminOf, ROOT, temporaryFolder } from "../e2e/local-cluster.ts";
import { type OwnWorker, startOwnWorker } from "../e2e/own-worker.ts";
import { thisRun } from "../e2e/run-record.ts";

export interface SimulatedMachine {
  name: string;
  key: MachineKey;
  /** The phase that the Worker answers, or the reason for which it refuses. */
  report: () => Promise<string>;
}

type Wish = { rejoin: true } | { joinToken: string };

export interface RealDeployment {
  worker: OwnWorker;
  cluster: Cluster;
  core: CoreV1Api;
  kubeconfig: string;
  /** Enrols with a key of its own, by a token of its own or by the one that is given. */
  machine: (index: number, wish?: Wish) => Promise<SimulatedMachine>;
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
    machine: (index, wish) => enrolledMachine(worker, index, wish),
    uidOf: async (name) => (await core.readNode({ name })).metadata?.uid,
    async stop() {
      await worker.stop();
      manager?.kill("SIGKILL");
      await apiserver.stop();
      folder.remove();
    },
  };
}

async function enrolledMachine(
  { url, adminSecret }: OwnWorker,
  index: number,
  wish?: Wish,
): Promise<SimulatedMachine> {
  const name = `sim-${index}`;
  const token = { names: name, uses: 1, withoutFactsOnlyTaint: false };
  const joinToken =
    wish && "joinToken" in wish ? wish.joinToken : await mintToken(url, adminSecret, { ...token, ...wish });
  const { send, close } = httpTransport(url, 9000);
  const key = await makeMachineKey();
  thisRun().secret("machine key", String(key.jwk.d));
  thisRun().secret("join token", joinToken);
  const asking = { name, origin: url, joinToken, machineID: name, systemUUID: name };
  const enrolled = await enrol(send, key, asking);
  if (!enrolled.ok) throw new Error(JSON.stringify(enrolled));
  const { kid } = enrolled.value;
  const machineTime = () => new Date().toISOString();
  const post = reporter({ ...asking, key, kid, startId: "s", send, machineTime });
  const report = async () => {
    const reported = await post(simulatedFacts(index, defaultConfiguration()), simulatedVitals(index));
    close();
    if (reported.ok) return reported.value.phase;
    return reported.error.reason === "refused" ? reported.error.problem.reason : reported.error.reason;
  };
  return { name, key, report };
}
