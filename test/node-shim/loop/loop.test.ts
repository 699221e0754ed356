// Tests when the loop reports, and the lines that it logs. Time passes only when a test lets it.
import { afterEach, describe, expect, it, test } from "vitest";
import type { ReportOutcome } from "../../../node-shim/worker-link/reporter.ts";
import { failed, late, machineWithLoop, ok, refused, type Situation } from "./machine.ts";

const HOUR_MS = 3_600_000;
let ending: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ending) await end();
  ending = [];
});

function start(situation?: Situation) {
  const machine = machineWithLoop(situation);
  ending.push(machine.end);
  return machine;
}

/** Returns the milliseconds that the loop waits after each outcome in `answers`. */
async function waitsAfter(answers: ReportOutcome[], more: Omit<Situation, "answers"> = {}) {
  const { clock, times } = start({ ...more, answers: [...answers, ok({ reportInMs: HOUR_MS })] });
  await clock.pass(HOUR_MS - 1);
  return times()
    .slice(1)
    .map((at, index) => at - (times()[index] ?? 0));
}

describe("waits", () => {
  test.each<[situation: string, outcomes: ReportOutcome[], waits: number[]]>([
    ["a report that arrived → the Worker's interval", [ok({ reportInMs: 200 }), ok()], [200, 9600]],
    ["an answer that asks for the next report now → the kubelet's own pace", [ok({ reportInMs: 0 })], [100]],
    [
      "failures → up to 1 s, doubling, never more than an interval",
      Array.from({ length: 6 }, () => failed()),
      [1000, 2000, 4000, 8000, 10_000, 10_000],
    ],
    [
      "success between failures → from the beginning",
      [failed(), failed(), ok(), failed()],
      [1000, 2000, 9600, 1000],
    ],
    ["Retry-After beyond the wait → Retry-After", [failed("busy", 30_000)], [30_000]],
    ["Retry-After below the wait → the wait", [failed(), failed(), failed("busy", 1000)], [1000, 2000, 4000]],
    [
      "late answers → up to half an interval, then one, two and three intervals",
      [late(), late(), late(), late(), late()],
      [5000, 10_000, 20_000, 30_000, 30_000],
    ],
    ["a late answer after failures → as after that number of late ones", [failed(), late()], [1000, 10_000]],
    ["401 → a minute, each time", [refused(401), refused(401)], [60_000, 60_000]],
    ["403 → a minute", [refused(403)], [60_000]],
    ["401 with a longer Retry-After → Retry-After", [refused(401, 120_000)], [120_000]],
    ["400 → like a failure", [refused(400)], [1000]],
    ["409, still challenged → like a failure", [refused(409), refused(409)], [1000, 2000]],
  ])("%s", async (_situation, outcomes, waits) => {
    expect(await waitsAfter(outcomes)).toEqual(waits);
  });

  test("full jitter: from 0 on, after any earlier wait; Retry-After stays the minimum", async () => {
    const outcomes = [failed(), failed(), failed("busy", 700)];
    expect(await waitsAfter(outcomes, { random: 0 })).toEqual([0, 0, 700]);
    expect(await waitsAfter(outcomes, { random: 0.5 })).toEqual([500, 1000, 2000]);
  });

  test("a longer interval than the configured one, set by the Worker → waits after errors may be that long", async () => {
    const settings = { nodeStatusUpdateFrequencyMs: 1000 };
    const answers = [ok({ reportInMs: 4800 }), failed(), failed(), failed(), failed()];
    expect(await waitsAfter(answers, { settings })).toEqual([4800, 1000, 2000, 4000, 4800]);
  });

  test("an interval shorter than the first wait → the interval", async () => {
    const settings = { nodeStatusUpdateFrequencyMs: 600 };
    expect(await waitsAfter([failed(), failed()], { settings })).toEqual([600, 600]);
  });

  test("away for an hour → back within one interval of the Worker's return", async () => {
    const { clock, times } = start({ answers: [failed()] });
    await clock.pass(HOUR_MS);
    const gaps = times().map((at, index) => at - (times()[index - 1] ?? 0));
    expect(Math.max(...gaps)).toBe(10_000);
  });
});

test("the connection is dropped after errors of a stuck one, and only then", async () => {
  const { clock, reconnects } = start({
    answers: [failed(), ok(), refused(401), refused(400), failed(), ok()],
  });
  await clock.pass(120_000);
  expect(reconnects()).toBe(2);
});

