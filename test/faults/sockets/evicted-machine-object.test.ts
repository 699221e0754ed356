// Tests node objects that are evicted while their lease is lent: the object reads its stored memory when the loan
// ends, and continues as if it had stayed awake.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Event, Node } from "../../../shared/kubernetes/types.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import type { NodeObject } from "../../../worker/machine/node-object.ts";
import { HEALTHY, kube, requestsAbout, writesAbout } from "../../worker/support/machine.ts";
import type { OpenSocket } from "../../worker/support/socket-machine.ts";
import {
  BEAT_MS,
  evictNode,
  expectInTime,
  GET_LEASE,
  historyOf,
  lentBy,
  nextBeat,
  nodeOf,
  objectOf,
  type OnSocket,
  onSocket,
  ringNode,
} from "./on-socket.ts";
import { shift } from "../../worker/support/clock.ts";

const MINUTE_MS = 60_000;
const OVER = { type: "again", reason: "over" };
const LOW: Vitals = { signals: { ...HEALTHY.signals, "memory.available": [2 ** 20, 8 * 2 ** 30] } };

afterEach(() => {
  vi.restoreAllMocks();
});

const statusesOf = ({ frames }: OpenSocket) =>
  frames.flatMap((frame) => (frame.type === "report-answer" ? frame.status : []));

/** Returns the heartbeat times of all status writes, in milliseconds since 1970. */
async function statusTimes(name: string): Promise<number[]> {
  const writes = (await writesAbout(name)).filter(({ request }) => request.endsWith("/status"));
  return writes.map(({ object }) => {
    const { conditions = [] } = (object as Node).status ?? {};
    return Date.parse(conditions.find(({ type }) => type === "Ready")?.lastHeartbeatTime ?? "");
  });
}

const conditionOf = ({ status }: Node, wanted: string) =>
  status?.conditions?.find(({ type }) => type === wanted);

