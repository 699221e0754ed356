// Tests which soak keeps which limit: each at the limit and just over it.
import { expect, test } from "vitest";
import { SOAK_BOUNDS, type SoakObserved, soakFindings } from "./verdict.ts";

const MIB = 2 ** 20;
const MINUTE_MS = 60_000;

/** Returns samples of workerd's memory, one for each minute. */
const memory = (...mib: number[]) =>
  mib.map((each, at) => ({ ageMs: SOAK_BOUNDS.settledMs + at * MINUTE_MS, residentBytes: each * MIB }));

const CLEAN: SoakObserved = {
  machines: 2,
  isReal: false,
  leases: { leases: 2, renewals: 240, longestMs: 10_000, late: [] },
  lostSockets: [],
  memory: [memory(100, 100, 100)],
  returned: null,
  tried: null,
  steady: { answers: 240, seconds: 1200, workerCpuSeconds: 12 },
};
const TRIED = {
  trial: "slowed",
  beganMs: 100_000,
  endMs: 220_000,
  onSocket: 2,
  backAfterMs: 60_000,
  goodput: null,
};
const expired = (gapMs: number, sinceMs: number): SoakObserved["leases"] => ({
  ...CLEAN.leases,
  longestMs: gapMs,
  late: [{ name: "edge-1", gapMs, sinceMs }],
});
/** Returns the verdicts of a run whose trial has these verdicts. */
const AFTER = (...trial: boolean[]) => [null, true, ...trial, true, null];
const LATE = { name: "edge-1", gapMs: 20_001, sinceMs: 0 };

test.each<[situation: string, observed: Partial<SoakObserved>, verdicts: (boolean | null)[]]>([
  ["all is well", {}, [true, true, true, null]],
  ["a lease was late", { leases: { ...CLEAN.leases, late: [LATE] } }, [false, true, true, null]],
  ["one machine has no lease", { leases: { ...CLEAN.leases, leases: 1 } }, [false, true, true, null]],
  ["a socket was lost", { lostSockets: ["edge-1: closed"] }, [true, false, true, null]],
  ["memory is 3 % up and down", { memory: [memory(97, 100, 103)] }, [true, true, true, null]],
  ["a little more up", { memory: [memory(100, 100, 103.1)] }, [true, true, false, null]],
  ["a little more down", { memory: [memory(96.9, 100, 100)] }, [true, true, false, null]],
  ["it was too short", { memory: [memory(100, 200)] }, [true, true, null, null]],
  ["two processes", { memory: [memory(90, 90, 90), memory(100, 100, 100)] }, [true, true, true, true, null]],
  [
    "all return in time",
    { returned: { afterMs: [1000, SOAK_BOUNDS.returnedMs], machines: 2 } },
    [true, true, true, true, null],
  ],
  [
    "one is late",
    { returned: { afterMs: [1000, SOAK_BOUNDS.returnedMs + 1], machines: 2 } },
    [true, true, true, false, null],
  ],
  [
    "on a real apiserver 0.026 % of a core are allowed",
    { isReal: true, steady: { answers: 1, seconds: 1000, workerCpuSeconds: 0.26 } },
    [true, null, true, true, true],
  ],
  [
    "and no more",
    { isReal: true, steady: { answers: 1, seconds: 1000, workerCpuSeconds: 0.27 } },
    [true, null, true, true, false],
  ],
  [
    "on a real apiserver a lease was late, and lasted",
    { isReal: true, leases: { ...CLEAN.leases, longestMs: SOAK_BOUNDS.leaseMs - 1, late: [LATE] } },
    [true, null, true, true, false],
  ],
  [
    "on a real apiserver a lease ran out",
    { isReal: true, leases: { ...CLEAN.leases, longestMs: SOAK_BOUNDS.leaseMs } },
    [false, null, true, true, false],
  ],
  [
    "a trial, and all return in time",
    { tried: TRIED, leases: { ...CLEAN.leases, late: [LATE] } },
    AFTER(true, true, true),
  ],
  ["80 % of the possible is taken", { tried: { ...TRIED, goodput: 0.8 } }, AFTER(true, true, true, true)],
  ["a little less", { tried: { ...TRIED, goodput: 0.799 } }, AFTER(false, true, true, true)],
  ["one machine returns too late", { tried: { ...TRIED, backAfterMs: 60_001 } }, AFTER(false, true, true)],
  ["one machine does not return", { tried: { ...TRIED, onSocket: 1 } }, AFTER(false, true, true)],
  [
    "a lease expires during the trial",
    { tried: TRIED, leases: expired(120_000 + 40_000, 99_999) },
    AFTER(true, true, true),
  ],
  [
    "a lease expires for longer",
    { tried: TRIED, leases: expired(120_000 + 40_001, 99_999) },
    AFTER(true, true, false),
  ],
  [
    "a lease expires after the trial",
    { tried: TRIED, leases: expired(40_000, TRIED.endMs) },
    AFTER(true, false, true),
  ],
  [
    "a lease is late after the trial",
    { tried: TRIED, leases: expired(39_999, TRIED.endMs) },
    AFTER(true, true, true),
  ],
  ["one does not", { returned: { afterMs: [1000], machines: 2 } }, [true, true, true, false, null]],
])("%s", (_, observed, verdicts) => {
  expect(soakFindings({ ...CLEAN, ...observed }).map(({ isKept }) => isKept)).toEqual(verdicts);
});

test("how they came back is said in steps of five seconds", () => {
  const returned = { afterMs: [100, 4999, 5000, 17_000], machines: 4 };
  const [, , , { text } = { text: "" }] = soakFindings({ ...CLEAN, returned });
  expect(text).toContain("the last one after 17.0 s; from … on: 0 s: 2, 5 s: 1, 10 s: 0, 15 s: 1");
});
