// Tests which flags and earlier behaviours of the kubelet a machine's Node follows. Tests where the Node differs on
// purpose: docs/configuration.md, "Where it differs from the kubelet".
import { MOVED_LABELS, QUEUE_LABEL } from "../../shared/node/ownership.ts";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import { statusResponse, tickingMachine } from "../worker/support/kube-in-between.ts";
import { facts, kube } from "../worker/support/machine.ts";

const NODES = "/api/v1/nodes";
const getNode = (name: string) => kube("GET", `${NODES}/${name}`);
const renewal = (name: string) =>
  `PUT /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
const statusPatch = (name: string) => `PATCH ${NODES}/${name}/status`;
const conditionOf = ({ status }: Node, type: string) =>
  status?.conditions?.find((condition) => condition.type === type);

type Ticking = ReturnType<typeof tickingMachine>;

async function next(machine: Ticking, minutes = 0): Promise<string[]> {
  machine.nowMs += 10_000 + minutes * 60_000;
  await machine.report();
  return machine.requests;
}

/** The minutes without a report after which the Worker reads the Node again: longer than the lease duration. */
const AWAY_MINUTES = 6;

function configure(machine: Ticking, name: string, settings: Partial<Facts["settings"]>): void {
  machine.setFacts({ settings: { ...facts(name).settings, ...settings } });
}

/** Changes a Node or its status, as another writer does. */
async function change(name: string, path: "" | "/status", changed: (node: Node) => Node): Promise<void> {
  await kube("PUT", `${NODES}/${name}${path}`, changed(await getNode(name)));
}

afterEach(() => void vi.restoreAllMocks());

describe("--register-schedulable=false", () => {
  it("the Node is created cordoned; an uncordon stays, also after a restart", async () => {
    const name = "beside-cordoned";
    const machine = tickingMachine(name);
    configure(machine, name, { registerSchedulable: false });
    await machine.report();
    const created = await getNode(name);
    expect(created.spec?.unschedulable).toBe(true);
    expect(created.spec?.taints).toContainEqual({
      key: "node.kubernetes.io/unschedulable",
      effect: "NoSchedule",
    });
    await change(name, "", (node) => ({ ...node, spec: { ...node.spec, unschedulable: false } }));
    await next(machine, AWAY_MINUTES);
    await machine.report(undefined, "start-2");
    expect((await getNode(name)).spec?.unschedulable).toBeUndefined();
  });

  it("a token that allows no taints leaves that one out, since it follows from the cordon", async () => {
    const name = "beside-cordoned-token";
    const machine = tickingMachine(name);
    machine.grant = { mayTaint: [] };
    configure(machine, name, { registerSchedulable: false });
    const { message } = await machine.report();
    expect(message).toBeUndefined();
    const { spec } = await getNode(name);
    expect(spec?.unschedulable).toBe(true);
    expect(spec?.taints?.map(({ key }) => key)).toContain("node.kubernetes.io/unschedulable");
  });
});

describe("--network-unavailable", () => {
  it("the Node is created with the condition; a route controller's False stays", async () => {
    const name = "beside-network";
    const machine = tickingMachine(name);
    configure(machine, name, { networkUnavailable: true });
    await machine.report();
    expect(conditionOf(await getNode(name), "NetworkUnavailable")).toMatchObject({
      status: "True",
      reason: "NoRouteCreated",
      lastTransitionTime: "2026-02-03T04:05:06Z",
    });
    await change(name, "/status", ({ status, ...node }) => ({
      ...node,
      status: {
        ...status,
        conditions: status!.conditions!.map((condition) =>
          condition.type === "NetworkUnavailable"
            ? { ...condition, status: "False", reason: "RouteCreated" }
            : condition,
        ),
      },
    }));
    await next(machine, AWAY_MINUTES);
    await next(machine);
    await machine.report(undefined, "start-2");
    expect(conditionOf(await getNode(name), "NetworkUnavailable")).toMatchObject({
      status: "False",
      reason: "RouteCreated",
    });
  });

  it("without the flag there is no such condition", async () => {
    const name = "beside-no-network";
    await tickingMachine(name).report();
    expect(conditionOf(await getNode(name), "NetworkUnavailable")).toBeUndefined();
  });
});

describe("the pod range that the cluster assigns to a Node", () => {
  it("is stored when it is new, with a line of history; later a heartbeat is a single renewal again", async () => {
    const name = "beside-pod-cidr";
    const machine = tickingMachine(name);
    const noted: string[] = [];
    machine.journal.note = (kind, text) => void (kind === "address" && noted.push(text));
    await machine.report();
    await change(name, "", (node) => ({
      ...node,
      spec: { ...node.spec, podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24", "fd00:1::/64"] },
    }));
    await next(machine, AWAY_MINUTES);
    expect(noted).toEqual(["pod CIDR: 10.1.0.0/24,fd00:1::/64"]);
    const { writes } = machine.records;
    expect(await next(machine)).toEqual([renewal(name)]);
    expect(machine.records.writes).toBe(writes);
    machine.evict();
    await next(machine, AWAY_MINUTES);
    expect(noted).toHaveLength(1);
  });

  it("is in the answer to a write → the status is written once more, as a kubelet does", async () => {
    const name = "beside-pod-cidr-answer";
    const machine = tickingMachine(name);
    await machine.report();
    const known = machine.records.get("node")!;
    const spec = { ...known.node.spec, podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24"] };
    machine.records.put("node", { ...known, node: { ...known.node, spec } });
    expect(await next(machine)).toContain(statusPatch(name));
    expect(machine.records.get("podCIDRs")).toBe("10.1.0.0/24");
  });

  it("changes with a Node that was created again → history has both", async () => {
    const name = "beside-pod-cidr-new";
    const machine = tickingMachine(name);
    const noted: string[] = [];
    machine.journal.note = (kind, text) => void (kind === "address" && noted.push(text));
    machine.records.put("podCIDRs", "10.1.0.0/24");
    await machine.report();
    await next(machine);
    expect(machine.records.get("podCIDRs")).toBe("10.1.0.0/24");
    await change(name, "", (node) => ({
      ...node,
      spec: { ...node.spec, podCIDR: "10.2.0.0/24", podCIDRs: ["10.2.0.0/24"] },
    }));
    await next(machine, AWAY_MINUTES);
    expect(noted).toEqual(["pod CIDR: 10.1.0.0/24 → 10.2.0.0/24"]);
  });
});

it.each<[what: "lease" | "status", path: string, failures: number]>([
  ["status", "/status", 4],
  ["lease", "/leases/", 2],
])("repeated failures of the %s are counted, and each is a line of the log", async (what, path, failures) => {
  const name = `beside-failures-${what}`;
  const machine = tickingMachine(name);
  await machine.report();
  const log = vi.spyOn(console, "log").mockReturnValue();
  machine.inBetween = (method, asked) =>
    asked.includes(path) && method !== "GET" ? statusResponse(500, "InternalError") : undefined;
  await next(machine, AWAY_MINUTES);
  const lines = log.mock.calls
    .map(([line]) => (JSON.parse(line as string) as { message: string }).message)
    .filter((message) => message.includes("in a row"));
  expect(lines).toEqual(
    Array.from(
      { length: failures },
      (_, at) => `${what}: another update in a row has failed, ${at + 1} so far`,
    ),
  );
  expect(machine.memory.repeatedFailures).toEqual({ lease: 0, status: 0, [what]: failures });
});

describe("deliberate differences", () => {
  it("no kubelet's server, no declared features, its own version, no room for pods, no load balancer", async () => {
    const name = "beside-differs";
    await tickingMachine(name).report();
    const { metadata, spec, status } = await getNode(name);
    expect(status).toMatchObject({
      daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
      nodeInfo: { kubeletVersion: expect.stringMatching(/^v1\.36\.0-rollcall-v/) as string },
      allocatable: { cpu: "0", memory: "0", pods: "0" },
      capacity: { cpu: "4", memory: "8Gi", pods: "110" },
    });
    expect(status).not.toHaveProperty("declaredFeatures");
    expect(metadata?.labels).toMatchObject({
      "node.kubernetes.io/exclude-from-external-load-balancers": "true",
      "node.kubernetes.io/exclude-disruption": "",
      "failure-domain.beta.kubernetes.io/region": "rollcall.dev",
      "rollcall.dev/machine": "",
      "rollcall.dev/hostname": name,
      "rollcall.dev/os": "linux",
      "rollcall.dev/arch": "amd64",
    });
    for (const key of Object.values<readonly string[]>(MOVED_LABELS).flat())
      if (key !== QUEUE_LABEL) expect(metadata?.labels).not.toHaveProperty([key]);
    expect(spec?.taints).toContainEqual({ key: "rollcall.dev/facts-only", effect: "NoSchedule" });
  });

  it("NODE_UNSCHEDULABLE → created cordoned, and marked; an operator's uncordon stays", async () => {
    const name = "beside-unschedulable";
    const machine = tickingMachine(name);
    machine.isUnschedulable = true;
    await machine.report();
    const { metadata, spec } = await getNode(name);
    expect(spec?.unschedulable).toBe(true);
    expect(metadata?.annotations).toMatchObject({ "rollcall.dev/unschedulable": "true" });
    await change(name, "", (node) => {
      delete node.spec?.unschedulable;
      return node;
    });
    await next(machine);
    expect((await getNode(name)).spec).not.toHaveProperty("unschedulable");
  });

  it("NODE_HINTS → the role that topology hints ignore, while the Node runs no pods; off again → removed", async () => {
    const name = "beside-passed-over";
    const machine = tickingMachine(name);
    machine.isPassedOver = true;
    await machine.report();
    const role = "node-role.kubernetes.io/master";
    expect((await getNode(name)).metadata?.labels).toMatchObject({ [role]: "" });
    machine.isPassedOver = false;
    await next(machine);
    expect((await getNode(name)).metadata?.labels).not.toHaveProperty([role]);
  });

  it("capacity follows the hardware at runtime", async () => {
    const name = "beside-hugepages";
    const machine = tickingMachine(name);
    await machine.report();
    expect((await getNode(name)).status?.capacity).toMatchObject({ "hugepages-2Mi": "0" });
    const { machine: hardware } = facts(name);
    machine.setFacts({ machine: { ...hardware!, hugePages: [{ pageSizeKiB: 2048, pages: 512 }] } });
    await next(machine);
    const { capacity, allocatable } = (await getNode(name)).status!;
    expect(capacity).toMatchObject({ "hugepages-2Mi": "1Gi" });
    expect(allocatable).toMatchObject({ "hugepages-2Mi": "0" });
  });

  it("the lease is created with the Node, and only reports renew it", async () => {
    const name = "beside-lease";
    const machine = tickingMachine(name);
    await machine.report();
    const lease = "POST /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    expect(machine.requests).toEqual([`POST ${NODES}`, lease]);
  });
});
