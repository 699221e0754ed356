// Tests the probes between two reports: how often they run, and that they do not disturb each other.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { watchProbe, watchSuspend } from "../../../node-shim/loop/until-asked.ts";
import { type Probe } from "../../../node-shim/machine/machine.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { fakeClock, settle } from "../base/fake-clock.ts";
import { ROOMY } from "./machine.ts";

let clock: ReturnType<typeof fakeClock>;
let stop: AbortController;
let startedMs: number;
beforeEach(() => {
  clock = fakeClock();
  stop = new AbortController();
  startedMs = clock.nowMs();
});
afterEach(() => stop.abort());

const looksAt: number[] = [];
beforeEach(() => void looksAt.splice(0));

function watch(probe: Pick<Probe, "everyMs"> & Partial<Probe>, isStarting = () => false) {
  const seen: Partial<Vitals>[] = [];
  const look = async () => {
    looksAt.push(clock.nowMs() - startedMs);
    return { signals: ROOMY };
  };
  const watching = {
    clock,
    stop: stop.signal,
    isStarting,
    see: (what: Partial<Vitals>) => void seen.push(what),
  };
  return { seen, ended: watchProbe({ read: look, ...probe }, watching) };
}

describe("observations", () => {
  it("signals → every 10 s, the first one a while after the first report's own", async () => {
    const { seen } = watch({ everyMs: 10_000 });
    await clock.pass(30_000);
    expect(looksAt).toEqual([10_000, 20_000, 30_000]);
    expect(seen).toEqual([{ signals: ROOMY }, { signals: ROOMY }, { signals: ROOMY }]);
  });

  it("other sources → every 100 ms until the first Ready", async () => {
    const { ended } = watch({ everyMs: null }, () => clock.nowMs() - startedMs < 300);
    await clock.pass(10_000);
    await ended;
    expect(looksAt).toEqual([100, 200, 300]);
  });

  it("signals do not affect Ready → not faster during the start", async () => {
    watch({ everyMs: 10_000 }, () => true);
    await clock.pass(10_000);
    expect(looksAt).toEqual([10_000]);
  });

  it("an observation that hangs → no second one at the same time; the others continue", async () => {
    let hanging = 0;
    const look = () => {
      hanging++;
      return new Promise<Partial<Vitals>>(() => undefined);
    };
    watch({ everyMs: 5000, read: look });
    watch({ everyMs: 10_000 });
    await clock.pass(60_000);
    expect(hanging).toBe(1);
    expect(looksAt).toHaveLength(6);
  });

  it("stopped → no further observation, and it ends", async () => {
    const { ended, seen } = watch({ everyMs: 10_000 });
    await clock.pass(10_000);
    stop.abort();
    await ended;
    await clock.pass(60_000);
    expect(seen).toHaveLength(1);
  });
});

describe("suspend", () => {
  const slept: number[] = [];
  beforeEach(() => {
    slept.splice(0);
    void watchSuspend(clock, stop.signal, (ms) => void slept.push(ms));
  });

  it("an hour of sleep → noticed within a second of waking", async () => {
    await clock.pass(2500);
    clock.suspend(3_600_000);
    await clock.pass(500);
    expect(slept).toEqual([3_600_000]);
    await clock.pass(60_000);
    expect(slept).toHaveLength(1);
  });

  it("a busy second or two, or nothing at all → no sleep", async () => {
    await clock.pass(3_600_000);
    clock.suspend(5000);
    await clock.pass(1000);
    await settle();
    expect(slept).toEqual([]);
  });
});
