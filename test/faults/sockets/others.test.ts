// Tests other writers that change the lease and the Node of a machine whose lease is lent. The Worker notices each
// change in time, with or without the loan, and does not overwrite it.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { formatMicroTime } from "../../../shared/kubernetes/micro-time.ts";
import type { Lease, Node } from "../../../shared/kubernetes/types.ts";
import { clusterObject } from "../../../worker/env.ts";
import { facts, kube } from "../../worker/support/machine.ts";
import { eventsAbout, putClock } from "../watched.ts";
import {
  leasePath,
  live,
  type MachineOnSocket,
  nodePath,
  lentMachine,
  type PutClock,
  putsOf,
} from "./members.ts";
import { BEAT_MS, objectOf } from "./on-socket.ts";
import { whileWatched } from "../../worker/support/watching.ts";

const DEPLOYMENT = { before: env.DEPLOYMENT, watched: "lent" };
const AGAIN = { type: "again", reason: "lease" };

afterEach(() => void vi.restoreAllMocks());

async function putLease({ name }: MachineOnSocket, by: string, how: (lease: Lease) => Lease): Promise<void> {
  const lease = await kube<Lease>("GET", leasePath(name));
  await kube("PUT", `${leasePath(name)}?fieldManager=${by}`, how(lease));
}

describe("a lent lease", () => {
  it("gets a label of another writer → returned to the machine's object, which renews it and keeps the label", async () => {
    const clock = putClock();
    const machine = await lentMachine("lease-labelled", clock);
    const labels = { "example.com/shop": "north" };
    await putLease(machine, "kubectl", (lease) => ({ ...lease, metadata: { ...lease.metadata, labels } }));
    clock.shift(BEAT_MS);
    const before = (await machine.renewals()).length;
    expect(await machine.beat()).toEqual(AGAIN);
    expect(await machine.asked()).toEqual(putsOf(machine.name, 1));
    expect(await machine.report()).toMatchObject({ status: 200, body: { phase: "registered" } });
    expect(await machine.asked()).toEqual([`GET ${leasePath(machine.name)}`, ...putsOf(machine.name, 1)]);
    expect((await machine.renewals()).length).toBe(before + 1);
    clock.shift(BEAT_MS);
    expect(await machine.beat()).toMatchObject({ type: "answer", n: 1 });
    expect((await machine.lease()).metadata?.labels).toEqual(labels);
  });

  it("is renewed by another writer → name taken, and nothing more is written", async () => {
    const clock = putClock();
    const machine = await lentMachine("lease-taken", clock);
    clock.shift(BEAT_MS);
    const renewTime = formatMicroTime(Date.now() * 1000);
    await putLease(machine, "kubelet", (lease) => ({ ...lease, spec: { ...lease.spec, renewTime } }));
    const before = (await machine.renewals()).length;
    const said: string[] = [];
    await live([machine], clock, 3 * BEAT_MS, (each) => said.push(each));
    expect(new Set(said)).toEqual(new Set(["name taken"]));
    expect((await machine.renewals()).length).toBe(before);
    expect((await machine.lease()).spec?.renewTime).toBe(renewTime);
    expect(await machine.shown()).toMatchObject({ phase: "name taken" });
  });

  it("is deleted → its gateway does not restore it; the machine's object creates one for our Node", async () => {
    const clock = putClock();
    const machine = await lentMachine("lease-deleted", clock);
    const { metadata: old } = await machine.lease();
    await kube("DELETE", leasePath(machine.name));
    clock.shift(BEAT_MS);
    expect(await machine.beat()).toEqual(AGAIN);
    expect(await machine.lease()).toMatchObject({ code: 404 });
    expect(await machine.report()).toMatchObject({ status: 200, body: { phase: "registered" } });
    const { metadata } = await machine.lease();
    const { uid } = (await machine.node()).metadata ?? {};
    expect(metadata?.ownerReferences).toMatchObject([{ kind: "Node", uid }]);
    expect(metadata?.uid).not.toBe(old?.uid);
    clock.shift(BEAT_MS);
    expect(await machine.beat()).toMatchObject({ type: "answer" });
  });
});

