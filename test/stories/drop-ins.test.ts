// Tests drop-ins in a Node: resources, labels and conditions that appear, change, expire and disappear.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { DropIns } from "../../shared/protocol/drop-ins.ts";
import { recordsOf } from "../worker/support/kept-records.ts";
import { enrolled, facts, HEALTHY, kube, setFault, shimOf } from "../worker/support/machine.ts";

const RAID = { type: "RaidDegraded", status: "False", reason: "AllMembers", message: "md0" } as const;
const SAID: DropIns = {
  resources: { "example.com/fpga": 2 },
  labels: { "example.com/rack": "b7" },
  conditions: [{ ...RAID, expiresInSeconds: 300 }],
  working: 1,
  failures: [],
};
const FRESH = { ...HEALTHY, remainingSeconds: { RaidDegraded: 300 } };

const getNode = (name: string) => kube("GET", `/api/v1/nodes/${name}`);
async function conditionsOf(name: string): Promise<string[]> {
  const { status } = await getNode(name);
  return (status?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
}
const KUBELETS = [
  "MemoryPressure=False KubeletHasSufficientMemory",
  "DiskPressure=False KubeletHasNoDiskPressure",
  "PIDPressure=False KubeletHasSufficientPID",
];
const READY = "Ready=True KubeletReady";

/** Returns a registered machine, and a function that reports the output of its drop-ins. */
async function machineNamed(name: string) {
  const machine = await enrolled(name);
  const report = shimOf(machine);
  const say = (dropIns: DropIns | null | undefined, vitals = FRESH) =>
    report(facts(name, dropIns === undefined ? {} : { dropIns }), vitals);
  return { machine, say };
}

it("their output → resources, a label, and conditions before Ready", async () => {
  const name = "drop-in-node";
  const { say } = await machineNamed(name);
  await say(SAID);
  const node = await getNode(name);
  expect(node.status?.capacity).toMatchObject({ "example.com/fpga": "2", cpu: "4" });
  expect(node.metadata?.labels).toMatchObject({ "example.com/rack": "b7" });
  expect(await conditionsOf(name)).toEqual([
    ...KUBELETS,
    "RaidDegraded=False AllMembers",
    "DropInsFailed=False DropInsWork",
    READY,
  ]);
  const raid = node.status?.conditions?.find(({ type }) => type === "RaidDegraded");
  expect(Date.parse(raid?.lastHeartbeatTime ?? "")).toBeGreaterThan(0);
});

it("a condition changes → its transition time is the Worker's; an unchanged one keeps its time", async () => {
  const name = "drop-in-flip";
  const { say } = await machineNamed(name);
  await say(SAID);
  const broken = { ...RAID, status: "True", reason: "MemberMissing", expiresInSeconds: 300 } as const;
  await say({ ...SAID, conditions: [broken] });
  const conditions = (await getNode(name)).status?.conditions;
  expect(await conditionsOf(name)).toContain("RaidDegraded=True MemberMissing");
  await say({ ...SAID, conditions: [{ ...broken, message: "md0 and md1" }] });
  const raid = (await getNode(name)).status?.conditions?.find(({ type }) => type === "RaidDegraded");
  expect(raid).toMatchObject({
    message: "md0 and md1",
    lastTransitionTime: conditions?.find(({ type }) => type === "RaidDegraded")?.lastTransitionTime,
  });
});

describe("a condition", () => {
  it.each([
    ["that has run out", { RaidDegraded: 0 }],
    ["of which nothing is known", {}],
  ])("%s → Unknown, with what was said last", async (situation, remainingSeconds) => {
    const name = "RaidDegraded" in remainingSeconds ? "drop-in-expired" : "drop-in-unknown";
    const { say } = await machineNamed(name);
    await say(SAID);
    await say(SAID, { ...HEALTHY, remainingSeconds } as typeof FRESH);
    const raid = (await getNode(name)).status?.conditions?.find(({ type }) => type === "RaidDegraded");
    expect(raid, situation).toMatchObject({
      status: "Unknown",
      reason: "DropInExpired",
      message: "not said again in time; last said: False (AllMembers: md0)",
    });
    await say(SAID);
    expect(await conditionsOf(name)).toContain("RaidDegraded=False AllMembers");
  });

  it("of a restarted shim whose drop-ins have not run yet → stays", async () => {
    const name = "drop-in-restart";
    const { machine, say } = await machineNamed(name);
    await say(SAID);
    const restarted = shimOf(machine, "start-2");
    await restarted(facts(name), HEALTHY);
    await restarted(facts(name), HEALTHY);
    expect(await conditionsOf(name)).toContain("RaidDegraded=False AllMembers");
    expect((await getNode(name)).metadata?.labels).toMatchObject({ "example.com/rack": "b7" });
  });
});

it.each([
  ["before its Node was ever created", "drop-in-unborn", false],
  ["before it was ever written", "drop-in-unwritten", true],
])("a condition that goes %s, the apiserver being down → no trace of it", async (_, name, isRegistered) => {
  const { say } = await machineNamed(name);
  if (isRegistered) await say(null);
  await setFault(name, { kind: "status", code: 503 });
  await say(SAID);
  await say(null);
  await setFault(name, "");
  await say(null);
  expect(await conditionsOf(name)).toEqual([...KUBELETS, READY]);
});

it("a drop-in fails → a condition of its own, and the machine stays Ready", async () => {
  const name = "drop-in-fails";
  const { say } = await machineNamed(name);
  await say({ ...SAID, working: 0, failures: [{ name: "raid", error: "did not end within 10 s" }] });
  expect(await conditionsOf(name)).toEqual([
    ...KUBELETS,
    "RaidDegraded=False AllMembers",
    "DropInsFailed=True DropInFailed",
    READY,
  ]);
  const failed = (await getNode(name)).status?.conditions?.find(({ type }) => type === "DropInsFailed");
  expect(failed?.message).toBe("raid: did not end within 10 s");
});

it.each([
  ["none is left", null],
  ["one is left, which says nothing", { ...SAID, resources: {}, labels: {}, conditions: [] }],
])("%s → labels and conditions go, and the resource is 0", async (_, dropIns) => {
  const name = dropIns === null ? "drop-in-gone" : "drop-in-silent";
  const { say } = await machineNamed(name);
  await say(SAID);
  await say(
    dropIns,
    dropIns === null ? (HEALTHY as typeof FRESH) : { ...HEALTHY, remainingSeconds: {} as never },
  );
  const node = await getNode(name);
  expect(node.status?.capacity).toMatchObject({ "example.com/fpga": "0" });
  expect(node.status?.allocatable).toMatchObject({ "example.com/fpga": "0" });
  expect(node.metadata?.labels).not.toHaveProperty(["example.com/rack"]);
  const left = dropIns === null ? [] : ["DropInsFailed=False DropInsWork"];
  expect(await conditionsOf(name)).toEqual([...KUBELETS, ...left, READY]);
});

it("a resource that a device plugin announces → the plugin's count", async () => {
  const name = "drop-in-device";
  const devices = {
    capacity: { "example.com/fpga": 8 },
    allocatable: { "example.com/fpga": 7 },
    removed: [],
  };
  await shimOf(await enrolled(name))(facts(name, { dropIns: SAID, devices }), FRESH);
  const { status } = await getNode(name);
  expect(status?.capacity).toMatchObject({ "example.com/fpga": "8" });
});

it("custom facts → stay until the drop-ins have run, and disappear with their drop-in", async () => {
  const name = "drop-in-custom";
  const report = shimOf(await enrolled(name));
  const customOf = async (sent: Partial<Facts>) => {
    await report(facts(name, sent), FRESH);
    return runInDurableObject(
      env.NODES.getByName(name),
      (_, { storage }) => recordsOf(storage.sql).get("facts")?.facts.custom,
    );
  };
  const custom = { licenceUntil: "2031-03-01T00:00:00Z" };
  expect(await customOf({ dropIns: SAID, custom })).toEqual(custom);
  expect(await customOf({})).toEqual(custom);
  expect(await customOf({ dropIns: SAID })).toBeUndefined();
});
