// When those who wait by one timer are told, and that none is cleared.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { withDeadline } from "../../../worker/kube/deadline.ts";
import { sharedTimer } from "../../../worker/kube/shared-timer.ts";

const TICK_MS = 50;
let nowMs: number;
let cleared: ReturnType<typeof vi.spyOn>;

beforeEach(() => {
  vi.useFakeTimers();
  nowMs = 0;
  cleared = vi.spyOn(globalThis, "clearTimeout");
});
afterEach(() => {
  expect(cleared).not.toHaveBeenCalled();
  cleared.mockRestore();
  vi.useRealTimers();
});

/** `byClockMs`: how far the clock goes on meanwhile. */
async function pass(ms: number, byClockMs = ms): Promise<void> {
  for (let passed = 0; passed < ms; passed += TICK_MS) {
    nowMs += (byClockMs * TICK_MS) / ms;
    await vi.advanceTimersByTimeAsync(TICK_MS);
  }
}
const never = () => new Promise<string>(() => undefined);

it("what comes in time → it, and one more tick", async () => {
  const timer = sharedTimer(TICK_MS, () => nowMs);
  expect(await withDeadline(3000, () => Promise.resolve("done"), "late", timer)).toBe("done");
  expect(vi.getTimerCount()).toBe(1);
  await pass(TICK_MS);
  expect(vi.getTimerCount()).toBe(0);
});

it("two that began at different times → each is late in its own time, by a tick at most, of one timer", async () => {
  const timer = sharedTimer(TICK_MS, () => nowMs);
  const late: string[] = [];
  const begin = (name: string, ms: number) =>
    void withDeadline(ms, never, name, timer).then((answer) => late.push(answer));
  begin("first", 1000);
  await pass(500);
  begin("second", 1000);
  expect(vi.getTimerCount()).toBe(1);
  await pass(450);
  expect(late).toEqual([]);
  await pass(TICK_MS);
  expect(late).toEqual(["first"]);
  await pass(450);
  expect(late).toEqual(["first"]);
  await pass(TICK_MS);
  expect([late, vi.getTimerCount()]).toEqual([["first", "second"], 0]);
});

it("after a rest → it begins anew", async () => {
  const timer = sharedTimer(TICK_MS, () => nowMs);
  await withDeadline(3000, () => Promise.resolve("done"), "late", timer);
  await pass(60_000);
  const over = vi.fn<() => void>();
  timer(100, over);
  await pass(TICK_MS);
  expect(over).not.toHaveBeenCalled();
  await pass(TICK_MS);
  expect(over).toHaveBeenCalledOnce();
});

it("a clock that is put back → told all the same, a tick later", async () => {
  const timer = sharedTimer(TICK_MS, () => nowMs);
  const over = vi.fn<() => void>();
  timer(1000, over);
  await pass(1000, -3_600_000);
  expect(over).not.toHaveBeenCalled();
  await pass(TICK_MS, 0);
  expect(over).toHaveBeenCalledOnce();
});

it("late work is told by its signal", async () => {
  const timer = sharedTimer(TICK_MS, () => nowMs);
  let aborted = false;
  const work = (signal: AbortSignal) => {
    signal.addEventListener("abort", () => (aborted = true));
    return never();
  };
  const answer = withDeadline(100, work, "late", timer);
  await pass(150);
  expect([await answer, aborted]).toEqual(["late", true]);
});