describe("a suspended machine", () => {
  it("wakes up → the connection is dropped and a report is sent at once", async () => {
    const { clock, loop, times, reconnects } = start();
    await clock.pass(3000);
    clock.suspend(HOUR_MS);
    loop.resumed();
    await clock.pass(0);
    expect(times()).toEqual([0, 3000 + HOUR_MS]);
    expect(reconnects()).toBe(1);
  });

  it("wakes up while it backs off → at once; while Retry-After holds → when that has passed by the wall clock", async () => {
    const backingOff = start({ answers: [refused(401), ok()] });
    await backingOff.clock.pass(3000);
    backingOff.loop.resumed();
    await backingOff.clock.pass(0);
    expect(backingOff.times()).toEqual([0, 3000]);

    const told = start({ answers: [failed("busy", 600_000), ok()] });
    await told.clock.pass(3000);
    told.clock.suspend(590_000);
    told.loop.resumed();
    await told.clock.pass(6999);
    expect(told.times()).toEqual([0]);
    await told.clock.pass(1);
    expect(told.times()).toEqual([0, 600_000]);
  });
});

describe("a step of the loop that does not end", () => {
  it("a request → a new connection after 2 minutes; an answer then → the loop continues", async () => {
    const { clock, hold, times, reconnects, lines } = start();
    const answer = hold();
    await clock.pass(119_999);
    expect(reconnects()).toBe(0);
    await clock.pass(1);
    expect(reconnects()).toBe(1);
    expect(lines).toContain(
      "warn no report for 120 s, since sending does not end: reporting on a new connection",
    );
    await answer();
    await clock.pass(HOUR_MS);
    expect(times().length).toBeGreaterThan(300);
  });

  it("hangs for 2 more minutes → the loop ends with the step's name", async () => {
    const { clock, loop, hold } = machineWithLoop();
    hold();
    const ended = expect(loop.done).rejects.toThrow("no report for 240 s: sending does not end");
    await clock.pass(240_000);
    await ended;
    expect(clock.timers()).toBe(0);
  });

  it("a wait of an hour that the Worker asked for → no hang", async () => {
    const { clock, reconnects } = start({ answers: [ok({ reportInMs: HOUR_MS })] });
    await clock.pass(HOUR_MS - 1);
    expect(reconnects()).toBe(0);
  });
});

describe("a server that wants a report at once, again and again → 20 at once, then one a second", () => {
  const within = (times: number[], ms: number) => times.filter((at) => at <= ms).length;

  test("by its answers", async () => {
    const { clock, times } = start({ answers: [ok({ reportInMs: 0 })] });
    await clock.pass(60_000);
    expect([within(times(), 8000), within(times(), 60_000)]).toEqual([28, 80]);
  });

  test("by its frames", async () => {
    const { clock, asks, times } = start();
    for (let turn = 0; turn < 800; turn++) {
      await asks();
      await clock.pass(10);
    }
    expect(times()).toHaveLength(28);
  });
});

describe("the Worker requests a report", () => {
  it("between two → at once, and the next one an interval later", async () => {
    const { clock, asks, times } = start();
    await clock.pass(3000);
    await asks();
    await clock.pass(9600);
    expect(times()).toEqual([0, 3000, 12_600]);
  });

  it("during one → right after it", async () => {
    const { clock, asks, times, hold } = start();
    await clock.pass(1000);
    const answer = hold();
    await clock.pass(8600);
    await asks();
    await clock.pass(500);
    await answer();
    expect(times()).toEqual([0, 9600, 10_100]);
  });

  it("while it backs off → at once, though not before Retry-After", async () => {
    const { clock, asks, times } = start({ answers: [failed("busy", 5000), ok()], random: 0 });
    await asks();
    await clock.pass(4999);
    expect(times()).toEqual([0]);
    await clock.pass(1);
    expect(times()).toEqual([0, 5000]);
  });
});

describe("its log", () => {
  it("the same outcome again → nothing; a change → one line; back again → one line", async () => {
    const { clock, lines } = start({ answers: [ok(), ok(), failed("no answer"), failed("no answer"), ok()] });
    await clock.pass(60_000);
    expect(lines).toEqual([
      "info phase: registered, node Ready",
      "warn report failed: no answer",
      "info phase: registered, node Ready",
    ]);
  });

  test.each([
    ["not Ready", ok({ ready: false }), "info phase: registered, node not Ready"],
    [
      "another phase",
      ok({ phase: "name taken", ready: false, message: "someone else's" }),
      "warn phase: name taken, node not Ready; someone else's",
    ],
    [
      "refused facts",
      ok({ factsRefused: { path: "/images/0", message: "too long" } }),
      "warn phase: registered, node Ready; facts refused at /images/0: too long",
    ],
    ["a refusal", refused(401), "warn report refused: Refused (unauthenticated). Do this."],
  ])("%s", async (_situation, outcome, line) => {
    const { clock, lines } = start({ answers: [outcome] });
    await clock.pass(0);
    expect(lines).toEqual([line]);
  });

  it("stopped during a report that then fails → no line about it, and no further report", async () => {
    const { clock, stop, hold, lines, times } = start({ answers: [failed("socket hang up")] });
    const release = hold();
    await clock.pass(0);
    stop.abort();
    await release();
    await clock.pass(HOUR_MS);
    expect(lines).toEqual([]);
    expect(times()).toEqual([0]);
  });
});
