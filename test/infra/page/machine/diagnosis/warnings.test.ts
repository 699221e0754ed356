// Tests the warnings of a diagnosis, which are shown in addition to its sentence.
import { expect, it, test } from "vitest";
import {
  diagnose,
  type DiagnosisInput,
  type DiagnosisWarning,
} from "../../../../../infra/page/machine/diagnosis.ts";
import { diagnosisInput, feedMachine, knownMachine } from "../made-up-machine.ts";

const OLDEST = "2026-01-01T12:00:00.000Z";
const WAITED_MS = Date.parse("2026-01-01T12:01:00.000Z");

const warnings = (change: Partial<DiagnosisInput>) => diagnose(diagnosisInput(change))?.warnings ?? [];

test.each<[situation: string, change: Partial<DiagnosisInput>, said: Partial<DiagnosisWarning>]>([
  [
    "another machine asks for its name",
    { isContested: true },
    { text: expect.stringMatching("another key") as string, link: "approvals" },
  ],
  [
    "short of memory",
    { whole: knownMachine({ conditions: [{ type: "MemoryPressure", status: "True", message: "short" }] }) },
    { text: "MemoryPressure is True: short.", todo: expect.stringMatching("Free memory") as string },
  ],
  [
    "a drop-in's condition",
    { whole: knownMachine({ conditions: [{ type: "FanBroken", status: "True" }] }) },
    { text: "FanBroken is True.", todo: expect.stringMatching("rollcall node clear") as string },
  ],
  [
    "a value of its facts is refused, limited or left out",
    { whole: knownMachine({ factsRefused: { path: "/machine", message: "no" } }) },
    { text: expect.stringMatching(/does not count as sent: \/machine: no\.$/) as string },
  ],
  [
    "cordoned",
    { live: feedMachine({ isUnschedulable: true }) },
    { todo: "To allow pods again: `kubectl uncordon NAME`" },
  ],
  ["a clock that is ahead", { live: feedMachine({ skewMs: 95_000 }) }, { text: "Its clock is 1m ahead." }],
  [
    "a clock that is behind",
    { live: null, whole: knownMachine({ isSkewed: true, skewMs: -600_000 }) },
    { text: "Its clock is 10m behind." },
  ],
  [
    "withheld",
    { live: feedMachine({ withheld: "label a" }) },
    { text: expect.stringMatching("label a") as string },
  ],
  [
    "one event waits",
    { whole: knownMachine({ outbox: { waiting: 1, oldest: OLDEST, dropped: 0 } }), answeredMs: WAITED_MS },
    { text: "One event waits for the apiserver." },
  ],
  [
    "events wait",
    { whole: knownMachine({ outbox: { waiting: 3, oldest: OLDEST, dropped: 0 } }), answeredMs: WAITED_MS },
    { text: "3 events wait for the apiserver." },
  ],
  [
    "events were dropped",
    { whole: knownMachine({ outbox: { waiting: 0, oldest: null, dropped: 2 } }) },
    { text: expect.stringMatching(/^2 events were dropped/) as string },
  ],
  [
    "its new key is not used yet",
    { live: feedMachine({ isUsed: false }) },
    { text: "It has not reported with its new key yet." },
  ],
  ["no runtime needed", { whole: knownMachine({ runtime: "none" }) }, { acts: ["runtime-auto"] }],
])("%s", (_, change, said) => {
  expect(warnings(change)).toEqual([expect.objectContaining(said)]);
});

it("a machine that is well → none", () => {
  expect(warnings({})).toEqual([]);
});

it("the cluster cannot be written → that events wait is no news", () => {
  const live = feedMachine({ state: "cluster-unreachable", phase: "apiserver unreachable" });
  expect(
    warnings({
      live,
      whole: knownMachine({ outbox: { waiting: 3, oldest: OLDEST, dropped: 0 } }),
      answeredMs: WAITED_MS,
    }),
  ).toEqual([]);
});

it("one who asks for its name comes first", () => {
  const said = warnings({ isContested: true, live: feedMachine({ isUnschedulable: true, skewMs: 90_000 }) });
  expect(said.map(({ link }) => link)).toEqual(["approvals", undefined, undefined]);
});

test.each([
  ["just sent", WAITED_MS - 60_000],
  ["not yet a minute", WAITED_MS - 1],
])("events wait, %s → nothing is wrong", (_situation, answeredMs) => {
  const whole = knownMachine({ outbox: { waiting: 3, oldest: OLDEST, dropped: 0 } });
  expect(warnings({ whole, answeredMs })).toEqual([]);
});
