// Tests that a machine's removal deletes only the machine's own objects in the cluster, and who may remove a machine.
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Lease, Node } from "../../../shared/kubernetes/types.ts";
import { OWNER_ANNOTATION } from "../../../shared/node/ownership.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import type { Environment } from "../../../worker/env.ts";
import { kubeConnector } from "../../../worker/kube/connect.ts";
import type { RequestKind } from "../../../worker/kube/kube-client.ts";
import { Removal, type RemovalDependencies, type RemovedBy } from "../../../worker/machine/removal.ts";
import { setClock } from "../support/clock.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const NODE = "/api/v1/nodes/edge-1";
const LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/edge-1";
afterEach(() => {
  vi.restoreAllMocks();
});

const OPERATOR = { operator: "a test" };

const nodeOf = (more: Partial<NonNullable<Node["metadata"]>> = {}): Node => ({
  metadata: { name: "edge-1", uid: "node-1", annotations: { [OWNER_ANNOTATION]: "test" }, ...more },
});

/** Returns a lease of 40 seconds that this field manager renewed `agoMs` ago. */
function leaseOf(owner: string, manager = "rollcall.test", agoMs = 0): Lease {
  const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "edge-1", uid: owner }];
  const fieldsV1 = { "f:spec": { "f:renewTime": {} } };
  return {
    metadata: { name: "edge-1", uid: "lease-1", ownerReferences, managedFields: [{ manager, fieldsV1 }] },
    spec: {
      leaseDurationSeconds: 40,
      renewTime: new Date(NOW_MS - agoMs).toISOString().replace("Z", "000Z"),
    },
  };
}

const FAILURE = (code: number, more = {}) =>
  Response.json({ kind: "Status", status: "Failure", code, ...more }, { status: code });
const NO_NODE = () => FAILURE(404, { reason: "NotFound", details: { kind: "nodes", name: "edge-1" } });
const NO_LEASE = () => FAILURE(404, { reason: "NotFound", details: { kind: "leases", name: "edge-1" } });

/** Returns a function that makes clients as the machine's upkeep does. */
const connectorIn = (environment: Environment) => (mayAsk: (what: RequestKind) => boolean) =>
  kubeConnector(
    environment,
    { current: () => "t", instead: () => Promise.resolve(null) },
    () => Date.now(),
    mayAsk,
  );

interface Cluster {
  node?: Node | Response;
  lease?: Lease | Response;
  /** Returns the answer to each DELETE. */
  deletes?: () => Response;
}

interface Machine {
  /** The uid of the Node that the machine registered; null if it registered none. */
  knownUid?: string | null;
  /** The value of KUBE_URL; null if the variable is absent. */
  kubeUrl?: string | null;
  /** true if the enrolled machine is the one that leaves. */
  isOutdated?: boolean;
  isEnrolled?: boolean;
  isLeaving?: boolean;
  /** Erases the object's storage. */
  erase?: () => Promise<void>;
  /** true if MACHINE_REQUESTS is a valid number. */
  isConfigured?: boolean;
  unpinned?: { ok: true; value: number } | { ok: false; error: string };
}

