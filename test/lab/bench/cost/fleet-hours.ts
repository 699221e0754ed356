// Plays hours of a fleet, event after event, and counts what the platform would bill. The clock moves to the next
// event as soon as all parts wait for it, so the computer's speed does not count. Alarms and cron follow that
// clock. An object without requests for ten seconds is evicted.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Facts } from "../../../../shared/protocol/facts.ts";
import type { BilledCounts } from "../../../worker/support/billed-counts.ts";
import type { Progress } from "../benchmark.ts";
import { ROOT } from "../workerd.ts";
import { Asked, type AskedWish } from "./asked.ts";
import { type FleetPlace, lookLater, withFleetPlace } from "./fleet-place.ts";
import { type SteppedTime, steppedTime } from "./stepped-time.ts";
import type { CostTransport } from "./transport.ts";
import type { WireCount } from "./wire.ts";

/** The start of the played time: noon, when no daily work is due. */
const START_MS = Date.UTC(2026, 0, 1, 12);
/**
 * The machines start one after the other within this number of milliseconds, so that their heartbeats never
 * coincide.
 */
const SPREAD_MS = 9600;
/**
 * The machines with which a gateway measures how many machines it can serve, and the milliseconds after which the other
 * machines start. Without a measurement the registry would use more gateways than a grown fleet has.
 */
const FIRST_MACHINES = { number: 100, othersAfterMs: 35_000 };
/**
 * Milliseconds for enrolment, registration and their follow-up work, which are counted separately. The follow-up work ends
 * with the second write of the status: the Node then has all that it will have.
 */
const FIRST_MS = 16 * 60_000;
/** The time that the apiserver takes for an answer unless a caller wants another time, in milliseconds. */
export const ANSWERS_AFTER_MS = 50;
/** The real time without progress after which the measurement fails, in milliseconds. */
const STUCK_MS = 120_000;
const NEVER = Number.POSITIVE_INFINITY;

export interface FleetHours {
  machines: number;
  hours: number;
  beats: number;
  counts: BilledCounts;
  /** The traffic between the machines and the Worker in the counted hours. */
  wire: WireCount;
  /** The traffic of the enrolments and the first reports. */
  start: WireCount;
  /** The number of answers of the first machine to an operator's questions. */
  answers: number;
}

export interface FleetWish {
  transport: CostTransport;
  machines: number;
  hours: number;
  facts: Facts;
  /** Milliseconds after which an idle connection is cut. Absent: never. */
  cutAfterMs?: number | undefined;
  /** Milliseconds before the counted hours. Absent: FIRST_MS. */
  firstMs?: number;
  /** The milliseconds that the apiserver takes for an answer. Absent: ANSWERS_AFTER_MS. */
  answersAfterMs?: number;
  /** The questions of an operator to the first machine in the counted hours. Absent: none. */
  asked?: AskedWish;
}

export async function fleetHours(wish: FleetWish, progress: Progress): Promise<FleetHours> {
  const { transport, machines, hours, cutAfterMs = NEVER, firstMs = FIRST_MS } = wish;
  const { answersAfterMs = ANSWERS_AFTER_MS } = wish;
  const time = steppedTime(START_MS);
  const asked = wish.asked && new Asked(wish.asked, time);
  const { answering } = asked ?? {};
  return withFleetPlace({ ...wish, time, answersAfterMs, answering }, async (place) => {
    const { control, wire } = place;
    const fleet = new Fleet(place, time, { cutAfterMs, asked, transport });
    const startMs = time.nowMs();
    await fleet.passUntil(startMs + (machines === 1 ? SPREAD_MS / 4 : SPREAD_MS));
    const start = wire.take();
    await fleet.passUntil(startMs + firstMs);
    await asked?.begin(place.operator, time.nowMs());
    await control.counts();
    wire.take();
    const beatsBefore = fleet.beats;
    const fromMs = time.nowMs();
    await fleet.passUntil(fromMs + hours * 3600_000, () => {
      const minutes = Math.round((time.nowMs() - fromMs) / 60_000);
      progress(`${transport.name}: ${minutes} of ${Math.round(hours * 60)} minutes of ${machines} machines`);
    });
    const counts = await control.counts();
    const { answers = 0 } = asked ?? {};
    return { machines, hours, beats: fleet.beats - beatsBefore, counts, wire: wire.take(), start, answers };
  });
}

