// Tests watched Nodes through the whole Worker: changes by other writers are noticed and reverted without a report.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Node } from "../../shared/kubernetes/types.ts";
import { clusterObject } from "../../worker/env.ts";
import {
  enrolled,
  facts,
  HEALTHY,
  kube,
  operator,
  requestsAbout,
  shimOf,
} from "../worker/support/machine.ts";
import { whileWatched } from "../worker/support/watching.ts";

const MACHINE_LABEL = "rollcall.dev/machine";
const nodePath = (name: string) => `/api/v1/nodes/${name}`;
const leasePath = (name: string) => `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
const getNode = (name: string) => kube("GET", nodePath(name));
/**
 * The variables before the tests. The tests set another DEPLOYMENT than other files, which share the apiserver and
 * the cluster object.
 */
const before = { NODE_WATCH: env.NODE_WATCH, DEPLOYMENT: env.DEPLOYMENT };
/** Makes the cluster object lose its memory, even during a watch. */
const evictCluster = () =>
  runInDurableObject(clusterObject(env), (_, state) => state.abort("evicted")).catch(() => undefined);

describe("a watched Node", () => {
  beforeAll(() => void Object.assign(env, { NODE_WATCH: "on", DEPLOYMENT: "watched" }));
  // No timer of an earlier test ever ends. The eviction removes the cluster object's wait for such a timer.
  beforeEach(evictCluster);
  afterAll(async () => {
    Object.assign(env, before);
    await evictCluster();
    expect(await clusterObject(env).watchState()).toEqual({ state: null });
  });

  const isWatched = async (name: string) => (await clusterObject(env).standing(name)).isWatched;
  const phaseOf = async (name: string) => (await operator("GET", `/v1/nodes/${name}`)).body["phase"];

  async function watched(name: string) {
    const report = shimOf(await enrolled(name));
    const send = () => report(facts(name), HEALTHY);
    expect(await send()).toMatchObject({ ok: true, value: { phase: "registered" } });
    await send();
    await whileWatched(async () => expect(await isWatched(name)).toBe(true));
    await requestsAbout(name);
    return send;
  }

  async function change(name: string, how: (node: Node) => object): Promise<void> {
    const node = await getNode(name);
    await kube("PUT", `${nodePath(name)}?fieldManager=kubectl`, { ...node, ...how(node) });
  }

  const withoutLabel = ({ metadata }: Node) => {
    const { [MACHINE_LABEL]: _, ...labels } = metadata?.labels ?? {};
    return { metadata: { ...metadata, labels } };
  };
  const isLabelBack = (name: string) =>
    whileWatched(async () => expect((await getNode(name)).metadata?.labels).toHaveProperty(MACHINE_LABEL));

  it("without a change → a heartbeat is one request, and no row", async () => {
    const name = "watched-steady";
    const send = await watched(name);
    const rows = () =>
      runInDurableObject(env.NODES.getByName(name), (_, { storage }) =>
        storage.sql.exec("SELECT * FROM records").toArray(),
      );
    const rowsBefore = await rows();
    await send();
    expect(await requestsAbout(name)).toEqual([`PUT ${leasePath(name)}`]);
    expect(await rows()).toEqual(rowsBefore);
  });

  it("labelled and annotated by another program → no row, no request, and still watched", async () => {
    const [name, witness] = ["watched-annotated", "watched-witness"];
    await watched(name);
    await watched(witness);
    const rows = async () => [
      await runInDurableObject(env.NODES.getByName(name), (_, { storage }) =>
        storage.sql.exec("SELECT * FROM records").toArray(),
      ),
      await runInDurableObject(clusterObject(env), (_, { storage }) =>
        storage.sql.exec("SELECT * FROM watched_nodes WHERE name = ?", name).toArray(),
      ),
    ];
    const before = await rows();
    await change(name, ({ metadata }) => ({
      metadata: {
        ...metadata,
        labels: { ...metadata?.labels, team: "blue" },
        annotations: { ...metadata?.annotations, "load.example.com/cpu": "0.4" },
      },
    }));
    // The cluster object sees this later change after the other one.
    await change(witness, withoutLabel);
    await isLabelBack(witness);
    expect(await isWatched(name)).toBe(true);
    expect(await requestsAbout(name)).toEqual([]);
    expect(await rows()).toEqual(before);
  });

  it("cordoned → an event, without a report or a lease", async () => {
    const name = "watched-cordoned";
    await watched(name);
    await change(name, ({ spec }) => ({ spec: { ...spec, unschedulable: true } }));
    const asked: string[] = [];
    await whileWatched(async () => {
      asked.push(...(await requestsAbout(name)));
      expect(asked).toContain("POST /api/v1/namespaces/default/events");
    });
    expect(asked.filter((request) => !request.endsWith("/events"))).toEqual([]);
  });

  it("without one of our labels → restored, also if it was removed while the watch was off", async () => {
    const name = "watched-label";
    await watched(name);
    await change(name, withoutLabel);
    await isLabelBack(name);
    await whileWatched(async () => expect(await isWatched(name)).toBe(true));
    await evictCluster();
    await change(name, withoutLabel);
    // The cron trigger starts the watch in the same way.
    await clusterObject(env).watchNodes();
    await isLabelBack(name);
    expect((await requestsAbout(name)).filter((request) => request.startsWith("PUT"))).toEqual([]);
  });

  it("missing from the list, since its deployment label was removed → read, restored, and watched again", async () => {
    const name = "watched-off-list";
    await watched(name);
    await change(name, ({ metadata }) => {
      const { "rollcall.dev/deployment": _, ...labels } = metadata?.labels ?? {};
      return { metadata: { ...metadata, labels } };
    });
    await whileWatched(async () => {
      expect((await getNode(name)).metadata?.labels).toMatchObject({ "rollcall.dev/deployment": "watched" });
      expect(await isWatched(name)).toBe(true);
    });
    expect(await phaseOf(name)).toBe("registered");
  });

  it("set to Unknown by the node controller before its lease expires → Unknown until a report", async () => {
    const name = "watched-given-up";
    const send = await watched(name);
    const readyOf = ({ status }: Node) => status?.conditions?.find(({ type }) => type === "Ready")?.status;
    const node = await getNode(name);
    const conditions = node.status?.conditions?.map((condition) => ({ ...condition, status: "Unknown" }));
    const status = { ...node.status, conditions };
    await kube("PUT", `${nodePath(name)}/status?fieldManager=kube-controller-manager`, { ...node, status });
    await whileWatched(async () => {
      const { entries } = (await operator<{ entries: object[] }>("GET", `/v1/nodes/${name}/history`)).body;
      expect(JSON.stringify(entries)).toContain("kube-controller-manager set Ready: True → Unknown");
    });
    // The call resolves after all effects of the notice.
    await runInDurableObject(env.NODES.getByName(name), (object) => object.noticeNode(node));
    expect((await requestsAbout(name)).filter((request) => request.startsWith("PATCH"))).toEqual([]);
    expect(readyOf(await getNode(name))).toBe("Unknown");
    await send();
    expect(readyOf(await getNode(name))).toBe("True");
  });

  it("deleted → the phase shows it, without a report", async () => {
    const name = "watched-deleted";
    await watched(name);
    await kube("DELETE", nodePath(name));
    await whileWatched(async () => expect(await phaseOf(name)).toBe("node deleted"));
    expect(await isWatched(name)).toBe(false);
  });
});
