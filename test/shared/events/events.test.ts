import { describe, expect, it, test } from "vitest";
import { correlateEvent, newEventCorrelator } from "../../../shared/events/correlator.ts";
import { makeEvent, recordEvent, startEvents } from "../../../shared/events/events.ts";
import { tryAccept } from "../../../shared/events/token-bucket.ts";
import { parseMicroTime } from "../../../shared/kubernetes/micro-time.ts";
import type { Event } from "../../../shared/kubernetes/types.ts";
import { failure } from "../../../shared/result.ts";
import { createFakeApiserver } from "../../vectors/fake-apiserver.ts";

const NOW = parseMicroTime("2026-03-14T15:09:26Z");
const SECOND = 1_000_000;
const source = { component: "rollcall", host: "node-1" };
const uuid = () => "0e8f7f8e-9f5a-4a1e-9d0a-0a2b7c3d4e5f";

function event(message: string, nowMicros = NOW, type = "Normal"): Event {
  const made = makeEvent(
    { kind: "Node", name: "node-1" },
    source,
    type,
    "NodeReady",
    message,
    nowMicros,
    uuid,
  );
  if (made === null) throw new Error(`no event of type ${type}`);
  return made;
}

describe("makeEvent", () => {
  it.each([
    { situation: "a name that fits", name: "node-1", made: "node-1.189cbdbb6f3dfc00" },
    {
      situation: "the longest name that fits",
      name: "a".repeat(253 - 17),
      made: `${"a".repeat(236)}.189cbdbb6f3dfc00`,
    },
    { situation: "one longer → a UUID", name: "a".repeat(253 - 16), made: uuid() },
    { situation: "a name that no event can have → a UUID", name: "Node_1", made: uuid() },
  ])("$situation", ({ name, made }) => {
    const event = makeEvent({ kind: "Node", name }, source, "Normal", "R", "m", NOW, uuid);
    expect(event?.metadata).toEqual({ name: made, namespace: "default" });
  });

  it("two events, a microsecond apart → two names", () => {
    expect(event("a", NOW).metadata.name).not.toBe(event("a", NOW + 1).metadata.name);
  });

  it("a type other than Normal and Warning → no event", () => {
    expect(makeEvent({ name: "node-1" }, source, "Fatal", "R", "m", NOW, uuid)).toBeNull();
  });
});

describe("correlateEvent", () => {
  it("remembers only JSON: its memory can be stored between two events", () => {
    const before = newEventCorrelator();
    correlateEvent(before, event("a"), NOW);
    const after = JSON.parse(JSON.stringify(before));
    const repeated = correlateEvent(after, event("a", NOW + SECOND), NOW + SECOND);
    expect(repeated).toMatchObject({ event: { count: 2 }, patch: { count: 2, message: "a" } });
  });

  it("the 10th message of a reason is combined with the others, and so is the same message again", () => {
    const correlator = newEventCorrelator();
    const messages = Array.from({ length: 11 }, (_, index) => {
      const nowMicros = NOW + index * SECOND;
      return correlateEvent(correlator, event(`m${Math.min(index, 9)}`, nowMicros), nowMicros)?.event;
    });
    expect(messages[8]).toMatchObject({ message: "m8", count: 1 });
    expect(messages[9]).toMatchObject({ message: "(combined from similar events): m9", count: 1 });
    expect(messages[10]).toMatchObject({ message: "(combined from similar events): m9", count: 2 });
  });

  it("a machine whose messages all differ → the memory stays small", () => {
    const correlator = newEventCorrelator();
    for (let index = 0; index < 2000; index++) {
      const made = { ...event("m", NOW + index), reason: `Reason${index}` };
      correlateEvent(correlator, made, NOW + index);
    }
    const sizes = Object.values(correlator).map((memory) => Object.keys(memory).length);
    expect(Math.max(...sizes)).toBe(256);
    const newest = { ...event("m", NOW + 9 * SECOND), reason: "Reason1999" };
    correlator.buckets = {};
    expect(correlateEvent(correlator, newest, NOW + 9 * SECOND)?.event.count).toBe(2);
  });
});

describe("recordEvent", () => {
  it.each([
    { situation: "answered", forced: [], outcome: { ok: true } },
    {
      situation: "refused",
      forced: [{ code: 403, reason: "Forbidden", message: "no" }],
      outcome: failure({ kind: "status" }),
    },
    {
      situation: "no answer",
      forced: [{ network: "connection refused" }],
      outcome: failure({ kind: "unanswered" }),
    },
  ])("$situation → $outcome", async ({ forced, outcome }) => {
    const server = createFakeApiserver(true);
    server.force(forced);
    const correlator = newEventCorrelator();
    const correlated = correlateEvent(correlator, event("a"), NOW);
    expect(correlated && (await recordEvent(server.client, correlator, correlated))).toMatchObject(outcome);
  });
});

describe("tryAccept", () => {
  it("accepts what a full bucket holds, then one per refill, exact to a nanosecond", () => {
    let bucket = tryAccept(undefined, 0, 2, 0.5);
    bucket = bucket && tryAccept(bucket, 0, 2, 0.5);
    expect(bucket).toEqual({ tokens: 0, lastMicros: 0 });
    expect(tryAccept(bucket!, 2 * SECOND - 1, 2, 0.5)).toBeNull();
    expect(tryAccept(bucket!, 2 * SECOND, 2, 0.5)).toEqual({ tokens: 0, lastMicros: 2 * SECOND });
  });

  it("a clock that goes back refills nothing", () => {
    expect(tryAccept({ tokens: 0, lastMicros: 10 * SECOND }, 0, 2, 0.5)).toBeNull();
  });
});

describe("the events of a start", () => {
  test.each([
    ["cgroup v2", { cpuHardcapping: true, version: 2 as const }, ["Normal Starting"]],
    ["cgroup v1", { cpuHardcapping: true, version: 1 as const }, ["Normal Starting", "Warning CgroupV1"]],
    ["an older shim, which does not report it", { cpuHardcapping: true }, ["Normal Starting"]],
    ["nobody knows", undefined, ["Normal Starting"]],
  ])("a start on %s → %j", (_, cgroups, events) => {
    expect(startEvents({ cgroups }).map(({ type, reason }) => `${type} ${reason}`)).toEqual(events);
  });

  test("the words are those that tools expect, except for the kubelet's name", () => {
    const [starting, onCgroupV1] = startEvents({ cgroups: { cpuHardcapping: true, version: 1 } });
    expect(starting?.message).toBe("Starting node-shim.");
    expect(onCgroupV1?.message).toMatch(/^cgroup v1 detected\. .*5573-remove-cgroup-v1$/);
  });
});