interface BeatingMachine {
  name: string;
  /**
   * The time of the machine's next heartbeat, in milliseconds since 1970. NEVER while the machine waits for an
   * answer.
   */
  dueMs: number;
  beat: (index: number) => Promise<number>;
  beats: number;
  /** true if the machine reports again as soon as it has its answer. */
  isAsked: boolean;
}

interface FleetChoice {
  cutAfterMs: number;
  asked: Asked | undefined;
  transport: CostTransport;
}

class Fleet {
  readonly #place: FleetPlace;
  readonly #time: SteppedTime;
  readonly #choice: FleetChoice;
  readonly #machines: BeatingMachine[];
  readonly #cronEveryMs = cronPeriodMs();
  #nextCronMs: number;
  #fault: Error | undefined;
  beats = 0;

  constructor(place: FleetPlace, time: SteppedTime, choice: FleetChoice) {
    this.#place = place;
    this.#time = time;
    this.#choice = choice;
    const nowMs = time.nowMs();
    this.#machines = place.machines.map(({ name, beat, listen }, index) => {
      const isFirst = index < FIRST_MACHINES.number;
      const startMs = nowMs + (isFirst ? 0 : FIRST_MACHINES.othersAfterMs);
      const dueMs = startMs + (index * SPREAD_MS) / place.machines.length;
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
    let [movedMs, looks] = [performance.now(), 0];
    for (;;) {
      const work = await this.#step(untilMs);
      const isMoved = work === null;
      if (this.#fault !== undefined)
        throw new Error(`a machine failed: ${this.#fault.message}`, { cause: this.#fault });
      if (isMoved) [movedMs, looks] = [performance.now(), 0];
      else await lookLater(looks++);
      if (performance.now() - movedMs > STUCK_MS) throw new Error(`work does not end: ${work}`);
      onStep();
      if (isMoved && this.#time.nowMs() >= untilMs) return;
    }
  }

  /** Moves the clock to the next event. Returns the work in progress; null if the clock has moved. */
  async #step(untilMs: number): Promise<string | null> {
    const { control, machines, stepTo } = this.#place;
    const opening = machines.find(({ isBusy }) => isBusy?.());
    if (opening) return `${opening.name} opens a socket`;
    const { asked } = this.#choice;
    if (asked?.isOnItsWay) return "a question, or its answer";
    const toMs = Math.min(this.#nextMachineMs(), this.#nextCronMs, asked?.nextMs ?? NEVER, untilMs);
    const sent = this.#machines.filter(({ dueMs }) => dueMs === NEVER).length;
    const work = await stepTo(toMs, sent);
    if (work !== null) return work;
    const nowMs = this.#time.nowMs();
    if (this.#nextCronMs <= nowMs) {
      this.#nextCronMs += this.#cronEveryMs;
      await control.cron();
    }
    if (asked && asked.nextMs <= nowMs) void this.#ask(asked);
    for (const machine of this.#machines) if (machine.dueMs <= nowMs) void this.#beat(machine);
    return null;
  }

  #nextMachineMs(): number {
    return Math.min(...this.#machines.map(({ dueMs }) => dueMs));
  }

  async #ask(asked: Asked): Promise<void> {
    const [machine] = this.#machines;
    const { transport } = this.#choice;
    await asked
      .ask(machine!.name, transport.gateway !== undefined)
      .catch((error: Error) => (this.#fault = error));
  }

  async #beat(machine: BeatingMachine): Promise<void> {
    this.#place.wire.cutIdle(this.#choice.cutAfterMs);
    machine.dueMs = NEVER;
    try {
      const waitMs = await machine.beat(machine.beats++);
      this.beats++;
      machine.dueMs = this.#time.nowMs() + (machine.isAsked ? 0 : waitMs);
      machine.isAsked = false;
    } catch (error) {
      this.#fault = error instanceof Error ? error : new Error(String(error));
    }
  }
}

/** Returns the period of the cron trigger of wrangler.toml, in milliseconds. */
function cronPeriodMs(): number {
  const toml = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  const [, minutes = "1"] = /^crons = \["\*(?:\/(\d+))? \* \* \* \*"\]$/m.exec(toml) ?? [];
  return Number(minutes) * 60_000;
}
