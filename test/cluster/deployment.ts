// Starts a deployment on the shared server: infra/rbac, a Worker in workerd that writes to the server, and machines
// that report when a test calls them. Starts the controller that deletes namespaces, if the folder has it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { applyFile, workerToken, writeKubeconfig } from "../../infra/local/kubernetes.ts";
import { adminOf, ROOT, temporaryFolder } from "../e2e/local-cluster.ts";
import { type OwnWorker, startOwnWorker } from "../e2e/own-worker.ts";
import { type MachineWish, type SimulatedMachine, simulatedMachine } from "../e2e/simulated-machine.ts";
import { hasControllerManager, sharedServerInTurn } from "./servers.ts";

export interface RealDeployment {
  worker: OwnWorker;
  core: CoreV1Api;
  kubeconfig: string;
  /** Enrols a machine with a new key, by a new join token or by the given token. */
  machine: (index: number, wish?: MachineWish) => Promise<SimulatedMachine>;
  uidOf: (name: string) => Promise<string | undefined>;
  stop: () => Promise<void>;
}

/** Starts it, with these variables of the Worker in place of the defaults. */
export async function startDeployment(variables: Record<string, string> = {}): Promise<RealDeployment> {
  const server = await sharedServerInTurn();
  if (hasControllerManager)
    await server.startControllers({ controllers: ["namespace-controller"], flags: [] });
  const folder = temporaryFolder();
  const kubeconfig = join(folder.path, "kubeconfig");
  const kubeCa = readFileSync(server.caFile, "utf8");
  const cluster = writeKubeconfig(kubeconfig, server.url, kubeCa, server.adminToken);
  for (const file of ["rollcall", "flow-control"])
    await applyFile(cluster, join(ROOT, `infra/rbac/${file}.yaml`));
  const kubeToken = await workerToken(cluster.admin);
  const worker = await startOwnWorker(folder.path, { kubeUrl: server.url, kubeCa, kubeToken }, { variables });
  const core = adminOf(folder.path).makeApiClient(CoreV1Api);
  return {
    worker,
    core,
    kubeconfig,
    machine: (index, wish) => simulatedMachine(worker, index, wish),
    uidOf: async (name) => (await core.readNode({ name })).metadata?.uid,
    async stop() {
      await worker.stop();
      server.release();
      folder.remove();
    },
  };
}
