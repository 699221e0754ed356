// Tests the verdict of a run: each limit can be broken by itself, and the text says what to check.
import { describe, expect, it, test } from "vitest";
import type { Cost } from "./traffic.ts";
import { BOUNDS, isClean, type Outcomes, p99, verdictText } from "./verdict.ts";

const MIB = 2 ** 20;
const cost = (more: Partial<Cost> = {}): Cost => ({
  name: "hostile-03",
  first: { requests: 20, bytes: 1000 },
  requestsAMinute: 20,
  bytesAnHour: MIB,
  hours: 1,
  ofKinds: { nodes: MIB / 2, leases: MIB / 2 },
  ...more,
});
const clean: Outcomes = {
  plan: { seed: 3, machines: 4, minutes: 5 },
  apiserver: "the apiserver",
  kinds: new Map([["rotates", new Map([["200", 1]])]]),
  othersChanged: [],
  elsewhere: [],
  beyondGrants: [],
  answers: { ended: 5, complete: 2 },
  answersForged: [],
  marks: 7,
  marksLost: [],
  operatorActs: 9,
  auditLost: [],
  costs: [cost()],
  etcdBytesAnHour: MIB,
  honestBefore: [5],
  honestDuring: [9],
  honestFaults: [],
  failures: [],
  overLimits: [],
  fleetAlerts: [],
  unreachable: [],
  deliveries: 20,
  toldMs: [1500],
  untold: [],
  historyLines: 400,
  historyLost: [],
  loads: [{ names: "hostile-03", nodes: 50, bytes: MIB }],
  minutes: 4,
  objectBytes: new Map([["hostile-03", MIB]]),
  residentBytes: [100 * MIB],
};
const AGAIN = "npm run hostile -- --as machine --machines 4 --minutes 5 --seed 3";
const lastLine = (text: string) => text.trimEnd().split("\n").at(-1);
const brokenLines = (text: string) => text.split("\n").filter((line) => line.startsWith("BROKEN"));
const long = (count: number, ms: number) => Array.from({ length: count }, () => ms);

