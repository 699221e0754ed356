// Plays a machine on the real Worker and records every write at the apiserver. Checks the rules that hold after any
// fault.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { reporter, type ReportOutcome } from "../../node-shim/worker-link/reporter.ts";
import { type Transport } from "../../node-shim/worker-link/exchange.ts";
import type { Event, Lease, Node, NodeCondition } from "../../shared/kubernetes/types.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { ADMIN_SECRET, ORIGIN } from "../worker/support/constants.ts";
import type { Fault } from "../worker/support/fault.ts";
import { expectNoTimeMovedBack } from "./invariants.ts";
import {
  enrolled,
  facts,
  HEALTHY,
  inItsTime,
  kube,
  requestsAbout,
  send,
  setFault,
  transport,
  writesAbout,
} from "../worker/support/machine.ts";
import { eventually, shift } from "../worker/support/clock.ts";

export const UP = HEALTHY;
export const DOWN: Vitals = { ...HEALTHY, shuttingDown: true };
export const REGISTERED = { ok: true, value: { phase: "registered" } };

const objectOf = (name: string) => env.NODES.getByName(name);
const nodePath = (name: string) => `/api/v1/nodes/${name}`;
const leasePath = (name: string) => `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;

/** Returns the clock, which a test may set. */
export const putClock = (): { shift: (byMs: number) => void } => ({ shift });

export interface WatchedMachine {
  name: string;
  /** The transport of the machine's requests. A test may replace it by one with a fault. */
  deliver: Transport;
  report: (vitals?: Vitals) => Promise<ReportOutcome>;
  /** Starts a new process of the machine's shim. */
  restart: () => void;
  wrong: (fault: Fault) => Promise<void>;
  well: () => Promise<void>;
  ring: () => Promise<boolean>;
  evict: () => Promise<void>;
  /** Aborts the node object: work in progress and data that are not stored are lost. */
  crash: () => Promise<void>;
  /** Waits until the node object has sent this request to the apiserver since the fault began. */
  asked: (request: RegExp) => Promise<void>;
  node: () => Promise<Node>;
  lease: () => Promise<Lease>;
  leaseWrites: () => Promise<number>;
  /** The reports in the order in which the machine sent them. */
  said: { startId: string; isUp: boolean }[];
  /** Returns the number of renewals that took effect outside of any report. */
  unasked: () => number;
}

/** Enrols a machine, which has not reported yet. */
export async function watched(name: string): Promise<WatchedMachine> {
  const machine = await enrolled(name);
  const said: WatchedMachine["said"] = [];
  let starts = 0;
  let post: ReturnType<typeof reporter>;
  let inProgress = 0;
  let seenLeaseWrites = 0;
  let unasked = 0;
  const leaseWrites = async () => (await writesAbout(name, "Lease")).length;
  const watchedMachine: WatchedMachine = {
    name,
    said,
    deliver: transport,
    async report(vitals = UP) {
      if (inProgress === 0) unasked += (await leaseWrites()) - seenLeaseWrites;
      inProgress++;
      said.push({ startId: `start-${starts}`, isUp: !vitals.shuttingDown });
      // The clock moves on: two events at the same time would have the same name.
      shift(1);
      const outcome = await inItsTime(name, post(facts(name), vitals));
      if (--inProgress === 0) seenLeaseWrites = await leaseWrites();
      return outcome;
    },
    restart() {
      const startId = `start-${++starts}`;
      const { key, kid } = machine;
      const deliver: Transport = (request) => watchedMachine.deliver(request);
      const machineTime = () => new Date(Date.now()).toISOString();
      post = reporter({ name, origin: ORIGIN, key, kid, startId, send: deliver, machineTime });
    },
    wrong: async (fault) => {
      await requestsAbout(name);
      await setFault(name, fault);
    },
    well: () => setFault(name, ""),
    ring: () => inItsTime(name, runDurableObjectAlarm(objectOf(name))),
    evict: () => evictDurableObject(objectOf(name)),
    crash: () =>
      runInDurableObject(objectOf(name), (_, state) => state.abort("crash")).catch(() => undefined),
    async asked(request) {
      const requests: string[] = [];
      const look = async () => {
        requests.push(...(await requestsAbout(name)));
        expect(requests.join("\n")).toMatch(request);
      };
      await eventually(look);
    },
    node: () => kube("GET", nodePath(name)),
    lease: () => kube<Lease>("GET", leasePath(name)),
    leaseWrites,
    unasked: () => unasked,
  };
  watchedMachine.restart();
  return watchedMachine;
}

/** Returns a registered machine without changes to write, whose first events are sent. */
export async function steady(name: string): Promise<WatchedMachine> {
  const machine = await watched(name);
  await machine.report();
  await machine.ring();
  expect(await machine.report()).toMatchObject(REGISTERED);
  return machine;
}

/**
 * Expects after a fault that the next report brings the machine's last state to the Node. No event was lost or
 * repeated, no lease was renewed without a fresh report, and no time went back.
 */
export async function expectSound(machine: WatchedMachine): Promise<void> {
  await machine.well();
  const isUp = machine.said.at(-1)?.isUp ?? true;
  expect(await machine.report(isUp ? UP : DOWN)).toMatchObject({
    ok: true,
    value: { phase: "registered", ready: isUp },
  });
  expect(conditionOf(await machine.node(), "Ready")?.status).toBe(isUp ? "True" : "False");
  const renewals = await machine.leaseWrites();
  for (let alarms = 0; alarms < 3; alarms++) await machine.ring();
  expect(await machine.leaseWrites(), "renewed by an alarm").toBe(renewals);
  expect(machine.unasked(), "renewed without a fresh report").toBe(0);
  expectNoTimeMovedBack(await writesAbout(machine.name));
  expect(await eventsAbout(machine.name)).toEqual(expectedEvents(machine.said));
  expect(await transitionsOf(machine.name)).toEqual(expectedTransitions(machine.said));
}

export function conditionOf(node: Node, wanted: string): NodeCondition | undefined {
  return node.status?.conditions?.find(({ type }) => type === wanted);
}

/** Returns the number of a Node's events by reason. A repeated event adds its count. */
export async function eventsAbout(name: string): Promise<Record<string, number>> {
  const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${name}`;
  const { items } = await kube<{ items: Event[] }>("GET", path);
  const counts: Record<string, number> = {};
  for (const { reason = "", count = 1 } of items) counts[reason] = (counts[reason] ?? 0) + count;
  return counts;
}

