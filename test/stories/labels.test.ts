// Tests rollcall's own marks on a Node: labels, roles, no room for pods. The next report restores them with one
// write; other writers' values stay.
import { describe, expect, it } from "vitest";
import { tickingMachine } from "../worker/support/kube-in-between.ts";
import { facts, kube } from "../worker/support/machine.ts";

const ROLE = "node-role.kubernetes.io/";
const NODES = "/api/v1/nodes";
const getNode = (name: string) => kube("GET", `${NODES}/${name}`);

type Ticking = ReturnType<typeof tickingMachine>;

async function labelsOf(name: string) {
  return (await getNode(name)).metadata?.labels ?? {};
}

/** The minutes without a report after which the Worker reads the Node again: longer than the lease duration. */
const AWAY_MINUTES = 6;

async function nextReport(machine: Ticking, minutes = 0) {
  machine.nowMs += 10_000 + minutes * 60_000;
  expect(await machine.report()).toMatchObject({ phase: "registered" });
  return machine.requests;
}

async function change(name: string, metadata: object, spec: object = {}) {
  const node = await getNode(name);
  const body = { ...node, metadata: { ...node.metadata, ...metadata }, spec: { ...node.spec, ...spec } };
  await kube("PUT", `${NODES}/${name}`, body);
}

