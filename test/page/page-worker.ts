// Starts the Worker that serves the page to a test, in workerd. The test controls its machines' reports and faults, or
// fills the fleet index with made-up machines.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startApiserver } from "../../infra/local/apiserver/serve.ts";
import { mintToken } from "../../infra/local/admin.ts";
import { tokenAdmin } from "../../infra/local/kube-admin.ts";
import { ROOT } from "../e2e/local-cluster.ts";
import { randomSecret, sha256 } from "../e2e/local-worker.ts";
import { type OwnCluster, type Rollcall, startOwnWorker, workerAt } from "../e2e/own-worker.ts";
import { BEAT_MS, type PageMachines, pageMachines } from "./page-machines.ts";

/** The Worker's own entry, with /fill and /transitions in addition (test/worker/support/filled-index-entry.ts). */
const ENTRY = join(ROOT, "test/worker/support/filled-index-entry.ts");
const AT_ONCE = 5000;
/** The grace periods are an hour, so that a Node becomes Unknown only when a test demands it. */
const NODE_LIFECYCLE = { monitorGracePeriodMs: 3600_000, startupGracePeriodMs: 3600_000 };

/** The access to a Worker of another process, which that process sends as JSON. */
export interface PageAccess {
  /** The origin of the Worker, which serves the page. */
  url: string;
  adminSecret: string;
  /** The secret of an operator with the role view. */
  viewSecret: string;
}

/** The access to a Worker that has an apiserver, for machines that join. */
export interface ClusterAccess extends PageAccess {
  joinToken: string;
  cluster: OwnCluster;
}

export interface Started<T> {
  access: T;
  stop: () => Promise<void>;
}

/** Starts a Worker whose files are all in `folder`. */
export async function startPageWorker(folder: string, cluster?: OwnCluster): Promise<Started<PageAccess>> {
  const viewSecret = randomSecret();
  const { url, adminSecret, stop } = await startOwnWorker(folder, cluster, {
    entry: ENTRY,
    variables: { VIEW_SECRET_SHA256: sha256(viewSecret) },
  });
  return { access: { url, adminSecret, viewSecret }, stop };
}

export async function startClusterWorker(folder: string): Promise<Started<ClusterAccess>> {
  const dir = join(folder, "cluster");
  const apiserver = await startApiserver({ dir, port: 0, nodeLifecycle: NODE_LIFECYCLE });
  const cluster = {
    kubeUrl: apiserver.url,
    kubeCa: readFileSync(apiserver.caFile, "utf8"),
    kubeToken: apiserver.adminToken,
  };
  const { access, stop } = await startPageWorker(folder, cluster);
  const wish = { names: "*", uses: 1000, withoutFactsOnlyTaint: false };
  const joinToken = await mintToken(access.url, access.adminSecret, wish);
  return {
    access: { ...access, joinToken, cluster },
    async stop() {
      await stop();
      await apiserver.stop();
    },
  };
}

export interface PageWorker extends PageAccess, PageMachines {
  rollcall: Rollcall;
  /** Makes the machine's memory short, or sufficient again. */
  pressure: (name: string, isUnder: boolean) => Promise<void>;
  /** Deletes the machine's Node, as another writer would. */
  deleteNode: (name: string) => Promise<void>;
}

/** Returns the Worker, and machines of the caller's own. */
export function pageWorker({ joinToken, cluster, ...access }: ClusterAccess, beatMs = BEAT_MS): PageWorker {
  const admin = tokenAdmin(cluster.kubeUrl, cluster.kubeCa ?? "", cluster.kubeToken);
  const machines = pageMachines({
    origin: access.url,
    joinToken,
    beatMs,
    // The Node gets the conditions that the node lifecycle controller sets.
    async nodeIsLost(name) {
      const lastTransitionTime = `${new Date().toISOString().slice(0, 19)}Z`;
      const gone = { status: "Unknown", reason: "NodeStatusUnknown", lastTransitionTime };
      const message = "Kubelet stopped posting node status.";
      const types = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];
      const conditions = types.map((type) => ({ type, ...gone, message }));
      const body = { apiVersion: "v1", kind: "Node", metadata: { name }, status: { conditions } };
      const query = "fieldManager=kube-controller-manager&force=true";
      await admin({ method: "PATCH", path: `/api/v1/nodes/${name}/status?${query}`, body });
    },
  });
  return {
    ...access,
    ...machines,
    rollcall: workerAt(access.url, access.adminSecret).rollcall,
    pressure: (name, isUnder) => machines.fault(name, isUnder ? "memory pressure" : undefined),
    async deleteNode(name) {
      await admin({ method: "DELETE", path: `/api/v1/nodes/${name}` });
    },
  };
}

export interface MadeUpFleet {
  /**
   * Fills the fleet index with machines named machine-000000 …, every fiftieth of which is silent. The machines
   * have no node objects.
   */
  fill: (count: number) => Promise<void>;
  /** Changes `count` machines that were not changed before: in turns to silent, and to ready. */
  change: (count: number) => Promise<void>;
}

export function madeUpFleet({ url }: PageAccess): MadeUpFleet {
  let [filled, changed] = [0, 0];
  return {
    async fill(count) {
      if (filled === count) return;
      for (let from = 0; from < count; from += AT_ONCE)
        await done(`${url}/fill/${from}/${Math.min(from + AT_ONCE, count)}/${count}`);
      filled = count;
    },
    async change(count) {
      await done(`${url}/transitions/${changed}/${changed + count}/${filled}`);
      changed += count;
    },
  };
}

async function done(url: string): Promise<void> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} → ${response.status}: ${await response.text()}`);
}