async function eventsOf(name: string): Promise<string[]> {
  const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${name}`;
  const { items } = await kube<{ items: Event[] }>("GET", path);
  return items.map(({ reason, count = 1 }) => `${reason} ${count}`).toSorted();
}

/**
 * Limits the requests that the machine's object sends to the apiserver, to this number a minute. The object must
 * have sent none yet.
 */
const mayAsk = (name: string, requests: unknown) =>
  runInDurableObject(objectOf(name), (instance: NodeObject) => {
    Object.assign(Reflect.get(instance, "env") as object, { MACHINE_REQUESTS: requests });
  });

/**
 * Sends heartbeats for `forMs`, and a report if the gateway requests one. Calls `then` after each message. Returns
 * the number of reports.
 */
async function goOn({ socket }: OnSocket, forMs: number, then: () => Promise<unknown>): Promise<number> {
  let reports = 0;
  for (const untilMs = Date.now() + forMs; Date.now() < untilMs;) {
    const frame = await nextBeat(socket);
    if (frame !== "closed" && frame.type === "answer") continue;
    expect(frame).toEqual(OVER);
    await lentBy(socket);
    await then();
    reports++;
  }
  return reports;
}

describe("a machine's object that is evicted after each report", () => {
  it("for half an hour → no challenge, no read of the lease, a status every five minutes, and no event twice", async () => {
    const machine = await onSocket("asleep-for-long");
    const { name, socket } = machine;
    const [before, events] = [await nodeOf(name), await eventsOf(name)];
    await requestsAbout(name);
    // If no report wakes the node object, it stays evicted, and evicting it again fails.
    await evictNode(name);
    const reports = await goOn(machine, 30 * MINUTE_MS, () => evictNode(name));
    // A report is sent whenever the status is due, every five minutes. At most one more report is sent, because the
    // first status is due at a random time.
    expect(reports).toBeGreaterThanOrEqual(5);
    expect(reports).toBeLessThanOrEqual(7);
    expect(new Set(statusesOf(socket))).toEqual(new Set([200]));
    const requests = await requestsAbout(name);
    expect(requests.filter((request) => GET_LEASE.test(request))).toEqual([]);
    expect(requests.filter((request) => request.startsWith("POST"))).toEqual([]);
    const times = await statusTimes(name);
    for (const [index, atMs] of times.slice(2).entries()) {
      const sinceMs = atMs - (times[index + 1] ?? 0);
      expect(sinceMs).toBeGreaterThanOrEqual(5 * MINUTE_MS);
      expect(sinceMs).toBeLessThanOrEqual(5 * MINUTE_MS + BEAT_MS);
    }
    expect(await eventsOf(name)).toEqual(events);
    expect((await nodeOf(name)).metadata?.uid).toBe(before.metadata?.uid);
    await expectInTime(name);
  });

  it("→ it sends the same requests to the apiserver as one that stays awake", async () => {
    // A fixed random number: the due time of the first status depends on it.
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const asked: string[][] = [];
    for (const isEvicted of [false, true]) {
      const machine = await onSocket(`asleep-${isEvicted}`);
      await requestsAbout(machine.name);
      await goOn(machine, 11 * MINUTE_MS, async () => {
        if (isEvicted) await evictNode(machine.name);
      });
      const requests = await requestsAbout(machine.name);
      asked.push(requests.map((request) => request.replace(machine.name, "")).toSorted());
    }
    expect(asked[1]).toEqual(asked[0]);
  });

  it("and its machine's pressure begins and ends → each is one event and one line of history", async () => {
    const { name, socket } = await onSocket("asleep-under-pressure");
    const events = await eventsOf(name);
    await evictNode(name);
    expect(await nextBeat(socket, { vitals: LOW })).toEqual({ type: "again", reason: "not quiet" });
    await socket.report({ vitals: LOW });
    expect(conditionOf(await nodeOf(name), "MemoryPressure")?.status).toBe("True");
    // No lease is lent during pressure, nor while the condition is held after the pressure.
    for (let reports = 0; reports < 3; reports++) {
      await evictNode(name);
      shift(BEAT_MS);
      expect(await socket.report({ vitals: LOW })).not.toHaveProperty("session");
    }
    shift(5 * MINUTE_MS);
    await socket.report();
    for (let reports = 0; conditionOf(await nodeOf(name), "MemoryPressure")?.status === "True"; reports++) {
      expect(reports).toBeLessThan(40);
      shift(BEAT_MS);
      await socket.report();
    }
    await ringNode(name);
    shift(BEAT_MS);
    await lentBy(socket);
    expect((await eventsOf(name)).filter((event) => !events.includes(event))).toEqual([
      "EvictionThresholdMet 1",
      "NodeHasInsufficientMemory 1",
      // The shim's start caused the first of these events.
      "NodeHasSufficientMemory 2",
    ]);
    const flips = (await historyOf(name, "condition")).filter((text) => text.includes("→"));
    expect(flips).toEqual([
      expect.stringMatching(/^MemoryPressure: True → False/),
      expect.stringMatching(/^MemoryPressure: False → True/),
    ]);
  });

  it("and its socket then closes → reports over HTTP renew, within a machine's budget of requests", async () => {
    const { name, machine, socket } = await onSocket("asleep-then-http");
    for (let renewals = 0; renewals < 20; renewals++) {
      const frame = await nextBeat(socket);
      if (frame !== "closed" && frame.type === "answer") continue;
      await lentBy(socket);
      renewals = 0;
    }
    await evictNode(name);
    // Sets a deployment's limit of requests to the apiserver: the Worker of these tests has a higher limit.
    const { MACHINE_REQUESTS: before } = env;
    await mayAsk(name, 20);
    try {
      socket.close();
      for (let reports = 0; reports < 6; reports++) {
        shift(BEAT_MS);
        await machine.http();
      }
    } finally {
      await mayAsk(name, before);
    }
    await expectInTime(name);
  });
});