describe("a verdict", () => {
  it("all limits kept → clean, with the measured amounts", () => {
    expect(isClean(clean)).toBe(true);
    const text = verdictText(clean);
    expect(lastLine(text)).toBe("clean: 24 limits kept");
    expect(brokenLines(text)).toEqual([]);
    expect(text).toContain("rotates  200 × 1");
    expect(text).toContain("against the apiserver");
    expect(text).toContain("of 7 marks of others lost: 0");
    expect(text).toContain(
      "hostile-03: 20 requests and 0.00 MiB in its first minute, then at most 20 a minute and 1.00 MiB an hour (nodes 0.50 MiB, leases 0.50 MiB)",
    );
  });

  it.each<[situation: string, Partial<Outcomes>, line: string, lookAt: string]>([
    ["an outage was told", { fleetAlerts: ["all: firing outage 1"] }, "fleet: 1", "all: firing outage 1"],
    ["a machine blames the apiserver", { unreachable: ["hostile-00: x"] }, "apiserver: 1", "hostile-00: x"],
    ["an alert did not arrive", { untold: ["firing"] }, "not arrive: 1 of 2", "firing"],
    ["a line is lost", { historyLost: ["honest-0: new"] }, "honest machines: 1", "honest-0: new"],
    ["another Node changed", { othersChanged: ["/nodes/a is gone"] }, "changed: 1", "/nodes/a is gone"],
    [
      "the Worker sent requests elsewhere",
      { elsewhere: ["GET /api/v1/secrets"] },
      "elsewhere: 1",
      "GET /api/v1/secrets",
    ],
    [
      "a Node has more than its token allows",
      { beyondGrants: ["a has label b"] },
      "tokens: 1",
      "a has label b",
    ],
    [
      "an asker gets a forged answer",
      { answersForged: ["the answer of a: not its own"] },
      "of 5 answers to questions, 2 of them complete, forged or endless ones: 1",
      "the answer of a: not its own",
    ],
    ["a mark is lost", { marksLost: ["a has lost b"] }, "of 7 marks of others lost: 1", "a has lost b"],
    [
      "an act is not in the log",
      { auditLost: ["token.create t"] },
      "of 9 operators' acts not in the audit log: 1",
      "token.create t",
    ],
    ["a limit did not hold", { overLimits: ["act 5"] }, "over a limit and taken: 1", "act 5"],
    ["a request failed", { failures: ["5xx: act 5"] }, "5xx or no answer: 1", "5xx: act 5"],
    [
      "an honest machine failed",
      { honestFaults: ["honest-0 is not Ready"] },
      "not Ready or refused: 1",
      "honest-0 is not Ready",
    ],
    [
      "honest machines became slow",
      { honestBefore: [60], honestDuring: [121] },
      "60.0 ms before, 121.0 ms during",
      AGAIN,
    ],
    ["no honest machine reported", { honestDuring: [] }, "(1 and 0 reports)", AGAIN],
    [
      "a burst of requests",
      { costs: [cost({ first: { requests: 1000, bytes: 0 } })] },
      "first minute: 1000 (hostile-03)",
      AGAIN,
    ],
    [
      "a burst of bytes",
      { costs: [cost({ first: { requests: 0, bytes: 9 * MIB } })] },
      "first minute: 9.00 MiB (hostile-03)",
      AGAIN,
    ],
    [
      "many requests in a minute",
      { costs: [cost(), cost({ name: "b", requestsAMinute: 26 })] },
      "later minute of a machine: 26 (b), at most 25",
      AGAIN,
    ],
    [
      "many bytes in an hour",
      { costs: [cost(), cost({ name: "b", bytesAnHour: 4 * MIB })] },
      "machine and hour: 4.00 MiB (b), at most 3.00 MiB and 0.19 MiB once",
      AGAIN,
    ],
    [
      "etcd grows",
      { etcdBytesAnHour: 4 * MIB },
      "on average: 4.00 MiB (all), at most 3.00 MiB and 0.19 MiB once",
      AGAIN,
    ],
    [
      "an object grows",
      { objectBytes: new Map([["a", 5 * MIB]]) },
      "storage of a machine: 5.00 MiB (a)",
      AGAIN,
    ],
    [
      "a token's Nodes are large",
      { loads: [{ names: "a", nodes: 1, bytes: 4 * MIB + 1 }] },
      "a join token's Nodes: 4.00 MiB (a), at most 4.00 MiB",
      AGAIN,
    ],
    [
      "a token has many Nodes",
      { loads: [{ names: "a", nodes: 681, bytes: 0 }] },
      "Nodes of a join token: 681 (a), at most 680",
      AGAIN,
    ],
    ["a receiver is flooded", { deliveries: 41 }, "deliveries to a receiver: 41, at most 40", AGAIN],
    ["there was no machine", { objectBytes: new Map() }, "storage of a machine: 0.00 MiB (none)", AGAIN],
    [
      "memory grows",
      { residentBytes: Array.from({ length: 100 }, (_, at) => (100 + at * 10) * MIB) },
      "which is not flat",
      AGAIN,
    ],
  ])("%s → not clean, and what to check", (_, more, line, lookAt) => {
    const outcomes = { ...clean, ...more };
    expect(isClean(outcomes)).toBe(false);
    const text = verdictText(outcomes);
    expect(brokenLines(text)).toEqual([expect.stringContaining(line)]);
    expect(text).toContain(lookAt);
    expect(lastLine(text)).toBe(`not clean: 1 broken; ${AGAIN}`);
  });

  it.each<[situation: string, Partial<Outcomes>]>([
    [
      "at each limit",
      {
        costs: [
          cost({
            first: { requests: BOUNDS.firstMinuteRequests, bytes: BOUNDS.firstMinuteBytes },
            requestsAMinute: BOUNDS.requestsAMinute,
            bytesAnHour: BOUNDS.bytesAnHour + BOUNDS.savedBytes,
          }),
        ],
      },
    ],
    [
      "in some minutes, its saved budget",
      { costs: [cost({ bytesAnHour: 4.4 * MIB, hours: 1 / 15 })], etcdBytesAnHour: 4.4 * MIB },
    ],
    [
      "a token and a receiver at their limits",
      { loads: [{ names: "a", nodes: 680, bytes: 4 * MIB }], deliveries: 40 },
    ],
    ["an object at its size limit", { objectBytes: new Map([["a", BOUNDS.objectBytes]]) }],
    ["twice as slow", { honestBefore: [80], honestDuring: [160] }],
    ["much slower than almost nothing, and still fast", { honestBefore: [2], honestDuring: [100] }],
    ["one report of a hundred slow", { honestDuring: [...long(99, 5), 5000] }],
    ["no etcd", { etcdBytesAnHour: null }],
  ])("%s → clean", (_, more) => {
    expect(isClean({ ...clean, ...more })).toBe(true);
  });

  it("a run that is too short for an hour's bytes → a line about that, and a verdict on the first minute alone", () => {
    const outcomes = { ...clean, costs: [cost({ bytesAnHour: null, requestsAMinute: 1000 })] };
    expect(isClean(outcomes)).toBe(true);
    expect(verdictText(outcomes).match(/too short to measure/g)).toHaveLength(2);
  });

  it("a run by acts → the command that runs the same number again", () => {
    const outcomes = { ...clean, plan: { ...clean.plan, acts: 4 }, failures: ["5xx: act 5"] };
    expect(lastLine(verdictText(outcomes))).toContain("--as machine --machines 4 --acts 4 --seed 3");
  });

  it("many faults → the first twenty, each cut", () => {
    const failures = Array.from({ length: 30 }, (_, at) => `fault-${at} ${"x".repeat(5000)}`);
    const lines = verdictText({ ...clean, failures }).split("\n");
    const shown = lines.filter((line) => line.startsWith("fault-"));
    expect([shown.length, Math.max(...shown.map(({ length }) => length))]).toEqual([20, 1000]);
  });
});

test.each<[durations: number[], longest: number]>([
  [[], 0],
  [[3, 1, 2], 3],
  [[...long(98, 1), 7, 9], 7],
  [[...long(198, 1), 7, 9], 1],
])("p99 of %j → %d", (durations, longest) => {
  expect(p99(durations)).toBe(longest);
});
