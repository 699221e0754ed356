// Measures the time of other clients' requests while the Worker's account floods the apiserver. Measures with
// infra/rbac/flow-control.yaml and without it, in turns, on a real etcd and kube-apiserver.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createHttpsClient } from "../../infra/local/https-fetch.ts";
import { tokenAdmin } from "../../../infra/local/kube-admin.ts";
import { applyFile, type Cluster, workerToken } from "../../../infra/local/kubernetes.ts";
import { startRealApiserver } from "../../infra/local/started-apiserver.ts";
import type { Benchmark, Progress, Round } from "./benchmark.ts";
import { once } from "./once.ts";
import { ROOT } from "./workerd.ts";

const ROUNDS = 3;
const CONNECTIONS = 400;
/** Milliseconds until the flood's connections are open, and until its last requests are answered. */
const SETTLE_MS = 4000;
const MEASURED_MS = 8000;
const POLL_MS = 100;

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1";
const owned = (name: string) => ({ name, annotations: { "rollcall.dev/owner": "rollcall" } });
const taints = [{ key: "rollcall.dev/facts-only", effect: "NoSchedule" }];

interface Flooded {
  others: Round[];
  leases: Round[];
}

/** Milliseconds that a request takes: a request of another client, and a lease renewal of the Worker. */
interface Times {
  others: number;
  leases: number;
}

interface Clients {
  cluster: Cluster;
  /** Sends a request as one of the accounts. Throws unless the answer is 2xx. */
  ask: (as: "worker" | "other" | "admin", method: string, path: string, body?: object) => Promise<Answer>;
  /** Runs the flood during `work`, and some seconds before it. */
  duringFlood: <T>(work: () => Promise<T>) => Promise<T>;
}

interface Answer {
  body: { metadata: { uid?: string; resourceVersion?: string } };
  level: string;
}

const flooded = once((progress: Progress) =>
  withClients(async (clients) => {
    await makeObjects(clients);
    const rounds: Flooded = { others: [], leases: [] };
    for (let round = 0; round < ROUNDS; round++) {
      progress(`${round + 1} of ${ROUNDS} rounds`);
      await withLevels(clients);
      const ours = await clients.duringFlood(() => timesOf(clients));
      await withoutLevels(clients);
      const yardstick = await clients.duringFlood(() => timesOf(clients));
      rounds.others.push({ ours: ours.others, yardstick: yardstick.others });
      rounds.leases.push({ ours: ours.leases, yardstick: yardstick.leases });
    }
    return rounds;
  }),
);

const budget = { unit: "ms", against: "no levels", budget: 0.3 } as const;
export const floodBenchmarks: readonly Benchmark[] = [
  {
    ...budget,
    name: "flood-others",
    what: `time per request of another account, during ${CONNECTIONS} simultaneous status writes`,
    measure: async (progress) => (await flooded(progress)).others,
  },
  {
    ...budget,
    name: "flood-leases",
    what: `time to read and renew a lease, during ${CONNECTIONS} simultaneous status writes`,
    measure: async (progress) => (await flooded(progress)).leases,
  },
];

async function withClients<T>(work: (clients: Clients) => Promise<T>): Promise<T> {
  const assets = process.env["KUBEBUILDER_ASSETS"];
  if (!assets) throw new Error("a real kube-apiserver takes KUBEBUILDER_ASSETS");
  const folder = mkdtempSync(join(tmpdir(), "rollcall-bench-"));
  const { url, caFile, adminToken, stop } = await startRealApiserver({ dir: folder, assets });
  const client = createHttpsClient(caFile);
  try {
    const ca = readFileSync(caFile, "utf8");
    const cluster = { url, ca, admin: tokenAdmin(url, ca, adminToken) };
    await applyFile(cluster, join(ROOT, "infra/rbac/rollcall.yaml"));
    const tokens = {
      admin: adminToken,
      worker: await workerToken(cluster.admin),
      other: await otherToken(cluster),
    };
    const tokenFile = join(folder, "worker-token");
    writeFileSync(tokenFile, tokens.worker, { mode: 0o600 });
    const ask: Clients["ask"] = async (as, method, path, body) => {
      const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
      const headers = { authorization: `Bearer ${tokens[as]}`, "content-type": type };
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const response = await client.fetch(new Request(url + path, init));
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
      const level = response.headers.get("x-kubernetes-pf-prioritylevel-uid") ?? "";
      return { body: JSON.parse(text) as Answer["body"], level };
    };
    const sender = [
      join(import.meta.dirname, "flood-sender.ts"),
      url,
      caFile,
      tokenFile,
      String(CONNECTIONS),
    ];
    const duringFlood: Clients["duringFlood"] = async (during) => {
      const flood = spawn(process.execPath, sender, { stdio: "ignore" });
      const ended = new Promise((resolve) => flood.once("exit", resolve));
      try {
        await wait(SETTLE_MS);
        return await during();
      } finally {
        flood.kill();
        await ended;
        await wait(SETTLE_MS);
      }
    };
    return await work({ cluster, ask, duringFlood });
  } finally {
    client.close();
    await stop();
    rmSync(folder, { recursive: true });
  }
}

