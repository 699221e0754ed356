// Tests which floods stay within the limits.
import { expect, test } from "vitest";
import { type Flooded, floodFindings, MOST_P99_MS } from "./flood-verdict.ts";

const MINUTE = {
  onSocket: 2,
  answers: 100,
  p50Ms: 50,
  p99Ms: MOST_P99_MS,
  longestMs: 2000,
  failures: 0,
  lost: 0,
  late: 0,
  cpu: { worker: 10, machines: 0, apiserver: 0 },
  residentBytes: 0,
  lagMs: 0,
};
const FLOODED: Flooded = {
  kind: "reports",
  sent: 9,
  answers: { "said: ok": 9 },
  neighbours: MINUTE,
  lost: [],
};
const LEASES = { leases: 2, renewals: 9, longestMs: 10_000, late: [] };

test.each<[situation: string, flooded: Partial<Flooded>, late: number, verdicts: boolean[]]>([
  ["p99 is a second", {}, 0, [true, true]],
  ["more", { neighbours: { ...MINUTE, p99Ms: MOST_P99_MS + 1 } }, 0, [false, true]],
  ["a neighbour's socket was lost", { lost: ["edge-2: closed"] }, 0, [false, true]],
  ["a lease was late", {}, 1, [true, false]],
])("%s", (_, flooded, late, verdicts) => {
  const leases = {
    ...LEASES,
    late: Array.from({ length: late }, () => ({ name: "a", gapMs: 1, sinceMs: 0 })),
  };
  const found = floodFindings({ floods: [{ ...FLOODED, ...flooded }], leases });
  expect(found.map(({ isKept }) => isKept)).toEqual(verdicts);
});
