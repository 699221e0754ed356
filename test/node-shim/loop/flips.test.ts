// Tests that changes of conditions are reported at once, only once, and not too often for the Worker.
import { afterEach, describe, expect, it, test } from "vitest";
import { problemsText, type Seen } from "../../../node-shim/machine/machine.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { failed, GiB, machineWithLoop, ok, PROBLEMS, ROOMY, type Situation, TIGHT } from "./machine.ts";

const DOWN = { runtime: ["container runtime is down"] };
let ending: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ending) await end();
  ending = [];
});

/** Returns a machine with a loop whose first report was just delivered. */
async function running(situation: Situation = {}) {
  const machine = machineWithLoop(situation);
  ending.push(machine.end);
  await machine.clock.pass(0);
  return machine;
}

describe("observed 3 s after a report", () => {
  test.each<[situation: string, before: Vitals, seen: Seen, isToldAtOnce: boolean]>([
    ["memory falls below its threshold", { signals: ROOMY }, { signals: TIGHT }, true],
    [
      "memory changes above its threshold",
      { signals: ROOMY },
      { signals: { "memory.available": [2 * GiB, 3 * GiB] } },
      false,
    ],
    [
      "memory is above its threshold again: the condition still holds",
      { signals: TIGHT },
      { signals: ROOMY },
      false,
    ],
    ["no signal could be observed", { signals: ROOMY }, { signals: {} }, false],
    [
      "a signal without a threshold runs low",
      { signals: ROOMY },
      { signals: { "pid.available": [0, 9] } },
      false,
    ],
    ["the runtime is down", { signals: ROOMY }, { errors: DOWN }, true],
    ["a problem detector has an event", { signals: ROOMY }, { problems: problemsText(PROBLEMS) }, true],
    ["the runtime is back", { signals: ROOMY, errors: DOWN }, { errors: {} }, true],
    [
      "the runtime is down for another reason",
      { signals: ROOMY, errors: DOWN },
      { errors: { runtime: ["x"] } },
      true,
    ],
    [
      "the network is down too",
      { signals: ROOMY, errors: DOWN },
      { errors: { ...DOWN, network: ["x"] } },
      true,
    ],
    ["the runtime is down as before", { signals: ROOMY, errors: DOWN }, { errors: DOWN }, false],
    ["a container runtime is found", { signals: ROOMY }, { errors: {}, hasRuntime: true }, true],
    ["there is still no runtime", { signals: ROOMY }, { errors: {}, hasRuntime: false }, false],
    ["no error, written differently", { signals: ROOMY }, { errors: { runtime: [], storage: [] } }, false],
    ["the machine shuts down", { signals: ROOMY }, { shuttingDown: true }, true],
    ["the shutdown is cancelled", { signals: ROOMY, shuttingDown: true }, { shuttingDown: false }, true],
    ["no shutdown, as before", { signals: ROOMY }, { shuttingDown: false }, false],
  ])("%s", async (_situation, before, seen, isToldAtOnce) => {
    const { clock, times, sees, is, loop } = await running({ vitals: before });
    // The loop reads its probes first, so the test's values come after the loop's.
    loop.see({ shuttingDown: before.shuttingDown ?? false });
    await clock.pass(3000);
    const since = times().length;
    const { hasRuntime = false, problems, ...vitals } = seen;
    is({ ...before, ...vitals }, hasRuntime, problems !== undefined);
    await sees(seen);
    expect(times().length - since).toBe(isToldAtOnce ? 1 : 0);
    await sees(seen);
    expect(times().length - since, "told once").toBe(isToldAtOnce ? 1 : 0);
  });
});

it("an event of a problem detector, before the drop-ins with its condition → reported again, with them", async () => {
  const { clock, times, sees, is } = await running();
  const event = { problems: problemsText(PROBLEMS) };
  is({ signals: ROOMY }, false, true, false);
  await sees(event);
  is({ signals: ROOMY }, false, true);
  await clock.pass(1000);
  await sees(event);
  await sees(event);
  expect(times()).toEqual([0, 0, 1000]);
});

it("a pressure ends with its transition period → reported then, before the next periodic report", async () => {
  const settings = { evictionPressureTransitionPeriodMs: 60_000 };
  const answers = [ok({ reportInMs: 3_000_000 })];
  const { clock, times, sees } = await running({ settings, answers, vitals: { signals: TIGHT } });
  await clock.pass(59_999);
  await sees({ signals: ROOMY });
  expect(times()).toEqual([0]);
  await clock.pass(1);
  await sees({ signals: ROOMY });
  expect(times()).toEqual([0, 60_000]);
});

describe("a threshold is crossed and crossed back before the report", () => {
  const OTHERS: Vitals["signals"] = { "nodefs.available": [GiB, GiB] };

  it("reported with its value of then, with the rest as it is now; the next report has the current value", async () => {
    const { clock, reports, sees, is } = await running();
    is({ signals: { ...ROOMY, ...OTHERS } });
    await sees({ signals: TIGHT });
    await clock.pass(9600);
    expect(reports.map(({ vitals }) => vitals.signals)).toEqual([
      ROOMY,
      { ...TIGHT, ...OTHERS },
      { ...ROOMY, ...OTHERS },
    ]);
  });

  it("the report fails → the next one contains it", async () => {
    const { clock, reports, sees } = await running({ answers: [ok(), failed(), ok()] });
    await sees({ signals: TIGHT });
    await clock.pass(21_000);
    expect(reports.map(({ vitals }) => vitals.signals)).toEqual([ROOMY, TIGHT, TIGHT, ROOMY, ROOMY]);
  });

  it("no answer until the condition would have ended → it is not reported as current", async () => {
    const settings = { evictionPressureTransitionPeriodMs: 60_000 };
    const { clock, reports, sees } = await running({ settings, answers: [ok(), failed()] });
    await sees({ signals: TIGHT });
    await clock.pass(70_000);
    expect(reports.at(-1)?.vitals.signals).toEqual(ROOMY);
  });
});

