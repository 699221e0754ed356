// Tests when the callers of one shared timer are notified. The platform's timer in these tests cannot be cleared, which
// shows that the shared timer clears no timer.
import { expect, it, vi } from "vitest";
import { withDeadline } from "../../../worker/kube/deadline.ts";
import { sharedTimer } from "../../../worker/kube/shared-timer.ts";

/** The longest tick. */
const TICK_MS = 50;
/** The shortest tick. */
const LEAST_TICK_MS = 5;
const never = () => new Promise<string>(() => undefined);

/**
 * Returns a shared timer over a clock and timers of the test, since other objects of this process have timers too.
 */
function ownTimer() {
  let [nowMs, passedMs] = [0, 0];
  let bells: { tick: () => void; atMs: number }[] = [];
  const timer = sharedTimer(
    TICK_MS,
    () => nowMs,
    (tick, leftMs) => void bells.push({ tick, atMs: passedMs + leftMs }),
  );
  const goTo = (atMs: number, pace: number) => {
    nowMs += (atMs - passedMs) * pace;
    passedMs = atMs;
  };
  /** Lets `ms` pass on the timers. `byClockMs`: the milliseconds that the clock moves in that time. */
  const pass = async (ms: number, byClockMs = ms) => {
    const untilMs = passedMs + ms;
    for (let [next] = bells; next && next.atMs <= untilMs; [next] = bells) {
      goTo(next.atMs, byClockMs / ms);
      bells = bells.slice(1);
      next.tick();
      // Lets the notified callers continue. They wait for a race, through two functions.
      for (let turns = 0; turns < 10; turns++) await Promise.resolve();
    }
    goTo(untilMs, byClockMs / ms);
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

it("a wait that lasts → ticks of 5 ms that grow to the longest, and the last one is an eighth of the wait", () => {
  const ticks: { atMs: number; tickMs: number }[] = [];
  let [nowMs, next] = [0, () => undefined as void];
  const timer = sharedTimer(
    TICK_MS,
    () => nowMs,
    (tick, tickMs) => {
      ticks.push({ atMs: nowMs, tickMs });
      next = () => {
        nowMs += tickMs;
        tick();
      };
    },
  );
  const stop = timer(10_000, () => undefined);
  for (let rings = 0; rings < 60; rings++) next();
  expect(ticks).toEqual(
    ticks.map(({ atMs }) => ({ atMs, tickMs: Math.min(TICK_MS, Math.max(LEAST_TICK_MS, atMs / 8)) })),
  );
  const { length } = ticks;
  stop();
  next();
  expect(ticks).toHaveLength(length);
  // The next wait begins with short ticks again.
  timer(10_000, () => undefined);
  expect(ticks.at(-1)?.tickMs).toBe(LEAST_TICK_MS);
});

it.each([
  ["a thread without delay", 0, 5],
  ["a delay of 3 ms", 3, 24],
  ["a delay of 6.25 ms", 6.25, TICK_MS],
  ["a delay of 1 s", 1000, TICK_MS],
])("%s → the next tick is 8 times as long, between the least and the longest", (_, delayMs, expected) => {
  const ticks: number[] = [];
  let [nowMs, next] = [0, () => undefined as void];
  const timer = sharedTimer(
    TICK_MS,
    () => nowMs,
    (tick, tickMs) => {
      ticks.push(tickMs);
      next = () => {
        nowMs += tickMs + delayMs;
        tick();
      };
    },
  );
  const stop = timer(10_000, () => undefined);
  next();
  expect(ticks).toEqual([LEAST_TICK_MS, expected]);
  stop();
  next();
  timer(10_000, () => undefined);
  expect(ticks).toEqual([LEAST_TICK_MS, expected, LEAST_TICK_MS]);
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
  await pass(499);
  expect(late).toEqual([]);
  await pass(1 + TICK_MS);
  expect(late).toEqual(["first"]);
  await pass(449);
  expect(late).toEqual(["first"]);
  await pass(1 + TICK_MS);
  expect([late, begun()]).toEqual([["first", "second"], 0]);
});

it("after a pause → starts again", async () => {
  const { timer, pass } = ownTimer();
  await withDeadline(3000, () => Promise.resolve("done"), "late", timer);
  await pass(60_000);
  const over = vi.fn<() => void>();
  timer(100, over);
  await pass(99);
  expect(over).not.toHaveBeenCalled();
  await pass(1 + TICK_MS);
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
