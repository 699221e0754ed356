// Tests the spans of a trial: their lines, and the least share of the possible answers.
import { expect, it, test } from "vitest";
import { type MachinesReport, NO_EVENTS } from "./fleet.ts";
import { leastGoodput, type Span, spanOf, spanText } from "./spans.ts";

const second = (report: Partial<MachinesReport>): MachinesReport => ({
  ...NO_EVENTS,
  onSocket: 2,
  ...report,
});

it("a span has what its seconds have, and reasons without the machines' names", () => {
  const seconds = [
    second({ answersMs: [900, 50], failures: ["edge-1: late"] }),
    second({ answersMs: [60, 70], failures: ["edge-2: late"], ends: ["edge-2: closed"], onSocket: 1 }),
  ];
  expect(spanText(20, spanOf(seconds, 1, 3.4))).toBe(
    "  20 s: 1 on sockets; 2 reports taken (median 60 ms), 1 leases renewed, 3 of both possible; not taken 2: late; sockets lost 1: closed",
  );
});

const span = (taken: number, possible: number): Span => ({ ...spanOf([], 100, possible), taken });

test.each<[situation: string, taken: number[], share: number]>([
  ["less than a lease duration", [0, 0, 0], 1],
  ["more than possible, as a busy Worker renews fewer leases", [200, 200, 200, 200], 1],
  ["none in one span, as during a garbage collection", [150, 0, 150, 150], 1],
  ["less from the second span on", [300, 100, 50, 60, 70], 0.85],
])("reports taken and 100 leases renewed, of 100 in each span: %s → %#", (_, taken, share) => {
  expect(leastGoodput(taken.map((each) => span(each, 100)))).toBe(share);
});
