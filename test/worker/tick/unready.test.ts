// Tests the write of Ready Unknown between reports: its requests, the Node that results, and what is stored.
import { beforeAll, describe, expect, it, test } from "vitest";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { UNREADY } from "../../../shared/fleet/unready.ts";
import { writeUnready } from "../../../worker/tick/unready.ts";
import { statusResponse } from "../support/kube-in-between.ts";
import { type Kept, SteppingMachine } from "../support/stepping-machine.ts";

const REVOKED = UNREADY.revoked;
const [PATCH, GET] = ["PATCH status", "GET Node"];

/** A machine whose Node is Ready, and whose object is in memory. */
let ready: Kept;
beforeAll(async () => {
  const machine = new SteppingMachine();
  await machine.report();
  machine.nowMs += 10_000;
  await machine.report();
  machine.nowMs += 10_000;
  machine.take();
  ready = machine.keep();
});

function written(machine: SteppingMachine, unready = REVOKED) {
  const { client, ...context } = machine.context();
  const { nodeVersion } = machine.memory;
  return writeUnready({ ...context, nodeVersion, client: () => client(2000) }, unready);
}

const conditionsOf = (node: Node | undefined) => node?.status?.conditions ?? [];
const readyOf = ({ apiserver }: SteppingMachine) =>
  conditionsOf(apiserver.node).find(({ type }) => type === "Ready");

/** Changes the Node as another writer does. */
function changed(machine: SteppingMachine, change: (node: Node) => void): void {
  const node = structuredClone(machine.apiserver.node!);
  change(node);
  node.metadata!.resourceVersion = `${Number(node.metadata!.resourceVersion) + 1}`;
  machine.apiserver.node = node;
}
const setReady = (machine: SteppingMachine, status: string, reason: string) =>
  changed(machine, (node) =>
    Object.assign(
      conditionsOf(node).find(({ type }) => type === "Ready")!,
      { status, reason },
    ),
  );

describe("Ready Unknown", () => {
  const nothing = () => undefined;
  const evicted = (machine: SteppingMachine) => machine.evict();
  const forPods = (machine: SteppingMachine) => {
    machine.grant.withoutFactsOnlyTaint = true;
    delete machine.apiserver.node!.spec!.taints;
    const known = machine.records.get("node")!;
    machine.records.put("node", { ...known, node: { ...known.node, spec: {} } });
  };
  test.each<
    [
      situation: string,
      before: (machine: SteppingMachine) => void,
      kind: string,
      asked: string[],
      reason: string | undefined,
    ]
  >([
    ["of a Ready Node → one request", nothing, "done", [PATCH], "KeyRevoked"],
    ["after an eviction → one request", evicted, "done", [PATCH], "KeyRevoked"],
    [
      "of a Node that another writer has cordoned → read, and written",
      (machine) => changed(machine, (node) => Object.assign(node.spec!, { unschedulable: true })),
      "done",
      [PATCH, GET, PATCH],
      "KeyRevoked",
    ],
    [
      "of a Node with another writer's Unknown of a silence → only the reason changes",
      (machine) => setReady(machine, "Unknown", "NodeStatusUnknown"),
      "done",
      [PATCH, GET, PATCH],
      "KeyRevoked",
    ],
    [
      "that an unanswered attempt has written → read, and not written again",
      (machine) => setReady(machine, "Unknown", "KeyRevoked"),
      "done",
      [PATCH, GET],
      "KeyRevoked",
    ],
    [
      "of a Node with another owner → nothing is written",
      (machine) => changed(machine, (node) => Object.assign(node.metadata!, { annotations: {} })),
      "no Node",
      [PATCH, GET],
      "KubeletReady",
    ],
    [
      "of a deleted Node → nothing is written",
      (machine) => (machine.apiserver.node = undefined),
      "no Node",
      [PATCH],
      undefined,
    ],
    [
      "of a machine without a registered Node → no request",
      ({ records }) => records.put("registration", { startId: "start-1", phase: "name taken" }),
      "no Node",
      [],
      "KubeletReady",
    ],
    ["of a Node that runs pods and is Ready → no request", forPods, "waits", [], "KubeletReady"],
    [
      "of a Node that runs pods, once the node controller has set Unknown → written",
      (machine) => {
        setReady(machine, "Unknown", "NodeStatusUnknown");
        machine.records.put("node", { ...machine.records.get("node")!, node: machine.apiserver.node! });
        machine.memory.nodeVersion = machine.apiserver.node!.metadata!.resourceVersion;
        forPods(machine);
      },
      "done",
      [PATCH],
      "KeyRevoked",
    ],
    [
      "while the apiserver fails → failed",
      (machine) => (machine.inBetween = () => statusResponse(500, "InternalError")),
      "failed",
      [PATCH],
      "KubeletReady",
    ],
    [
      "with the machine's requests used up → failed, without a request",
      (machine) =>
        machine.limitRequests(
          1,
          Array.from({ length: 10 }, () => "node" as const),
        ),
      "failed",
      [],
      "KubeletReady",
    ],
  ])("%s", async (_, before, kind, asked, reason) => {
    const machine = new SteppingMachine(ready);
    before(machine);
    expect(await written(machine)).toMatchObject({ kind });
    expect(machine.take()).toEqual(asked);
    expect(readyOf(machine)?.reason).toBe(reason);
  });

  it("changes Ready alone, with a new transition time and the old heartbeat time", async () => {
    const machine = new SteppingMachine(ready);
    const before = conditionsOf(machine.apiserver.node);
    await written(machine);
    expect(conditionsOf(machine.apiserver.node)).toEqual(
      before.map((each) =>
        each.type === "Ready"
          ? { ...each, ...REVOKED, status: "Unknown", lastTransitionTime: "2026-02-03T04:05:26Z" }
          : each,
      ),
    );
    expect(machine.events.slice(-1)).toEqual(["NodeNotReady"]);
    expect(machine.notes.slice(-1)).toEqual([
      `condition: by the Worker, without a report: Ready: True → Unknown (KeyRevoked: ${REVOKED.message})`,
    ]);
  });

  it("twice → the second writes nothing, and adds no event", async () => {
    const machine = new SteppingMachine(ready);
    for (let turn = 0; turn < 2; turn++) await written(machine);
    expect(machine.take()).toEqual([PATCH]);
    expect(machine.events.filter((reason) => reason === "NodeNotReady")).toHaveLength(1);
  });

  it.each([
    ["in memory", false],
    ["evicted", true],
  ])("then a report, %s → Ready since that report, as a kubelet's", async (_, isEvicted) => {
    const machine = new SteppingMachine(ready);
    await written(machine);
    if (isEvicted) machine.evict();
    machine.nowMs += 10_000;
    expect(await machine.report()).toMatchObject({ phase: "registered", ready: true });
    expect(readyOf(machine)).toMatchObject({
      status: "True",
      reason: "KubeletReady",
      lastTransitionTime: "2026-02-03T04:05:36Z",
    });
    expect(machine.events.slice(-1)).toEqual(["NodeReady"]);
  });
});
