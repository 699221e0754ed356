// Starts the apiserver with the machines' Nodes: a real one with etcd if KUBEBUILDER_ASSETS names its folder, else
// the embedded one. Each has infra/rbac and the Worker's own account.
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiRefusal, type KubeAdmin } from "../../../../infra/local/kube-admin.ts";
import { createApiserver } from "../../../../infra/local/apiserver/apiserver.ts";
import { openStore } from "../../../../infra/local/apiserver/store.ts";
import { afterTimeout } from "../../../../infra/local/apiserver/timer.ts";
import { createHttpsClient } from "../../../infra/local/https-fetch.ts";
import { allowWithoutFactsOnlyTaint, applyFile, workerToken } from "../../../../infra/local/kubernetes.ts";
import { startRealApiserver } from "../../../infra/local/started-apiserver.ts";
import { ROOT } from "../../bench/workerd.ts";

/** Sends an administrator's request and returns any answer. A PATCH is a strategic merge patch. */
export type Admin = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ status: number; body: unknown }>;

export interface Cluster {
  /** A description of the apiserver for the verdict. */
  title: string;
  fetch: (request: Request) => Promise<Response>;
  /** The URL for the Worker's requests. */
  url: string;
  admin: Admin;
  workersToken: string;
  /** Returns the number of bytes written to etcd since it started. null if there is no etcd. */
  putBytes: () => Promise<number | null>;
  stop: () => Promise<void>;
}

type Started = Omit<Cluster, "admin" | "workersToken"> & { adminToken: string };

export async function startCluster(): Promise<Cluster> {
  const assets = process.env["KUBEBUILDER_ASSETS"];
  const started = assets ? await startReal(assets) : startEmbedded();
  try {
    const asks = adminOf(started);
    const cluster = { url: started.url, ca: undefined, admin: asks };
    await untilApplied(() => applyFile(cluster, join(ROOT, "infra/rbac/rollcall.yaml")));
    await allowWithoutFactsOnlyTaint(asks, "rollcall");
    const workersToken = await workerToken(asks);
    return { ...started, admin: patching(started), workersToken };
  } catch (error) {
    await started.stop();
    throw error;
  }
}

function startEmbedded(): Started {
  const store = openStore(":memory:");
  const adminToken = randomBytes(24).toString("hex");
  const surroundings = { store, now: () => new Date(), uuid: randomUUID, random: Math.random };
  const { fetch } = createApiserver({ ...surroundings, after: afterTimeout, adminToken });
  return {
    title: "the embedded apiserver, which enforces no admission policy (KUBEBUILDER_ASSETS names a real one)",
    fetch,
    url: "https://127.0.0.1",
    adminToken,
    putBytes: () => Promise.resolve(null),
    stop: () => Promise.resolve(store.close()),
  };
}

async function startReal(assets: string): Promise<Started> {
  const dir = mkdtempSync(join(tmpdir(), "rollcall-hostile-"));
  const running = await startRealApiserver({ dir, assets });
  const client = createHttpsClient(running.caFile);
  const flag = "--listen-client-urls=";
  const etcd = running.commands.etcd.args.find((argument) => argument.startsWith(flag))?.slice(flag.length);
  return {
    title: "a real kube-apiserver with etcd",
    fetch: client.fetch,
    url: running.url,
    adminToken: running.adminToken,
    putBytes: async () => {
      const metrics = await (await fetch(`${etcd}/metrics`)).text();
      const [, bytes] = /^etcd_\w*mvcc_total_put_size_in_bytes (\S+)$/m.exec(metrics) ?? [];
      if (bytes === undefined) throw new Error("etcd does not say what it was given to keep");
      return Number(bytes);
    },
    stop: async () => {
      client.close();
      await running.stop();
      rmSync(dir, { recursive: true });
    },
  };
}

/** Returns an administrator's client like that of infra/local, whose PATCH is a server-side apply. */
function adminOf(cluster: Started): KubeAdmin {
  const ask = asking(cluster, "application/apply-patch+yaml");
  return async ({ method, path, body }) => {
    const response = await ask(method, path, body);
    if (!response.ok) throw new ApiRefusal(response.status, await response.text());
    return response.json();
  };
}

function patching(cluster: Started): Admin {
  const ask = asking(cluster, "application/strategic-merge-patch+json");
  return async (method, path, body) => {
    const response = await ask(method, path, body);
    return { status: response.status, body: await response.json() };
  };
}

/** Returns a function that sends requests as an administrator. `patchType` is the content type of a PATCH. */
function asking({ fetch, url, adminToken }: Started, patchType: string) {
  return (method: string, path: string, body: unknown): Promise<Response> => {
    const headers = {
      authorization: `Bearer ${adminToken}`,
      accept: "application/json",
      "content-type": method === "PATCH" ? patchType : "application/json",
    };
    return fetch(
      new Request(url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) }),
    );
  };
}

const APPLYING_MS = 30_000;

/** Repeats `apply` until it succeeds: a new cluster makes its namespaces a moment after its start. */
async function untilApplied(apply: () => Promise<void>): Promise<void> {
  const untilMs = performance.now() + APPLYING_MS;
  for (;;) {
    const fault: unknown = await apply().then(
      () => undefined,
      (error: unknown) => error,
    );
    if (fault === undefined) return;
    if (performance.now() > untilMs) throw fault;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
