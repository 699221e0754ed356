// Tests when a Node's labels change to those of a bystander (docs/cluster.md), and back: once, in the machine's turn.
import { beforeAll, describe, expect, it } from "vitest";
import type { Grant } from "../../../shared/protocol/join-tokens.ts";
import { kubeletsView } from "../../../shared/node/bystander.ts";
import { takeTurn } from "../../../worker/tick/decide-status.ts";
import {
  type Kept,
  SteppingMachine,
  renewLease,
  register,
  writeStatus,
} from "../support/stepping-machine.ts";

const DEADLINE_MS = 4000;
const HOSTNAME = "kubernetes.io/hostname";
const OWN = "rollcall.dev/hostname";

/** A registered machine with a written status, whose object is in memory. */
let steady: Kept;
beforeAll(async () => {
  const machine = new SteppingMachine();
  await register(machine.context(), DEADLINE_MS);
  await report(machine);
  steady = machine.keep();
});

/** Sends a report. Returns how often the fleet index was asked for a turn. */
async function report(machine: SteppingMachine): Promise<number> {
  machine.nowMs += 10_000;
  let asked = 0;
  const context = machine.context();
  const formTurn = () => {
    asked++;
    return context.formTurn();
  };
  await takeTurn(context, formTurn);
  await writeStatus(context, await renewLease(context, DEADLINE_MS), DEADLINE_MS);
  return asked;
}

/** Returns a machine whose Node an earlier Worker has written. */
function ofEarlierWorker(): SteppingMachine {
  const machine = new SteppingMachine(steady);
  const { node } = machine.apiserver;
  const capacity = node?.status?.capacity ?? {};
  const allocatable = { ...capacity, pods: "0" };
  machine.apiserver.node = kubeletsView({ ...node!, status: { ...node?.status, allocatable } });
  const known = machine.records.get("node")!;
  machine.records.put("node", { ...known, node: machine.apiserver.node });
  return machine;
}

const labelsOf = ({ apiserver }: SteppingMachine) => apiserver.node?.metadata?.labels ?? {};
const hostnames = (machine: SteppingMachine) =>
  [HOSTNAME, OWN].map((key) => labelsOf(machine)[key] !== undefined);
const cpuOf = ({ apiserver }: SteppingMachine) => apiserver.node?.status?.allocatable?.["cpu"];

const [OLD, MOVED, BOTH] = [
  [true, false],
  [false, true],
  [true, true],
];

describe("the Node of an earlier Worker", () => {
  it("in its turn → a bystander's labels, and nothing allocatable, in one write", async () => {
    const machine = ofEarlierWorker();
    machine.take();
    expect(await report(machine)).toBe(1);
    expect(hostnames(machine)).toEqual(MOVED);
    expect(cpuOf(machine)).toBe("0");
    expect(machine.take().filter((request) => request.startsWith("PATCH"))).toHaveLength(1);
  });

  it("before its turn → unchanged for any number of reports; the index is asked once", async () => {
    const machine = ofEarlierWorker();
    machine.formTurnMs = 25_000;
    const asked = [await report(machine), await report(machine)];
    machine.evict();
    asked.push(await report(machine));
    expect(asked).toEqual([1, 0, 0]);
    expect(hostnames(machine)).toEqual(OLD);
    expect(cpuOf(machine)).not.toBe("0");
    expect(await report(machine)).toBe(0);
    expect(hostnames(machine)).toEqual(MOVED);
  });

  it("the index does not answer → unchanged, and asked again with the next report", async () => {
    const machine = ofEarlierWorker();
    machine.formTurnMs = null;
    expect([await report(machine), await report(machine)]).toEqual([1, 1]);
    expect(hostnames(machine)).toEqual(OLD);
  });

  it("has changed already → the index is not asked, and nothing is stored", async () => {
    const machine = ofEarlierWorker();
    await report(machine);
    expect(await report(machine)).toBe(0);
    expect(machine.records.get("formTurn")).toBeUndefined();
  });

  it("of a machine that runs pods → keeps a kubelet's labels", async () => {
    const machine = ofEarlierWorker();
    machine.grant = { withoutFactsOnlyTaint: true };
    machine.apiserver.node = { ...machine.apiserver.node, spec: {} };
    machine.records.put("node", { ...machine.records.get("node")!, node: machine.apiserver.node });
    expect(await report(machine)).toBe(0);
    expect(hostnames(machine)).toEqual(OLD);
    expect(cpuOf(machine)).not.toBe("0");
  });
});

describe("a bystander's Node", () => {
  it("an earlier Worker restores its labels → they are removed again, in the next turn", async () => {
    const machine = new SteppingMachine(steady);
    const { node } = machine.apiserver;
    const labels = { ...labelsOf(machine), [HOSTNAME]: "edge-1", "kubernetes.io/os": "linux" };
    machine.apiserver.node = { ...node, metadata: { ...node?.metadata, labels } };
    machine.records.put("node", { ...machine.records.get("node")!, node: machine.apiserver.node });
    machine.formTurnMs = 15_000;
    expect(await report(machine)).toBe(1);
    expect(hostnames(machine)).toEqual(BOTH);
    await report(machine);
    await report(machine);
    expect(hostnames(machine)).toEqual(MOVED);
  });

  it("NODE_TOPOLOGY_LABELS=keep, and back → both labels, then moved again; each in a turn", async () => {
    const machine = new SteppingMachine(steady);
    machine.keepsTopologyLabels = true;
    expect(await report(machine)).toBe(1);
    expect(hostnames(machine)).toEqual(BOTH);
    expect(cpuOf(machine)).toBe("0");
    expect(await report(machine)).toBe(0);
    machine.keepsTopologyLabels = false;
    expect(await report(machine)).toBe(1);
    expect(hostnames(machine)).toEqual(MOVED);
  });
});

describe("a kubelet's label that is asked for", () => {
  const ZONE = "topology.kubernetes.io/zone";
  const MOVED_ZONE = `label ${ZONE} (it is rollcall.dev/zone there)`;
  it.each<
    [
      situation: string,
      machines: Record<string, string>,
      grant: Partial<Grant>,
      leftOut: string[],
      zone?: string,
    ]
  >([
    ["by the machine → under our key, which is named", { [ZONE]: "a" }, {}, [MOVED_ZONE], "a"],
    ["by its token → the same", {}, { labels: { [ZONE]: "t" } }, [MOVED_ZONE], "t"],
    ["beyond its token → left out", { [ZONE]: "a" }, { mayLabel: ["site"] }, [`label ${ZONE}`]],
    [
      "by both → the token's",
      { [ZONE]: "a" },
      { labels: { [ZONE]: "t" } },
      [`label ${ZONE}`, MOVED_ZONE],
      "t",
    ],
  ])("%s", async (_, nodeLabels, grant, leftOut, zone) => {
    const machine = new SteppingMachine();
    machine.grant = grant;
    machine.facts = { ...machine.facts, settings: { ...machine.facts.settings, nodeLabels } };
    await register(machine.context(), DEADLINE_MS);
    await report(machine);
    expect(machine.records.get("leftOut")?.status).toEqual(leftOut);
    expect(labelsOf(machine)["rollcall.dev/zone"]).toBe(zone);
    expect(labelsOf(machine)[ZONE]).toBeUndefined();
  });
});