function removalIn(cluster: Cluster, machine: Machine = {}) {
  const {
    knownUid = "node-1",
    kubeUrl = "https://kube.test",
    isOutdated = true,
    isEnrolled = true,
    isConfigured = true,
    isLeaving = false,
    erase,
  } = machine;
  const { unpinned = success(7) } = machine;
  const asked: string[] = [];
  const found: Record<string, Node | Lease | Response> = {
    [NODE]: cluster.node ?? NO_NODE(),
    [LEASE]: cluster.lease ?? NO_LEASE(),
  };
  const fetch = async (url: string, { method, body }: RequestInit) => {
    const { pathname } = new URL(url);
    const { preconditions } = JSON.parse((body as string | undefined) ?? "{}") as {
      preconditions?: { uid: string };
    };
    asked.push([method, pathname, ...(preconditions ? [preconditions.uid] : [])].join(" "));
    const answer = found[pathname]!;
    if (method === "GET") return answer instanceof Response ? answer.clone() : Response.json(answer);
    if (cluster.deletes) return cluster.deletes();
    found[pathname] = pathname === NODE ? NO_NODE() : NO_LEASE();
    return Response.json({ kind: "Status", metadata: {} });
  };
  const kept = new Map<string, unknown>([
    ...(isEnrolled ? [["enrolment", { generation: 3 }] as const] : []),
    ...(isLeaving ? [["isLeaving", true] as const] : []),
    ...(knownUid === null ? [] : [["node", { node: { metadata: { uid: knownUid } } }] as const]),
  ]);
  const done: string[] = [];
  const registry = { unpin: vi.fn(() => unpinned), leave: vi.fn(() => unpinned) };
  const outdate = vi.fn(() => isOutdated);
  const atLatest = vi.fn(() => Promise.resolve());
  const environment = {
    KUBE: { fetch },
    KUBE_URL: kubeUrl ?? undefined,
    DEPLOYMENT: "test",
  } as unknown as Environment;
  const removal = new Removal({
    env: environment,
    state: {
      records: {
        get: (key: string) => kept.get(key),
        put: (key: string, value: unknown) => void kept.set(key, value),
        remove: (key: string) => void kept.delete(key),
      },
      keys: { outdate },
      alarm: { atLatest },
    },
    upkeep: {
      finish: () => Promise.resolve(void done.push("tick finished")),
      mayRemove: () => true,
      publish: () => Promise.resolve(),
      spend: () => {
        if (!isConfigured) throw new Error("MACHINE_REQUESTS is none");
      },
      connector: connectorIn(environment),
      flush: (name: string) => Promise.resolve(void done.push(`events of ${name} sent`)),
      keepUnready: ({ reason }: { reason: string }) => Promise.resolve(void done.push(reason)),
    },
    registry: () => registry,
    offerTicket: () => "a ticket",
    lending: {
      withdraw: vi.fn(),
      end: (why: string) => Promise.resolve(void done.push(`sockets ended: ${why}`)),
    },
    index: {
      remove: () => Promise.resolve(done.push("the index is told") > 0),
      update: () => void done.push(`the index is told: ${String(kept.get("notRemoved"))}`),
    },
    ctx: {
      storage: { deleteAlarm: vi.fn(), deleteAll: erase ?? vi.fn(), sync: vi.fn() },
      abort: () => void done.push("erased"),
    },
  } as unknown as RemovalDependencies);
  return {
    removal,
    asked,
    done,
    registry,
    outdate,
    atLatest,
    isLeaving: () => kept.get("isLeaving") ?? false,
  };
}

const LOOK = [`GET ${NODE}`, `GET ${LEASE}`];
const BOTH = [...LOOK, `DELETE ${LEASE} lease-1`, `DELETE ${NODE} node-1`];

async function removed(cluster: Cluster, machine: Machine = {}, by: RemovedBy = OPERATOR) {
  setClock(NOW_MS);
  const { removal, ...seen } = removalIn(cluster, machine);
  const outcome = await removal.remove("edge-1", by);
  return { ...seen, outcome };
}