const renewal = (name: string) =>
  `PUT /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
const patch = (name: string) => `PATCH ${NODES}/${name}/status`;

describe("the labels of a Node", () => {
  it("that is created → machine, deployment and role; a steady report is one renewal", async () => {
    const name = "labels-new";
    const machine = tickingMachine(name);
    machine.roles = ["edge"];
    await machine.report();
    expect(await labelsOf(name)).toMatchObject({
      "rollcall.dev/machine": "",
      "rollcall.dev/deployment": "rollcall",
      [`${ROLE}edge`]: "",
    });
    expect(await nextReport(machine)).toEqual([renewal(name)]);
  });

  it("that exists without them → with the next report, in one patch; a restarted shim changes nothing", async () => {
    const name = "labels-before";
    const machine = tickingMachine(name);
    await machine.report();
    const { labels, ...metadata } = (await getNode(name)).metadata!;
    const { "rollcall.dev/machine": _m, "rollcall.dev/deployment": _d, ...others } = labels!;
    await change(name, { ...metadata, labels: others });
    // An earlier Worker has stored the Node without the labels.
    const known = machine.records.get("node")!;
    machine.records.put("node", { ...known, node: await getNode(name) });
    machine.evict();
    const requests = await nextReport(machine);
    expect(requests.filter((request) => request.startsWith("PATCH"))).toEqual([patch(name)]);
    expect(await labelsOf(name)).toEqual(labels);
    expect(await nextReport(machine)).toEqual([renewal(name)]);
    await machine.report(undefined, "start-2");
    expect(await labelsOf(name)).toEqual(labels);
  });

  it("another writer removes one and changes another → restored at the next read", async () => {
    const name = "labels-removed";
    const machine = tickingMachine(name);
    await machine.report();
    const labels = await labelsOf(name);
    const { "rollcall.dev/machine": _, ...others } = labels;
    await change(name, { labels: { ...others, "rollcall.dev/deployment": "other" } });
    await nextReport(machine, AWAY_MINUTES);
    expect(await labelsOf(name)).toEqual(labels);
  });

  it("the deployment has another role → the old role is removed, other writers' roles stay", async () => {
    const name = "labels-role";
    const machine = tickingMachine(name);
    machine.roles = ["edge"];
    await machine.report();
    await change(name, { labels: { ...(await labelsOf(name)), [`${ROLE}theirs`]: "" } });
    await nextReport(machine, AWAY_MINUTES);
    machine.roles = ["shop"];
    expect(await nextReport(machine)).toEqual([renewal(name), patch(name)]);
    const roles = Object.keys(await labelsOf(name)).filter((key) => key.startsWith(ROLE));
    expect(roles.toSorted()).toEqual([`${ROLE}shop`, `${ROLE}theirs`]);
  });

  it("that another deployment hands over → its label has the new owner", async () => {
    const name = "labels-handed-over";
    const annotations = { "rollcall.dev/owner": "east", "rollcall.dev/adopt": "rollcall" };
    const metadata = { name, annotations, labels: { "rollcall.dev/deployment": "east" } };
    await kube("POST", NODES, { apiVersion: "v1", kind: "Node", metadata, spec: {} });
    await nextReport(tickingMachine(name));
    expect(await labelsOf(name)).toMatchObject({ "rollcall.dev/deployment": "rollcall" });
  });

  it.each<[given: string, roles: string[], expected: string[]]>([
    ["another role", ["gpu"], [`${ROLE}gpu`]],
    ["none", [], []],
  ])("its token gives %s → that instead of the deployment's", async (_, roles, expected) => {
    const name = `labels-token-${roles.length}`;
    const machine = tickingMachine(name);
    machine.roles = ["edge"];
    machine.grant = { roles };
    await machine.report();
    const labels = Object.keys(await labelsOf(name));
    expect(labels.filter((key) => key.startsWith(ROLE))).toEqual(expected);
  });

  it("its machine reports names of Object's properties → as all labels: set, changed, restored, removed", async () => {
    const name = "labels-object";
    const machine = tickingMachine(name);
    machine.grant = { labels: { site: "berlin" } };
    const { settings } = facts(name);
    const report = async (nodeLabels: Record<string, string>) => {
      machine.setFacts({ settings: { ...settings, nodeLabels } });
      const { phase, message } = await machine.report();
      expect([phase, message]).toEqual(["registered", undefined]);
      return labelsOf(name);
    };
    const first = { constructor: "a", toString: "b", valueOf: "c", rack: "d" };
    expect(await report(first)).toMatchObject({ ...first, site: "berlin" });
    expect(await nextReport(machine)).toEqual([renewal(name)]);
    const others = Object.entries(await labelsOf(name)).filter(([key]) => key !== "toString");
    await change(name, { labels: Object.fromEntries(others) });
    await nextReport(machine, AWAY_MINUTES);
    expect(await labelsOf(name)).toMatchObject(first);
    machine.nowMs += 10_000;
    const labels = await report({ constructor: "z", rack: "d" });
    expect(Object.entries(labels)).toEqual(expect.arrayContaining([["constructor", "z"]]));
    expect(Object.keys(labels)).not.toEqual(expect.arrayContaining(["toString"]));
    expect(Object.keys(labels)).not.toEqual(expect.arrayContaining(["valueOf"]));
  });

  it("its machine reports other values → left out, and named", async () => {
    const name = "labels-machine";
    const machine = tickingMachine(name);
    const { settings } = facts(name);
    const nodeLabels = {
      "rollcall.dev/machine": "no",
      "rollcall.dev/deployment": "x",
      "rollcall.dev/mine": "y",
    };
    machine.setFacts({ settings: { ...settings, nodeLabels } });
    const { message } = await machine.report();
    expect(message).toBe(
      "left out of its Node: label rollcall.dev/deployment, label rollcall.dev/machine, label rollcall.dev/mine",
    );
    const labels = await labelsOf(name);
    expect(labels).toMatchObject({ "rollcall.dev/machine": "", "rollcall.dev/deployment": "rollcall" });
    expect(labels).not.toHaveProperty(["rollcall.dev/mine"]);
  });
});

describe("room for pods", () => {
  const podsOf = async (name: string) => {
    const { capacity, allocatable } = (await getNode(name)).status ?? {};
    return { capacity: capacity?.["pods"], allocatable: allocatable?.["pods"] };
  };

  it("of a tainted Node → none, also after another writer removes the taint and the machine changes", async () => {
    const name = "pods-tainted";
    const machine = tickingMachine(name);
    await machine.report();
    expect(await podsOf(name)).toEqual({ capacity: "110", allocatable: "0" });
    await change(name, {}, { taints: [] });
    const { settings } = facts(name);
    machine.setFacts({ settings: { ...settings, maxPods: 20 } });
    await nextReport(machine, AWAY_MINUTES);
    expect((await getNode(name)).spec?.taints).toBeUndefined();
    expect(await podsOf(name)).toEqual({ capacity: "20", allocatable: "0" });
    expect(await nextReport(machine)).toEqual([renewal(name)]);
  });

  it("of a machine whose token allows it to omit the taint → the reported number", async () => {
    const name = "pods-untainted";
    const machine = tickingMachine(name);
    machine.grant = { withoutFactsOnlyTaint: true };
    const { settings } = facts(name);
    machine.setFacts({ settings: { ...settings, registerWithTaints: [] } });
    await machine.report();
    expect(await podsOf(name)).toEqual({ capacity: "110", allocatable: "110" });
  });
});
