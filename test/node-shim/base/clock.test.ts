// Tests the timers and clocks that the shim's other files use in place of Node.js's own.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { abortAfter, after, every, pause, timestamp, wallMs } from "../../../node-shim/base/clock.ts";

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