describe("a removal", () => {
  it.each<[string, Cluster, string[]]>([
    [
      "of a Node and lease of its own → both, by their uids, then looks again",
      { node: nodeOf(), lease: leaseOf("node-1") },
      [...BOTH, ...LOOK],
    ],
    ["of nothing → looks twice", {}, [...LOOK, ...LOOK]],
    [
      "of a lease without its Node → the lease",
      { lease: leaseOf("node-1") },
      [...LOOK, `DELETE ${LEASE} lease-1`, ...LOOK],
    ],
    ["of a Node without a lease → the Node", { node: nodeOf() }, [...LOOK, `DELETE ${NODE} node-1`, ...LOOK]],
    [
      "whose lease is another Node's → the Node alone",
      { node: nodeOf(), lease: leaseOf("node-9") },
      [...LOOK, `DELETE ${NODE} node-1`, ...LOOK],
    ],
    [
      "whose Node is gone, with another Node's lease → nothing",
      { lease: leaseOf("node-9") },
      [...LOOK, ...LOOK],
    ],
    [
      "of a newer Node of its own → that Node and its lease",
      { node: nodeOf({ uid: "node-2" }), lease: leaseOf("node-2") },
      [...LOOK, `DELETE ${LEASE} lease-1`, `DELETE ${NODE} node-2`, ...LOOK],
    ],
    [
      "of a newer Node of its own, beside the old one's lease → the Node, then the lease",
      { node: nodeOf({ uid: "node-2" }), lease: leaseOf("node-1") },
      [...LOOK, `DELETE ${NODE} node-2`, ...LOOK, `DELETE ${LEASE} lease-1`],
    ],
    [
      "of somebody else's Node → the lease that was its own",
      { node: nodeOf({ uid: "node-2", annotations: {} }), lease: leaseOf("node-1") },
      [...LOOK, `DELETE ${LEASE} lease-1`, ...LOOK],
    ],
    [
      "while somebody else keeps the Node alive → nothing",
      { node: nodeOf(), lease: leaseOf("node-1", "kubelet") },
      [...LOOK, ...LOOK],
    ],
    [
      "after somebody else has kept it alive → both",
      { node: nodeOf(), lease: leaseOf("node-1", "kubelet", 40_000) },
      [...BOTH, ...LOOK],
    ],
  ])("%s", async (_, cluster, requests) => {
    const { asked, outcome, done, isLeaving, atLatest } = await removed(cluster);
    expect(outcome).toEqual({ ok: true, value: { left: true } });
    expect(asked).toEqual(requests);
    expect(done).toEqual(["sockets ended: left", "tick finished", "events of edge-1 sent"]);
    expect(isLeaving()).toBe("forgotten");
    expect(atLatest).not.toHaveBeenCalled();
  });

  const NOT_REMOVED = { ok: false, error: { reason: "not-removed", ticket: "a ticket" } };

  it.each<[string, Cluster, string[]]>([
    ["the Node cannot be read", { node: FAILURE(500) }, [`GET ${NODE}`]],
    ["the Node's path is missing", { node: FAILURE(404, { reason: "NotFound" }) }, [`GET ${NODE}`]],
    ["the lease cannot be read", { node: nodeOf(), lease: FAILURE(500) }, LOOK],
    [
      "the lease cannot be deleted",
      { node: nodeOf(), lease: leaseOf("node-1"), deletes: () => FAILURE(403) },
      BOTH.slice(0, 3),
    ],
    [
      "the Node cannot be deleted",
      { node: nodeOf(), deletes: () => FAILURE(409) },
      [...LOOK, `DELETE ${NODE} node-1`],
    ],
  ])("%s → not removed, tried again in a while", async (_, cluster, requests) => {
    const { asked, outcome, isLeaving, atLatest } = await removed(cluster);
    expect(outcome).toEqual(NOT_REMOVED);
    expect(asked).toEqual(requests);
    expect(isLeaving()).toBe("forgotten");
    expect(atLatest).toHaveBeenCalledExactlyOnceWith(NOW_MS + 5 * 60_000);
  });

  it("the object is already gone at its DELETE → removed", async () => {
    const { outcome } = await removed({
      node: nodeOf(),
      lease: leaseOf("node-1"),
      deletes: () => FAILURE(404, { reason: "NotFound" }),
    });
    expect(outcome.ok).toBe(true);
  });

  it.each<[string, Machine, false | "forgotten"]>([
    ["of a machine that enrolled later → it stays", { isOutdated: false }, false],
    // An enrolment that arrives after the removal of its name must not count as a later enrolment.
    [
      "of a name whose object knows nobody → who enrols late is refused",
      { isOutdated: false, isEnrolled: false },
      "forgotten",
    ],
    [
      "of a name that nobody ever had, or another key has by now → nothing",
      { unpinned: failure("no") },
      false,
    ],
  ])("%s; no request", async (_, machine, leaves) => {
    const { asked, outcome, done, isLeaving } = await removed({ node: nodeOf() }, machine);
    expect(outcome).toEqual({ ok: true, value: { left: true } });
    expect([asked, done]).toEqual([[], []]);
    expect(isLeaving()).toBe(leaves);
  });

  it.each([[""], [null]])("without an apiserver (%j) → no request", async (kubeUrl) => {
    const never = await removed({ node: nodeOf() }, { kubeUrl, knownUid: null });
    expect([never.outcome.ok, never.asked]).toEqual([true, []]);
  });

  it("of a registered Node, without an apiserver now → fails; with one, but no known uid → requested", async () => {
    const once = await removed({ node: nodeOf() }, { kubeUrl: "" });
    expect(once.outcome).toEqual(NOT_REMOVED);
    const first = await removed({ node: nodeOf() }, { knownUid: null });
    expect(first.asked).toContain(`DELETE ${NODE} node-1`);
  });

  it("of a machine without a Node, with a lease without an owner → the lease stays", async () => {
    const { ownerReferences: _, ...metadata } = leaseOf("").metadata!;
    const { asked } = await removed({ lease: { ...leaseOf(""), metadata } }, { knownUid: null });
    expect(asked).toEqual([...LOOK, ...LOOK]);
  });

  it("by an operator → unpinned with the operator's name; by the machine → with its pin and key", async () => {
    const operator = await removed({});
    expect(operator.registry.unpin).toHaveBeenCalledExactlyOnceWith("edge-1", "machine.forget", "a test");
    expect(operator.registry.leave).not.toHaveBeenCalled();
    expect(operator.outdate).toHaveBeenCalledExactlyOnceWith(7);
    const machine = await removed({}, {}, { thumbprint: "a" });
    expect(machine.registry.leave).toHaveBeenCalledExactlyOnceWith("edge-1", 3, "a");
    expect(machine.registry.unpin).not.toHaveBeenCalled();
  });
});

