// Plays hours of a fleet, event after event, and counts what the platform would bill. The clock moves to the next event
// as soon as all parts wait for it, so the computer's speed does not count. Alarms and cron follow that clock. An
// object without requests for ten seconds is evicted.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Facts } from "../../../../shared/protocol/facts.ts";
import type { BilledCounts } from "../../../worker/support/billed-counts.ts";
import type { Progress } from "../benchmark.ts";
import { ROOT } from "../workerd.ts";
import { type FleetPlace, withFleetPlace } from "./fleet-place.ts";
import { type SteppedTime, steppedTime } from "./stepped-time.ts";
import type { CostTransport } from "./transport.ts";
import type { WireCount } from "./wire.ts";

/** Noon: no daily work is due. */
const START_MS = Date.UTC(2026, 0, 1, 12);
/** Machines start one after the other, so that their heartbeats never coincide. */
const SPREAD_MS = 9600;
/** Enrolment, registration and their follow-up work are counted apart. */
const FIRST_MS = 6 * 60_000;
/** Time until the apiserver's data has arrived at a watch. */
const ARRIVED_MS = 5;
/** In the computer's own time. */
const STUCK_MS = 120_000;
const NEVER = Number.POSITIVE_INFINITY;

export interface FleetHours {
  machines: number;
  hours: number;
  beats: number;
  counts: BilledCounts;
  /** Traffic between machines and Worker. */
  wire: WireCount;
  /** The same for the enrolments and the first reports. */
  start: WireCount;
}

export interface FleetWish {
  transport: CostTransport;
  machines: number;
  hours: number;
  facts: Facts;
  /** An idle connection is cut after this time; absent: never. */
  cutAfterMs?: number | undefined;
  /** Time before the counted hours; absent: minutes. */
  firstMs?: number;
}

export async function fleetHours(wish: FleetWish, progress: Progress): Promise<FleetHours> {
  const { transport, machines, hours, cutAfterMs = NEVER, firstMs = FIRST_MS } = wish;
  const time = steppedTime(START_MS);
  return withFleetPlace({ ...wish, time }, async (place) => {
    const { control, wire } = place;
    const fleet = new Fleet(place, time, cutAfterMs);
    await fleet.passUntil(START_MS + (machines === 1 ? SPREAD_MS / 4 : SPREAD_MS));
    const start = wire.take();
    await fleet.passUntil(START_MS + firstMs);
    await control.counts();
    wire.take();
    const beatsBefore = fleet.beats;
    const fromMs = time.nowMs();
    await fleet.passUntil(fromMs + hours * 3600_000, () => {
      const minutes = Math.round((time.nowMs() - fromMs) / 60_000);
      progress(`${transport.name}: ${minutes} of ${Math.round(hours * 60)} minutes of ${machines} machines`);
    });
    const counts = await control.counts();
    return { machines, hours, beats: fleet.beats - beatsBefore, counts, wire: wire.take(), start };
  });
}

interface BeatingMachine {
  name: string;
  /** Time of its next heartbeat; NEVER: it waits for an answer. */
  dueMs: number;
  beat: (index: number) => Promise<number>;
  beats: number;
  /** True if it reports again after its answer. */
  isAsked: boolean;
}

class Fleet {
  readonly #place: FleetPlace;
  readonly #time: SteppedTime;
  readonly #cutAfterMs: number;
  readonly #machines: BeatingMachine[];
  readonly #cronEveryMs = cronPeriodMs();
  #nextCronMs: number;
  #fault: unknown;
  beats = 0;

  constructor(place: FleetPlace, time: SteppedTime, cutAfterMs: number) {
    this.#place = place;
    this.#time = time;
    this.#cutAfterMs = cutAfterMs;
    const nowMs = time.nowMs();
    this.#machines = place.machines.map(({ name, beat, listen }, index) => {
      const dueMs = nowMs + (index * SPREAD_MS) / place.machines.length;
      const machine = { name, beat, beats: 0, dueMs, isAsked: false };
      listen?.(() => {
        if (machine.dueMs === NEVER) machine.isAsked = true;
        else machine.dueMs = this.#time.nowMs();
      });
      return machine;
    });
    this.#nextCronMs = nowMs + this.#cronEveryMs;
  }

  async passUntil(untilMs: number, onStep: () => void = () => undefined): Promise<void> {
    let movedMs = performance.now();
    for (;;) {
      const isMoved = await this.#step(untilMs);
      if (this.#fault !== undefined) throw new Error("a machine failed", { cause: this.#fault });
      if (isMoved) movedMs = performance.now();
      else await wait(1);
      if (performance.now() - movedMs > STUCK_MS) throw new Error("the Worker is at work, and does not end");
      onStep();
      if (isMoved && this.#time.nowMs() >= untilMs) return;
    }
  }

  /** Returns false while any part is at work. */
  async #step(untilMs: number): Promise<boolean> {
    const { control, kube, machines } = this.#place;
    if (machines.some(({ isBusy }) => isBusy?.())) return false;
    const held = kube.held();
    const isHeld = (name: string) =>
      held.some(({ path, body }) => path.includes(name) || body.includes(name));
    // A machine's request may be on its way until the apiserver has received one about that machine.
    if (this.#machines.some(({ name, dueMs }) => dueMs === NEVER && !isHeld(name))) return false;
    const timerMs = this.#time.nextMs();
    // Date.now() has no fractions.
    const toMs = Math.ceil(Math.min(this.#nextMachineMs(), this.#nextCronMs, timerMs, untilMs));
    const { isQuiet, nowMs, dueMs } = await control.step({ toMs, held: held.length });
    if (!isQuiet) return false;
    this.#time.goTo(nowMs);
    if (timerMs <= nowMs && kube.held().length === held.length) await wait(ARRIVED_MS);
    if (dueMs !== null && dueMs <= nowMs) await control.ring();
    if (this.#nextCronMs <= nowMs) {
      this.#nextCronMs += this.#cronEveryMs;
      await control.cron();
    }
    for (const machine of this.#machines) if (machine.dueMs <= nowMs) void this.#beat(machine);
    return true;
  }

  #nextMachineMs(): number {
    return Math.min(...this.#machines.map(({ dueMs }) => dueMs));
  }

  async #beat(machine: BeatingMachine): Promise<void> {
    this.#place.wire.cutIdle(this.#cutAfterMs);
    machine.dueMs = NEVER;
    try {
      const waitMs = await machine.beat(machine.beats++);
      this.beats++;
      machine.dueMs = this.#time.nowMs() + (machine.isAsked ? 0 : waitMs);
      machine.isAsked = false;
    } catch (error) {
      this.#fault = error;
    }
  }
}

/** Period of the platform's own calls of the Worker. */
function cronPeriodMs(): number {
  const toml = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  const [, minutes = "1"] = /^crons = \["\*(?:\/(\d+))? \* \* \* \*"\]$/m.exec(toml) ?? [];
  return Number(minutes) * 60_000;
}