describe("while a request is under way", () => {
  it("a change → sent right after it; never two requests at a time", async () => {
    const { clock, times, sees, is, hold, reports } = await running();
    const release = hold();
    await clock.pass(9600);
    is({ signals: ROOMY, errors: DOWN });
    await sees({ errors: DOWN });
    await clock.pass(400);
    expect(times()).toEqual([0, 9600]);
    await release();
    expect(times()).toEqual([0, 9600, 10_000]);
    expect(reports.at(-1)?.vitals.errors).toEqual(DOWN);
  });

  it("changed and changed back → no further report", async () => {
    const { clock, times, sees, hold } = await running();
    const release = hold();
    await clock.pass(9600);
    await sees({ errors: DOWN });
    await sees({ errors: {} });
    await release();
    expect(times()).toEqual([0, 9600]);
  });

  it("it fails → still backs off", async () => {
    const { clock, times, sees, hold } = await running({ answers: [ok(), failed(), ok()] });
    const release = hold();
    await clock.pass(9600);
    await sees({ errors: DOWN });
    await release();
    expect(times()).toEqual([0, 9600]);
    await clock.pass(1000);
    expect(times()).toEqual([0, 9600, 10_600]);
  });
});

describe("flapping", () => {
  it("every second for ten minutes → five at once, then five a minute, in addition to the periodic reports", async () => {
    const { clock, times, sees, is } = await running({ answers: [ok({ reportInMs: 3_000_000 })] });
    let isDown = false;
    const second = async () => {
      isDown = !isDown;
      is({ signals: ROOMY, errors: isDown ? DOWN : {} });
      await sees({ errors: isDown ? DOWN : {} });
      await clock.pass(1000);
    };
    for (let seconds = 0; seconds < 60; seconds++) await second();
    const afterAMinute = times().length - 1;
    for (let seconds = 0; seconds < 540; seconds++) await second();
    expect(afterAMinute).toBe(9);
    expect(times().length - 1 - afterAMinute).toBe(45);
  });

  it("ended, but its last change could not be sent → with the next observation that finds a token", async () => {
    const { clock, times, sees, is } = await running({ answers: [ok({ reportInMs: 3_000_000 })] });
    for (let flips = 0; flips < 8; flips++) {
      const errors = flips % 2 === 0 ? DOWN : {};
      is({ signals: ROOMY, errors });
      await sees({ errors });
    }
    expect(times()).toHaveLength(6);
    await clock.pass(5000);
    await sees({ errors: {} });
    await clock.pass(7000);
    await sees({ errors: {} });
    expect(times().slice(6)).toEqual([12_000]);
  });

  it("a shutdown is reported after any flapping", async () => {
    const { sees, is, reports } = await running({ answers: [ok({ reportInMs: 3_000_000 })] });
    for (let flips = 0; flips < 9; flips++) await sees({ errors: flips % 2 === 0 ? DOWN : {} });
    is({ signals: ROOMY, shuttingDown: true });
    await sees({ shuttingDown: true });
    expect(reports.at(-1)?.vitals.shuttingDown).toBe(true);
  });
});

it("a shutdown while it backs off → reported at once, once", async () => {
  const { clock, times, sees, is } = await running({
    answers: [failed(), failed(), failed(), ok()],
    vitals: { signals: ROOMY },
  });
  await clock.pass(1000);
  is({ signals: ROOMY, shuttingDown: true });
  await sees({ shuttingDown: true });
  expect(times()).toEqual([0, 1000, 1000]);
  await clock.pass(3999);
  expect(times()).toEqual([0, 1000, 1000]);
});

describe("until the first Ready", () => {
  const starting = () =>
    running({
      answers: [ok({ ready: false }), ok({ ready: true })],
      vitals: { signals: ROOMY, errors: { runtime: ["not yet"] } },
    });

  it("other reasons not to be Ready are not reported at once; becoming ready is", async () => {
    const { clock, times, sees, is, loop } = await starting();
    expect(loop.isStarting()).toBe(true);
    await clock.pass(1000);
    await sees({ errors: DOWN });
    expect(times()).toEqual([0]);
    is({ signals: ROOMY });
    await sees({ errors: {} });
    expect(times()).toEqual([0, 1000]);
    expect(loop.isStarting()).toBe(false);
    await sees({ errors: DOWN });
    expect(times(), "and after it, every reason is").toEqual([0, 1000, 1000]);
  });

  it("a pressure is still reported at once", async () => {
    const { times, sees } = await starting();
    await sees({ signals: TIGHT });
    expect(times()).toHaveLength(2);
  });

  it("for two minutes, not longer", async () => {
    const { clock, loop } = await running({ answers: [ok({ ready: false, reportInMs: 3_000_000 })] });
    await clock.pass(119_999);
    expect(loop.isStarting()).toBe(true);
    await clock.pass(1);
    expect(loop.isStarting()).toBe(false);
  });
});