/** Another writer's change of a Node, and the machine's phase once the Worker has noticed the change. */
type Change = [what: string, change: (machine: MachineOnSocket) => Promise<unknown>, phase: string];

async function putNode({ name }: MachineOnSocket, how: (node: Node) => object, part = ""): Promise<void> {
  const node = await kube("GET", nodePath(name));
  await kube("PUT", `${nodePath(name)}${part}?fieldManager=kubectl`, { ...node, ...how(node) });
}

const OWN_LABEL = "rollcall.dev/machine";
const withMetadata = (change: (metadata: NonNullable<Node["metadata"]>) => object) => (node: Node) => ({
  metadata: { ...node.metadata, ...change(node.metadata ?? {}) },
});

const CHANGES: Change[] = [
  ["is deleted", ({ name }) => kube("DELETE", nodePath(name)), "node deleted"],
  [
    "is deleted and created again by another writer",
    async ({ name }) => {
      await kube("DELETE", nodePath(name));
      await kube("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } });
    },
    "node deleted",
  ],
  [
    "gets another owner",
    (machine) =>
      putNode(
        machine,
        withMetadata(({ annotations }) => ({
          annotations: { ...annotations, "rollcall.dev/owner": "other" },
        })),
      ),
    "name taken",
  ],
  [
    "gets another writer's heartbeat",
    (machine) =>
      putNode(
        machine,
        ({ status }) => ({
          status: {
            ...status,
            conditions: status?.conditions?.map((condition) => ({
              ...condition,
              lastHeartbeatTime: new Date(Date.now() + 1000).toISOString().replace(/\.\d+/, ""),
            })),
          },
        }),
        "/status",
      ),
    "name taken",
  ],
  [
    "is cordoned",
    (machine) => putNode(machine, ({ spec }) => ({ spec: { ...spec, unschedulable: true } })),
    "registered",
  ],
  [
    "loses a label of ours",
    (machine) =>
      putNode(
        machine,
        withMetadata(({ labels }) => {
          const { [OWN_LABEL]: _, ...left } = labels ?? {};
          return { labels: left };
        }),
      ),
    "registered",
  ],
];

/** Expects the phase and the Node that follow a change which the Worker has noticed. */
async function expectNoticed(machine: MachineOnSocket, what: string, phase: string): Promise<void> {
  expect((await machine.shown()).phase).toBe(phase);
  if (what === "loses a label of ours")
    expect((await machine.node()).metadata?.labels).toHaveProperty([OWN_LABEL]);
  if (what === "is cordoned")
    expect(await eventsAbout(machine.name)).toMatchObject({ NodeNotSchedulable: 1 });
}

/**
 * Expects that the Worker writes nothing for a lost Node, and that each heartbeat renews the lease of a Node of
 * this deployment.
 */
async function expectRight(machine: MachineOnSocket, clock: PutClock, phase: string): Promise<void> {
  const renewals = (await machine.renewals()).length;
  await machine.asked();
  const said: string[] = [];
  await live([machine], clock, BEATS_AFTER * BEAT_MS + 1000, (each) => said.push(each));
  const writes = (await machine.asked()).filter((line) => /^(PUT|POST|PATCH) .*(leases|nodes)/.test(line));
  const renewed = (await machine.renewals()).length - renewals;
  // One message may have written the status in place of a renewal.
  if (phase === "registered") expect(renewed).toBeGreaterThanOrEqual(BEATS_AFTER - 1);
  else expect([renewed, writes, new Set(said)]).toEqual([0, [], new Set([phase])]);
}

const BEATS_AFTER = 3;
const nameOf = (prefix: string, what: string) => `${prefix}-${CHANGES.findIndex(([each]) => each === what)}`;

describe("an unwatched Node of a machine with quiet heartbeats", () => {
  it.each(CHANGES)("%s → noticed with the next status", async (what, change, phase) => {
    const clock = putClock();
    const name = nameOf("quiet-node", what);
    const told = facts(name);
    const machine = await lentMachine(name, clock, {
      facts: { ...told, settings: { ...told.settings, nodeStatusReportFrequencyMs: 60_000 } },
    });
    await change(machine);
    // The Worker may notice the change only when it writes the status. It writes after the status period, or up to half
    // a period later if the status has changed.
    const untilMs = Date.now() + 90_000 + 2 * BEAT_MS;
    const isOver = async () => phase !== "registered" && (await machine.shown()).phase === phase;
    while (Date.now() < untilMs && !(await isOver())) await live([machine], clock, BEAT_MS + 100);
    await expectNoticed(machine, what, phase);
    await expectRight(machine, clock, phase);
  });
});

describe("a notice about the Node of a machine with quiet heartbeats", () => {
  const annotated = withMetadata(({ annotations }) => ({
    annotations: { ...annotations, "load.example.com/cpu": "0.4" },
  }));
  const cordoned = ({ spec }: Node) => ({ spec: { ...spec, unschedulable: true } });

  it.each([
    ["another program's annotation → the lease stays lent", annotated, "answer"],
    ["a cordon → the lease is withdrawn first", cordoned, "again"],
  ])("%s", async (what, change, type) => {
    const clock = putClock();
    const machine = await lentMachine(`noticed-${type}`, clock);
    expect(what).not.toBe("");
    await putNode(machine, change);
    await objectOf(machine.name).noticeNode(await machine.node());
    clock.shift(BEAT_MS);
    expect(await machine.beat()).toMatchObject({ type });
  });
});

describe("a watched Node of a machine with quiet heartbeats", () => {
  const evictCluster = () =>
    runInDurableObject(clusterObject(env), (_, state) => state.abort("evicted")).catch(() => undefined);
  const setTo = async (watch: "on" | "off", deployment: string) => {
    Object.assign(env, { NODE_WATCH: watch, DEPLOYMENT: deployment });
    await evictCluster();
  };
  // `setTo` evicts the cluster object, which then starts the watch again: timers of an earlier test never ring.
  beforeEach(() => setTo("on", DEPLOYMENT.watched));
  afterAll(() => setTo("off", DEPLOYMENT.before));

  it.each(CHANGES)("%s → noticed at once", async (what, change, phase) => {
    const clock = putClock();
    const machine = await lentMachine(nameOf("watched-node", what), clock);
    await whileWatched(async () =>
      expect((await clusterObject(env).standing(machine.name)).isWatched).toBe(true),
    );
    // The heartbeats before the change get a new loan if the start of the watch has ended the first one.
    await live([machine], clock, 2 * BEAT_MS + 1000);
    await change(machine);
    await whileWatched(() => expectNoticed(machine, what, phase));
    await expectRight(machine, clock, phase);
  });

  it("is annotated by another program each minute → its lease stays lent, and no full report follows", async () => {
    const clock = putClock();
    const [machine, witness] = [
      await lentMachine("watched-annotated", clock),
      await lentMachine("watched-annotated-witness", clock),
    ];
    for (const { name } of [machine, witness])
      await whileWatched(async () => expect((await clusterObject(env).standing(name)).isWatched).toBe(true));
    await live([machine, witness], clock, 2 * BEAT_MS + 1000);
    const said: string[] = [];
    for (const load of ["0.3", "0.4"]) {
      await putNode(
        machine,
        withMetadata(({ annotations }) => ({
          annotations: { ...annotations, "load.example.com/cpu": load },
        })),
      );
      // The cluster object sees this later change after the annotation.
      await putNode(witness, ({ spec }) => ({ spec: { ...spec, unschedulable: load === "0.3" } }));
      const reason = load === "0.3" ? "NodeNotSchedulable" : "NodeSchedulable";
      await whileWatched(async () => expect(await eventsAbout(witness.name)).toMatchObject({ [reason]: 1 }));
      await live([machine], clock, BEAT_MS + 1000, (each) => said.push(each));
    }
    expect(said).toEqual(["answer", "answer"]);
  });
});
