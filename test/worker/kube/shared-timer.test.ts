// When those who wait by one timer are told. That it is never cleared, its type says: it is given a bell that none can stop.
import { expect, it, vi } from "vitest";
import { withDeadline } from "../../../worker/kube/deadline.ts";
import { sharedTimer } from "../../../worker/kube/shared-timer.ts";

const TICK_MS = 50;
const never = () => new Promise<string>(() => undefined);

/** A timer by a clock and a bell of its own: other objects of this process have timers too. */
function ownTimer() {
  let nowMs = 0;
  const bells: { tick: () => void; leftMs: number }[] = [];
  const timer = sharedTimer(
    TICK_MS,
    () => nowMs,
    (tick, leftMs) => void bells.push({ tick, leftMs }),
  );
  /** `byClockMs`: how far the clock goes on meanwhile. */
  const pass = async (ms: number, byClockMs = ms) => {
    for (let passed = 0; passed < ms; passed += TICK_MS) {
      nowMs += (byClockMs * TICK_MS) / ms;
      for (const bell of bells) bell.leftMs -= TICK_MS;
      const rung = bells.filter(({ leftMs }) => leftMs <= 0);
      bells.splice(0, bells.length, ...bells.filter(({ leftMs }) => leftMs > 0));
      for (const { tick } of rung) tick();
      // Whoever was told goes on: a race and two that await it.
      for (let turns = 0; turns < 10; turns++) await Promise.resolve();
    }
  };
  return { timer, pass, begun: () => bells.length };
}

it("what comes in time → it, and one more tick", async () => {
  const { timer, pass, begun } = ownTimer();
  expect(await withDeadline(3000, () => Promise.resolve("done"), "late", timer)).toBe("done");
  expect(begun()).toBe(1);
  await pass(TICK_MS);
  expect(begun()).toBe(0);
});

it("two that began at different times → each is late in its own time, by a tick at most, of one timer", async () => {
  const { timer, pass, begun } = ownTimer();
  const late: string[] = [];
  const begin = (name: string, ms: number) =>
    void withDeadline(ms, never, name, timer).then((answer) => late.push(answer));
  begin("first", 1000);
  await pass(500);
  begin("second", 1000);
  expect(begun()).toBe(1);
  await pass(450);
  expect(late).toEqual([]);
  await pass(TICK_MS);
  expect(late).toEqual(["first"]);
  await pass(450);
  expect(late).toEqual(["first"]);
  await pass(TICK_MS);
  expect([late, begun()]).toEqual([["first", "second"], 0]);
});

it("after a rest → it begins anew", async () => {
  const { timer, pass } = ownTimer();
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
  const { timer, pass } = ownTimer();
  const over = vi.fn<() => void>();
  timer(1000, over);
  await pass(1000, -3_600_000);
  expect(over).not.toHaveBeenCalled();
  await pass(TICK_MS, 0);
  expect(over).toHaveBeenCalledOnce();
});

it("late work is told by its signal", async () => {
  const { timer, pass } = ownTimer();
  let aborted = false;
  const work = (signal: AbortSignal) => {
    signal.addEventListener("abort", () => (aborted = true));
    return never();
  };
  const answer = withDeadline(100, work, "late", timer);
  await pass(150);
  expect([await answer, aborted]).toEqual(["late", true]);
});