describe("the log", () => {
  const THE_MACHINE = { thumbprint: "a" };
  it.each<[string, RemovedBy, Cluster, string]>([
    ["an operator forgets it", OPERATOR, {}, "forgotten by an operator"],
    [
      "an operator forgets it, and the apiserver fails",
      OPERATOR,
      { node: FAILURE(500) },
      "not forgotten yet",
    ],
    ["it leaves", THE_MACHINE, {}, "left"],
    ["it leaves, and the apiserver fails", THE_MACHINE, { node: FAILURE(500) }, "has not left yet"],
  ])("of a machine: %s", async (_, by, cluster, message) => {
    const log = vi.spyOn(console, "log").mockReturnValue();
    await removed(cluster, {}, by);
    const [line] = log.mock.lastCall as [string];
    expect(JSON.parse(line)).toMatchObject({ node: "edge-1", message });
  });
});

describe("an alarm that completes a removal", () => {
  it.each<[string, Cluster, Machine, string[]]>([
    ["nothing is left → the object forgets", {}, {}, ["the index is told", "erased"]],
    [
      "the apiserver fails → tried again in a while",
      { node: FAILURE(500) },
      {},
      ["the index is told: apiserver refuses", "MachineRemoved"],
    ],
    ["a variable cannot be read → tried again in a while", {}, { isConfigured: false }, []],
    [
      "a finalizer keeps the Node → Ready Unknown, and the object forgets",
      {
        node: nodeOf({ deletionTimestamp: new Date(NOW_MS).toISOString() }),
        deletes: () => Response.json(nodeOf()),
      },
      {},
      ["MachineRemoved", "the index is told", "erased"],
    ],
  ])("%s", async (_, cluster, machine, after) => {
    setClock(NOW_MS);
    vi.spyOn(console, "error").mockReturnValue(undefined);
    const { removal, atLatest, done } = removalIn(cluster, { ...machine, isLeaving: true });
    await removal.resume("edge-1");
    expect(done).toEqual(["sockets ended: left", ...after]);
    expect(atLatest.mock.calls).toEqual(after.includes("erased") ? [] : [[NOW_MS + 5 * 60_000]]);
  });
});

describe("an enrolment", () => {
  it("waits for a removal in progress, also for one that fails", async () => {
    for (const end of [() => Promise.resolve(), () => Promise.reject(new Error("evicted"))]) {
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
      const order: string[] = [];
      const erase = async () => {
        await begun;
        order.push("removed");
        await end();
      };
      const { removal } = removalIn({}, { isLeaving: true, erase });
      const under = removal.resume("edge-1");
      const waits = removal.finished().then(() => order.push("enrolled"));
      begin();
      await Promise.all([under.catch(() => undefined), waits]);
      expect(order).toEqual(["removed", "enrolled"]);
    }
  });

  it("without a removal does not wait", async () => {
    await expect(removalIn({}).removal.finished()).resolves.toBeUndefined();
  });
});

it.each<[string, RemovedBy, boolean, Result<unknown, unknown>, number]>([
  ["a machine that has requests left", { thumbprint: "k" }, true, success({ left: true }), 4],
  [
    "a machine that has overdrawn them",
    { thumbprint: "k" },
    false,
    failure({ reason: "rate-limited", retryAfterSeconds: 60 }),
    0,
  ],
  ["an operator, of such a machine", { operator: "admin secret" }, false, success({ left: true }), 4],
])("%s → counted and asked, or asked to wait", async (_, by, mayRemove, outcome, requests) => {
  const [spend, atLatest, fetch] = [vi.fn(), vi.fn(), vi.fn()];
  const missing = {
    kind: "Status",
    reason: "NotFound",
    code: 404,
    details: { kind: "nodes", name: "edge-1" },
  };
  fetch.mockImplementation(() => Promise.resolve(Response.json(missing, { status: 404 })));
  const records = { get: () => undefined, put: vi.fn(), remove: vi.fn() };
  const environment = { ...env, KUBE: { fetch } as unknown as Fetcher };
  const connector = connectorIn(environment);
  const removal = new Removal({
    env: environment,
    state: { records, keys: { outdate: () => true }, alarm: { atLatest } } as never,
    upkeep: {
      finish: vi.fn(),
      flush: vi.fn(),
      publish: vi.fn(),
      mayRemove: () => mayRemove,
      spend,
      connector,
    } as never,
    registry: () => ({ leave: async () => success(1), unpin: async () => success(1) }) as never,
    offerTicket: () => "t",
    lending: { withdraw: vi.fn(), end: vi.fn() },
    ctx: {} as never,
    index: {} as never,
  });
  expect(await removal.remove("edge-1", by)).toEqual(outcome);
  expect([fetch.mock.calls.length, spend.mock.calls.length]).toEqual([requests, requests]);
  expect(atLatest).not.toHaveBeenCalled();
  expect(records.put.mock.calls.length > 0).toBe(requests > 0);
});
