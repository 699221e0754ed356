// A Node that somebody deleted: it comes back where its machine was not Ready, and never in a loop.
import { describe, expect, it, test } from "vitest";
import { noteLapse } from "../../worker/tick/own-node.ts";
import { registerAgain } from "../../worker/tick/registration.ts";
import { tickingMachine } from "../worker/support/kube-in-between.ts";
import { HEALTHY, kube } from "../worker/support/machine.ts";

const REGISTERED = { phase: "registered", ready: true };
const DELETED = { phase: "node deleted", ready: false };
const NOT_READY = { ...HEALTHY, errors: { network: ["no network"] } };
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const nodePath = (name: string) => `/api/v1/nodes/${name}`;
const leasePath = (name: string) => `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
const getNode = (name: string) => kube("GET", nodePath(name));

type Ticking = ReturnType<typeof tickingMachine>;

async function steady(name: string, vitals = HEALTHY): Promise<Ticking> {
  const machine = tickingMachine(name);
  await machine.report(vitals);
  machine.nowMs += 2 * HOUR_MS;
  expect(await machine.report(vitals)).toMatchObject({ phase: "registered", ready: vitals === HEALTHY });
  machine.nowMs += 10_000;
  return machine;
}

/** The lease goes with its Node, as the garbage collector has it. */
async function deleteNode(name: string): Promise<void> {
  await kube("DELETE", nodePath(name));
  await kube("DELETE", leasePath(name));
}

const isThere = async (name: string) => (await getNode(name)).kind === "Node";

describe("a Node that is deleted", () => {
  /** What happens between the deletion, or before it, and the next report. */
  const warm = (ms: number) => (machine: Ticking) => void (machine.nowMs += ms);
  const cold = (machine: Ticking) => machine.evict();
  const coldAndSilent = (machine: Ticking) => {
    machine.evict();
    noteLapse(machine.records);
  };
  const coldAfter = (noAnswerSeconds: number) => (machine: Ticking) => {
    machine.evict();
    machine.noAnswerSeconds = noAnswerSeconds;
  };
  const coldAfterAway = (ms: number) => (machine: Ticking) => {
    machine.evict();
    machine.records.put("phase", { phase: "apiserver unreachable", sinceMs: machine.nowMs - ms });
  };
  const nothing = () => undefined;

  test.each<
    [situation: string, policy: string, last: typeof HEALTHY, then: (machine: Ticking) => void, boolean]
  >([
    ["while it is Ready", "when-silent", HEALTHY, nothing, false],
    ["while it is Ready", "always", HEALTHY, nothing, true],
    ["while it is not Ready", "when-silent", NOT_READY, nothing, true],
    ["while it is not Ready", "", NOT_READY, nothing, true],
    ["while it is not Ready", "never", NOT_READY, nothing, false],
    ["unheard of as long as its lease", "when-silent", HEALTHY, warm(30_000), false],
    ["unheard of for longer", "when-silent", HEALTHY, warm(30_001), true],
    ["unknown when", "when-silent", HEALTHY, cold, false],
    ["unknown when", "always", HEALTHY, cold, true],
    ["unknown when, the last word was not Ready", "when-silent", NOT_READY, cold, true],
    ["unknown when, unanswered as long as its lease", "when-silent", HEALTHY, coldAfter(40), false],
    ["unknown when, unanswered for longer", "when-silent", HEALTHY, coldAfter(41), true],
    ["unknown when, cluster away as long as its lease", "when-silent", HEALTHY, coldAfterAway(40_000), false],
    ["unknown when, cluster away for longer", "when-silent", HEALTHY, coldAfterAway(40_001), true],
    ["while its machine was silent", "when-silent", HEALTHY, coldAndSilent, true],
  ])("%s, REGISTER_AGAIN %j", async (situation, policy, last, then, comesBack) => {
    const name = `gone ${policy} ${situation}`.toLowerCase().replaceAll(/[^a-z]+/g, "-");
    const machine = await steady(name, last);
    machine.variables = { REGISTER_AGAIN: policy };
    await deleteNode(name);
    then(machine);
    expect(await machine.report()).toMatchObject(DELETED);
    machine.nowMs += MINUTE_MS;
    expect(await machine.report()).toMatchObject(comesBack ? REGISTERED : DELETED);
    expect(await isThere(name)).toBe(comesBack);
  });

  it("→ its machine's operator is told the two ways back, and the apiserver is not asked", async () => {
    const machine = await steady("gone-for-good");
    await deleteNode("gone-for-good");
    const message =
      "Its Node was deleted while it was Ready. To have it back, restart the shim on the machine, or have an operator" +
      " run: rollcall node register gone-for-good";
    for (let report = 0; report < 3; report++) {
      expect(await machine.report()).toEqual({ ...DELETED, message });
      if (report > 0) expect(machine.requests).toEqual([]);
      machine.evict();
      machine.nowMs += HOUR_MS;
    }
  });

  it("→ waits a minute, then for a report that makes it Ready; meanwhile not a request, not a row", async () => {
    const name = "waits-for-ready";
    const machine = await steady(name, NOT_READY);
    await deleteNode(name);
    const from = new Date(machine.nowMs + MINUTE_MS).toISOString();
    const again =
      "Its Node was deleted. It is registered again with the first report that would make it Ready";
    expect(await machine.report(NOT_READY)).toEqual({ ...DELETED, message: `${again}, from ${from} on` });
    machine.records.writes = 0;
    machine.events = [];
    machine.nowMs += MINUTE_MS - 1;
    expect(await machine.report()).toEqual({ ...DELETED, message: `${again}, from ${from} on` });
    machine.nowMs += 1;
    machine.evict();
    expect(await machine.report(NOT_READY)).toEqual({ ...DELETED, message: again });
    expect([machine.requests, machine.records.writes, machine.events]).toEqual([[], 0, []]);
    expect(await machine.report()).toMatchObject(REGISTERED);
    expect(machine.requests[0]).toBe("POST /api/v1/nodes");
  });

  it.each([
    ["by the same process of the shim → with cordon and others' taints", "start-1", false, "e", true],
    ["by a process that starts → the same, where it was not Ready", "start-2", false, "e", true],
    ["by a process that starts → as a kubelet's, where it was Ready", "start-2", true, "e", false],
    ["by another machine that has the name now → as a new one", "start-2", false, "e2", false],
  ])("and made again %s", async (_, startId, wasReady, enrolmentId, keeps) => {
    const name = `cordoned-${startId}-${wasReady}-${enrolmentId}`;
    const machine = await steady(name, wasReady ? HEALTHY : NOT_READY);
    const node = await getNode(name);
    const taint = { key: "example.com/broken", value: "disk", effect: "NoSchedule" };
    const unreachable = { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" };
    const taints = [...(node.spec?.taints ?? []), taint, unreachable];
    await kube("PUT", nodePath(name), { ...node, spec: { ...node.spec, unschedulable: true, taints } });
    // The next periodic write shows it.
    machine.nowMs += HOUR_MS;
    await machine.report(wasReady ? HEALTHY : NOT_READY);
    await deleteNode(name);
    machine.nowMs += 10_000;
    await machine.report(wasReady ? HEALTHY : NOT_READY);
    machine.nowMs += MINUTE_MS;
    machine.enrolmentId = enrolmentId;
    expect(await machine.report(HEALTHY, startId)).toMatchObject(REGISTERED);
    const { unschedulable, taints: made = [] } = (await getNode(name)).spec ?? {};
    // The apiserver adds one of its own.
    const isOwn = ({ key }: { key: string }) => key !== "node.kubernetes.io/not-ready";
    const factsOnly = { key: "rollcall.dev/facts-only", effect: "NoSchedule" };
    expect([unschedulable, made.filter(isOwn)]).toEqual(
      keeps ? [true, [factsOnly, taint]] : [undefined, [factsOnly]],
    );
  });

  it("and whose name somebody else has by then → name taken, as ever", async () => {
    const name = "gone-and-taken";
    const machine = await steady(name, NOT_READY);
    await deleteNode(name);
    await machine.report(NOT_READY);
    const other = await kube("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } });
    machine.nowMs += MINUTE_MS;
    expect(await machine.report()).toMatchObject({ phase: "name taken" });
    expect(await getNode(name)).toEqual(other);
  });

  it("while the apiserver fails at its time → tried again as any registration", async () => {
    const name = "gone-and-away";
    const machine = await steady(name, NOT_READY);
    await deleteNode(name);
    await machine.report(NOT_READY);
    machine.nowMs += MINUTE_MS;
    machine.inBetween = () => new Response("<html>", { status: 502 });
    expect(await machine.report()).toMatchObject({ phase: "apiserver unreachable" });
    machine.inBetween = undefined;
    machine.nowMs += 1000;
    expect(await machine.report()).toMatchObject(REGISTERED);
  });
});

describe("a Node that a cloud controller deletes again and again", () => {
  /** Reports every half a minute, each to an object that was evicted; the Node is deleted at once. Returns when it was made. */
  async function creations(machine: Ticking, name: string, reports: number): Promise<number[]> {
    const startedMs = machine.nowMs;
    const made: number[] = [];
    for (let report = 0; report < reports; report++) {
      machine.evict();
      await machine.report();
      if (machine.requests.includes("POST /api/v1/nodes")) {
        made.push((machine.nowMs - startedMs) / MINUTE_MS);
        await deleteNode(name);
      }
      machine.nowMs += 30_000;
    }
    return made;
  }

  it("→ made again after one, two and four minutes, with the next report, and then no more", async () => {
    const name = "unwanted";
    const machine = await steady(name, NOT_READY);
    machine.variables = { REGISTER_AGAIN: "always" };
    await deleteNode(name);
    const made = await creations(machine, name, 40);
    expect(made).toEqual([1, 3.5, 8]);
    expect(await machine.report()).toMatchObject({ ...DELETED, message: expect.stringContaining("3 times") });
    machine.nowMs += 24 * HOUR_MS;
    expect(await machine.report()).toMatchObject(DELETED);
    expect(machine.requests).toEqual([]);
  });

  it.each([
    [
      "an operator speaks",
      "start-1",
      (machine: Ticking) => registerAgain(machine.records, machine.journal, machine.nowMs),
    ],
    ["the shim restarts", "start-2", () => true],
  ])("until %s: then it counts anew", async (_, startId, speak) => {
    const name = `unwanted-${startId}`;
    const machine = await steady(name);
    machine.records.put("registration", { startId: "start-1", phase: "node deleted" });
    machine.records.put("deletion", { atMs: machine.nowMs, wasReady: false, waitMs: HOUR_MS, soon: 3 });
    await deleteNode(name);
    expect(await machine.report()).toMatchObject(DELETED);
    expect(speak(machine)).toBe(true);
    expect(await machine.report(HEALTHY, startId)).toMatchObject(REGISTERED);
    expect(machine.records.get("deletion")).toBeUndefined();
  });
});
