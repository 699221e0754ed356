// Tests when the callers of one shared timer are notified. The platform's timer in these tests cannot be cleared, which
// shows that the shared timer clears no timer.
import { expect, it, vi } from "vitest";
import { withDeadline } from "../../../worker/kube/deadline.ts";
import { sharedTimer } from "../../../worker/kube/shared-timer.ts";

const TICK_MS = 50;
const never = () => new Promise<string>(() => undefined);

/**
 * Returns a shared timer over a clock and timers of the test, since other objects of this process have timers too.
 */
function ownTimer() {
  let nowMs = 0;
  const bells: { tick: () => void; leftMs: number }[] = [];
  const timer = sharedTimer(
    TICK_MS,
    () => nowMs,
    (tick, leftMs) => void bells.push({ tick, leftMs }),
  );
  /** Lets `ms` pass on the timers. `byClockMs`: the milliseconds that the clock moves in that time. */
  const pass = async (ms: number, byClockMs = ms) => {
    for (let passed = 0; passed < ms; passed += TICK_MS) {
      nowMs += (byClockMs * TICK_MS) / ms;
      for (const bell of bells) bell.leftMs -= TICK_MS;
      const rung = bells.filter(({ leftMs }) => leftMs <= 0);
      bells.splice(0, bells.length, ...bells.filter(({ leftMs }) => leftMs > 0));
      for (const { tick } of rung) tick();
      // Lets the notified callers continue. They wait for a race, through two functions.
      for (let turns = 0; turns < 10; turns++) await Promise.resolve();
    }
  };
  return { timer, pass, begun: () => bells.length };
}

it("a result in time → the result, and one more tick", async () => {
  const { timer, pass, begun } = ownTimer();
  expect(await withDeadline(3000, () => Promise.resolve("done"), "late", timer)).toBe("done");
  expect(begun()).toBe(1);
  await pass(TICK_MS);
  expect(begun()).toBe(0);
});

it("two with different starts → each is late at its own time, within a tick, of one timer", async () => {
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

it("after a pause → starts again", async () => {
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

it("a clock that is set back → notified all the same, a tick later", async () => {
  const { timer, pass } = ownTimer();
  const over = vi.fn<() => void>();
  timer(1000, over);
  await pass(1000, -3_600_000);
  expect(over).not.toHaveBeenCalled();
  await pass(TICK_MS, 0);
  expect(over).toHaveBeenCalledOnce();
});

it("late work gets the abort signal", async () => {
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
