// Tests the timers and clocks that the shim's other files use in place of Node.js's own.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  abortAfter,
  after,
  every,
  pause,
  suspendAwareNow,
  timestamp,
  wallMs,
} from "../../../node-shim/base/clock.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 1, 3, 4, 5, 6, 7) });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Returns a `ring` that records its calls, in milliseconds since the test's start. */
function bell() {
  const beganMs = Date.now();
  const rungMs: number[] = [];
  return { rungMs, ring: () => void rungMs.push(Date.now() - beganMs) };
}

it("the wall clock → milliseconds, and RFC 3339", () => {
  expect(wallMs()).toBe(Date.UTC(2026, 1, 3, 4, 5, 6, 7));
  expect(timestamp()).toBe("2026-02-03T04:05:06.007Z");
});

describe("a timer", () => {
  it.each([
    ["once", after, [300]],
    ["every", every, [300, 600, 900]],
  ] as const)("%s → rings at its time; cancelled → not again", async (_, start, expected) => {
    const { rungMs, ring } = bell();
    const cancel = start(300, ring);
    await vi.advanceTimersByTimeAsync(1000);
    cancel();
    await vi.advanceTimersByTimeAsync(1000);
    expect(rungMs).toEqual(expected);
  });

  it("cancelled before its time → does not ring", async () => {
    const { rungMs, ring } = bell();
    after(300, ring)();
    await vi.advanceTimersByTimeAsync(1000);
    expect(rungMs).toEqual([]);
  });
});

const DAY_MS = 86_400_000;

describe("a wait that one timer of Node.js cannot hold", () => {
  it.each([
    ["the longest timer", 2 ** 31 - 1],
    ["one millisecond more", 2 ** 31],
    ["a hundred days", 100 * DAY_MS],
  ])("%s → rings once, at its time", (_, ms) => {
    const { rungMs, ring } = bell();
    after(ms, ring);
    vi.advanceTimersByTime(ms - 1);
    expect(rungMs).toEqual([]);
    vi.advanceTimersByTime(DAY_MS);
    expect(rungMs).toEqual([ms]);
  });

  it("cancelled in its second part → does not ring", () => {
    const { rungMs, ring } = bell();
    const cancel = after(100 * DAY_MS, ring);
    vi.advanceTimersByTime(30 * DAY_MS);
    cancel();
    vi.advanceTimersByTime(100 * DAY_MS);
    expect(rungMs).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the clock of the loop", () => {
  const HOUR_MS = 3_600_000;
  const START_MS = 11 * DAY_MS;

  /** Returns what the clock shows 10 s after the other clocks jumped by the given milliseconds. */
  function passed({ uptimeMs = 0, wallMs = 0 }: { uptimeMs?: number; wallMs?: number }): number {
    let at = { monotonic: 5000, uptime: START_MS, wall: Date.UTC(2026, 1, 3) };
    const nowMs = suspendAwareNow({
      monotonicMs: () => at.monotonic,
      uptimeMs: () => at.uptime,
      wallMs: () => at.wall,
    });
    const beganMs = nowMs();
    const { monotonic, uptime, wall } = at;
    at = { monotonic: monotonic + 10_000, uptime: uptime + 10_000 + uptimeMs, wall: wall + 10_000 + wallMs };
    return nowMs() - beganMs;
  }

  it.each([
    ["all clocks agree", {}, 0],
    ["a suspend of an hour", { uptimeMs: HOUR_MS, wallMs: HOUR_MS }, HOUR_MS],
    ["a container's uptime goes back to 3 s", { uptimeMs: 3000 - START_MS }, 0],
    ["uptime goes back by more than a timer can hold", { uptimeMs: -30 * DAY_MS }, 0],
    ["uptime becomes the host's, 40 days ahead", { uptimeMs: 40 * DAY_MS }, 0],
    ["the wall clock is set from 1970 to 2036", { wallMs: 66 * 365 * DAY_MS }, 0],
    ["the wall clock is set to 1970", { wallMs: -56 * 365 * DAY_MS }, 0],
    ["uptime counts in steps of 10 ms, and NTP slews", { uptimeMs: 10, wallMs: 5 }, 0],
  ])("%s → the time of the process, plus the suspend", (_, jumps, suspendedMs) => {
    expect(passed(jumps)).toBe(10_000 + suspendedMs);
  });
});

describe("a pause ends", () => {
  it.each([
    ["at its time", null, 300],
    ["at its time, though the signal comes later", 400, 300],
    ["when its signal is aborted", 200, 200],
    ["at once if the signal was aborted before", 0, 0],
  ])("%s", async (_, abortedMs, expected) => {
    const { rungMs, ring } = bell();
    const controller = new AbortController();
    if (abortedMs === 0) controller.abort();
    else if (abortedMs !== null) after(abortedMs, () => controller.abort());
    void pause(300, { signal: controller.signal }).then(ring);
    await vi.advanceTimersByTimeAsync(1000);
    expect(rungMs).toEqual([expected]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

it("a signal with a deadline → aborted then, as a timeout", async () => {
  const signal = abortAfter(300);
  await vi.advanceTimersByTimeAsync(299);
  expect(signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(signal.reason).toMatchObject({ name: "TimeoutError" });
});
