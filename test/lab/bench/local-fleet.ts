// Starts the local cluster of `npm start` for benchmarks. Each part is a process: workerd, the apiserver (embedded, or
// a real one with KUBEBUILDER_ASSETS), and machines. Watches of the apiserver notice when a Node or a lease is as
// expected.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CoordinationV1Api, CoreV1Api, KubeConfig, makeInformer, type V1Node } from "@kubernetes/client-node";
import { mintToken } from "../../../infra/local/admin.ts";
import { startCluster } from "../../../infra/local/cluster.ts";
import { localParts, type Part, type Parts } from "../../../infra/local/parts.ts";
import { adminSecret, openState } from "../../../infra/local/settings.ts";
import { ROOT } from "./workerd.ts";

export interface LocalFleet {
  admin: KubeConfig;
  workerUrl: string;
  folder: string;
  parts: Parts;
  /** Returns the path of a file with a join token for these names. */
  joinTokenFile: (names: string, uses: number) => Promise<string>;
}

/** Runs `work` on a local cluster. `onEnd` is called with each part before that part is ended. */
export async function withLocalFleet<T>(
  work: (fleet: LocalFleet) => Promise<T>,
  onEnd: (part: Part, how: string) => void = () => undefined,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-bench-"));
  const parts = localParts(onEnd, false);
  try {
    const state = openState(folder, false);
    const flags = { state: folder, nodes: 0 };
    const place = {
      root: ROOT,
      folder,
      flags,
      state,
      parts,
      progress: () => undefined,
      confirm: () => Promise.resolve(),
    };
    const { kubeconfig } = await startCluster(place);
    const admin = new KubeConfig();
    admin.loadFromFile(kubeconfig);
    const workerUrl = `http://127.0.0.1:${state.workerPort}`;
    const joinTokenFile = async (names: string, uses: number) => {
      const wish = { names, uses, withoutFactsOnlyTaint: false };
      const file = join(folder, `token-${names.replace("*", "all")}`);
      writeFileSync(file, await mintToken(workerUrl, adminSecret(folder).secret, wish), { mode: 0o600 });
      return file;
    };
    return await work({ admin, workerUrl, folder, parts, joinTokenFile });
  } finally {
    await parts.stop();
    rmSync(folder, { recursive: true });
  }
}

/** Starts `count` machines of infra/local/simulate.ts in one process. */
export async function startMachines(fleet: LocalFleet, count: number): Promise<Part> {
  const state = join(fleet.folder, "machines");
  mkdirSync(state, { mode: 0o700 });
  const command = [process.execPath, join(ROOT, "infra/local/simulate.ts"), "--url", fleet.workerUrl];
  command.push("--state", state, "--nodes", String(count));
  command.push("--join-token-file", await fleet.joinTokenFile("sim-*", count));
  return fleet.parts.start("machines", command, join(fleet.folder, "machines.log"));
}

/** Calls `onNode` with every Node that exists, appears, or changes, until `stop` is called. */
export async function watchNodes(
  admin: KubeConfig,
  onNode: (node: V1Node) => void,
): Promise<{ stop: () => void }> {
  const api = admin.makeApiClient(CoreV1Api);
  const informer = makeInformer(admin, "/api/v1/nodes", () => api.listNode());
  informer.on("add", onNode);
  informer.on("update", onNode);
  let isStopped = false;
  // The watch is started again because it ends after half a minute without a change.
  informer.on("error", () => void (isStopped || informer.start()));
  await informer.start();
  return {
    stop: () => {
      isStopped = true;
      void informer.stop();
    },
  };
}

export const readyOf = (node: V1Node) =>
  node.status?.conditions?.find(({ type }) => type === "Ready")?.status ?? "";

/** Returns the renewal times of all leases by name, in milliseconds since 1970. */
export async function renewals(admin: KubeConfig): Promise<Map<string, number>> {
  const api = admin.makeApiClient(CoordinationV1Api);
  const { items } = await api.listNamespacedLease({ namespace: "kube-node-lease" });
  return new Map(
    items.map(({ metadata, spec }) => [metadata?.name ?? "", Date.parse(String(spec?.renewTime ?? ""))]),
  );
}

export async function nodesOf(admin: KubeConfig): Promise<V1Node[]> {
  return (await admin.makeApiClient(CoreV1Api).listNode()).items;
}

/** Repeats `isSo` until it returns true. Rejects after `withinMs`. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  everyMs: number,
  withinMs: number,
): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`${what}: not within ${withinMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
