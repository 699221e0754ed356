// Tests the cost of a machine, computed from the Worker's requests.
import { expect, test } from "vitest";
import { costs, type KubeRequest } from "./traffic.ts";

const request = (atMs: number, keptBytes = 0, name = "a"): KubeRequest => ({
  atMs,
  method: "PUT",
  path: "",
  kind: "leases",
  name,
  keptBytes,
});
const every = (ms: number, fromMs: number, untilMs: number, keptBytes: number) =>
  Array.from({ length: Math.ceil((untilMs - fromMs) / ms) }, (_, at) => request(fromMs + at * ms, keptBytes));
const MINUTE = 60_000;

test.each<[situation: string, KubeRequest[], untilMs: number, object]>([
  [
    "a run of one minute → only a first minute",
    every(1000, 0, MINUTE, 10),
    MINUTE,
    { first: { requests: 60, bytes: 600 }, requestsAMinute: 0, bytesAnHour: null },
  ],
  [
    "just too short to measure later minutes",
    [request(0, 5), request(MINUTE, 7)],
    1.5 * MINUTE - 1,
    { first: { requests: 1, bytes: 5 }, requestsAMinute: 1, bytesAnHour: null, ofKinds: {} },
  ],
  [
    "half a minute more → extrapolated to an hour",
    [request(0, 5), request(MINUTE, 7)],
    1.5 * MINUTE,
    { bytesAnHour: 7 * 120, hours: 1 / 120, ofKinds: { leases: 7 * 120 } },
  ],
  [
    "three minutes → the busiest of the later ones, the bytes of both",
    [
      ...every(1000, 0, MINUTE, 1),
      ...every(2000, MINUTE, 2 * MINUTE, 1),
      ...every(3000, 2 * MINUTE, 3 * MINUTE, 1),
    ],
    3 * MINUTE,
    { first: { requests: 60 }, requestsAMinute: 30, bytesAnHour: 50 * 30 },
  ],
  [
    "a machine that starts late → its minutes start with it",
    [request(MINUTE, 5), request(2 * MINUTE - 1, 5), request(2 * MINUTE, 3)],
    3 * MINUTE,
    { first: { requests: 2, bytes: 10 }, requestsAMinute: 1, bytesAnHour: 3 * 60 },
  ],
])("%s", (_, requests, untilMs, expected) => {
  expect(costs(requests, untilMs)).toMatchObject([{ name: "a", ...expected }]);
});

test("each machine by itself; a request about no machine does not count", () => {
  const found = costs([request(0, 1, "a"), request(0, 2, "b"), request(0, 4, "")], MINUTE);
  expect(found.map(({ name, first }) => [name, first.bytes])).toEqual([
    ["a", 1],
    ["b", 2],
  ]);
});