function expectedEvents(said: WatchedMachine["said"]): Record<string, number> {
  const starts = new Set(said.map(({ startId }) => startId)).size;
  const flips = expectedTransitions(said);
  // A new process of the shim counts as up before its first report.
  const turns = said.filter(({ startId, isUp }, at) => {
    const before = said[at - 1];
    return isUp !== (before?.startId === startId ? before.isUp : true);
  });
  // A Node that is created Ready has an event for its creation.
  const created = said[0]?.isUp ? 1 : 0;
  const expected = {
    Starting: starts,
    NodeHasSufficientMemory: starts,
    NodeHasNoDiskPressure: starts,
    NodeHasSufficientPID: starts,
    NodeNotReady: flips.filter((flip) => flip.endsWith("False")).length,
    NodeReady: created + flips.filter((flip) => flip.endsWith("True")).length,
    Shutdown: turns.length,
  };
  return Object.fromEntries(Object.entries(expected).filter(([, count]) => count > 0));
}

function expectedTransitions(said: WatchedMachine["said"]): string[] {
  return said.flatMap(({ isUp }, at) => {
    const was = said[at - 1]?.isUp;
    if (was === undefined || was === isUp) return [];
    return isUp ? "Ready: False → True" : "Ready: True → False";
  });
}

/** Returns the changes of Ready in the machine's history, oldest first. */
async function transitionsOf(name: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${ADMIN_SECRET}` };
  const path = `/v1/nodes/${name}/history?kind=condition&limit=1000`;
  const { entries } = await (
    await send(path, { method: "GET", headers })
  ).json<{ entries: { text: string }[] }>();
  return entries
    .map(({ text }) => /^Ready: \w+ → \w+/.exec(text)?.[0])
    .filter((text) => text !== undefined)
    .toReversed();
}