/**
 * Returns the token of an account that has all rights and no priority level of its own, like operators and
 * controllers.
 */
async function otherToken({ admin }: Cluster): Promise<string> {
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  await admin({ method: "POST", path: accounts, body: { metadata: { name: "other" } } });
  const path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" };
  const subjects = [{ kind: "ServiceAccount", name: "other", namespace: "default" }];
  await admin({ method: "POST", path, body: { metadata: { name: "other" }, roleRef, subjects } });
  const asked = { method: "POST", path: `${accounts}/other/token`, body: { spec: {} } } as const;
  return ((await admin(asked)) as { status: { token: string } }).status.token;
}

async function makeObjects({ ask }: Clients): Promise<void> {
  // The apiserver knows the new roles a moment later.
  await untilTrue(() => ask("worker", "GET", "/api/v1/nodes/none").then(() => true, isNotFound));
  await untilTrue(() => ask("other", "GET", "/api/v1/nodes/none").then(() => true, isNotFound));
  for (let node = 0; node < 8; node++)
    await ask("worker", "POST", "/api/v1/nodes", { metadata: owned(`flood-${node}`), spec: { taints } });
  await ask("other", "POST", "/api/v1/nodes", { metadata: { name: "quiet" } });
  await untilTrue(() => ask("worker", "GET", `${LEASES}/none`).then(() => true, isNotFound));
  await ask("worker", "POST", LEASES, { metadata: owned("flood-0"), spec: { holderIdentity: "flood-0" } });
}

const isNotFound = (error: unknown) => String(error).includes("NotFound");

async function withLevels({ cluster, ask }: Clients): Promise<void> {
  await applyFile(cluster, join(ROOT, "infra/rbac/flow-control.yaml"));
  const { body } = await ask("admin", "GET", `${FLOWS}/prioritylevelconfigurations/rollcall`);
  await untilTrue(
    async () => (await ask("worker", "GET", "/api/v1/nodes/flood-0")).level === body.metadata.uid,
  );
}

async function withoutLevels({ ask }: Clients): Promise<void> {
  const { body } = await ask("admin", "GET", `${FLOWS}/prioritylevelconfigurations/rollcall`);
  for (const name of ["rollcall", "rollcall-leases"])
    await ask("admin", "DELETE", `${FLOWS}/flowschemas/${name}`);
  await untilTrue(
    async () => (await ask("worker", "GET", "/api/v1/nodes/flood-0")).level !== body.metadata.uid,
  );
}

async function untilTrue(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await wait(POLL_MS);
}

/** Measures requests one after the other, of each kind on a connection of its own. */
async function timesOf({ ask }: Clients): Promise<Times> {
  const endMs = performance.now() + MEASURED_MS;
  const perRequest = async (requests: (turn: number) => Promise<number>) => {
    const startMs = performance.now();
    let count = 0;
    for (let turn = 0; performance.now() < endMs; turn++) count += await requests(turn);
    return (performance.now() - startMs) / count;
  };
  const quiet = "/api/v1/nodes/quiet";
  const [others, leases] = await Promise.all([
    perRequest(async (turn) => {
      await ask("other", "GET", quiet);
      await ask("other", "PATCH", quiet, { metadata: { annotations: { turn: String(turn) } } });
      return 2;
    }),
    perRequest(async () => {
      const { body } = await ask("worker", "GET", `${LEASES}/flood-0`);
      await ask("worker", "PUT", `${LEASES}/flood-0`, body);
      return 2;
    }),
  ]);
  return { others, leases };
}
