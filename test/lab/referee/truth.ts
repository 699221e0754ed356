// Keeps what is true about a machine and the cluster, and since when. The faces of the fleet are compared with it.
import { DEFAULT_SETTINGS } from "../../../shared/protocol/settings.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";

/** The longest time for which a face may say what is not true any more. */
export const LATE_MS = 45_000;
/** A machine without a message for this time is not in contact: its lease has expired. */
const LEASE_MS = 40_000;
/** The longest time of the first report after a gap, whose effects come before its answer. */
const IN_PROGRESS_MS = 10_000;
/** A pressure stays for this time after its last sign, as with a kubelet. */
const PRESSURE_MS = DEFAULT_SETTINGS.evictionPressureTransitionPeriodMs;

/** Something that is so, or is not so, and since when. */
export class Flag {
  isOn: boolean;
  sinceMs: number;

  constructor(isOn: boolean, nowMs: number) {
    this.isOn = isOn;
    this.sinceMs = nowMs;
  }

  set(isOn: boolean, nowMs: number): void {
    if (isOn === this.isOn) return;
    this.isOn = isOn;
    this.sinceMs = nowMs;
  }

  /** Returns true if it is so, or was so within the last `ms`. */
  wasOn(nowMs: number, ms = LATE_MS): boolean {
    return this.isOn || nowMs - this.sinceMs <= ms;
  }

  /** Returns true if it is not so, or was not so within the last `ms`. */
  wasOff(nowMs: number, ms = LATE_MS): boolean {
    return !this.isOn || nowMs - this.sinceMs <= ms;
  }
}

export type Pressure = "MemoryPressure" | "DiskPressure" | "PIDPressure";

/** The signals behind each condition. The default thresholds have none for process IDs. */
const SIGNALS_OF: Record<Pressure, (keyof Vitals["signals"])[]> = {
  MemoryPressure: ["memory.available"],
  DiskPressure: ["nodefs.available", "nodefs.inodesFree"],
  PIDPressure: [],
};
export const PRESSURES = Object.keys(SIGNALS_OF) as Pressure[];

/** A share of what is available: below it, every threshold is crossed; above, none is. */
const LITTLE = 0.02;
const isLittle = ([available, capacity]: readonly [number, number]) => available < LITTLE * capacity;

/**
 * What notices a machine's silence. socket: its gateway. opening: its object, while the machine opens a socket that the
 * Worker has offered. nothing: the node controller or an alarm of the object, later (docs/cluster.md).
 */
export type Watched = "socket" | "opening" | "nothing";

/** What the Worker has heard of one machine. */
export class Heard {
  /** The time of the last message that the Worker accepted. */
  lastMs: number;
  /** The time of the first message after the last gap. */
  contactSinceMs: number;
  /** Whether the last report stated a reason for Ready False. */
  readonly notReady: Flag;
  /** The pressures that the last report stated. */
  readonly pressures: Record<Pressure, Flag>;
  /** What the reports that arrived have stated, whether the Worker accepted them or not. */
  readonly #arrived = new Map<Flag, number>();
  /** How soon the Worker must notice a silence, by what the last answer said. */
  watchedBy: Watched = "nothing";
  /** The first message that arrived after the last gap, whether the Worker accepted it or not. */
  arrivingSinceMs: number;
  arrivedMs: number;

  constructor(nowMs: number) {
    this.lastMs = nowMs;
    this.contactSinceMs = nowMs;
    this.arrivedMs = nowMs;
    this.arrivingSinceMs = nowMs;
    this.notReady = new Flag(false, nowMs);
    const flag = () => new Flag(false, nowMs - PRESSURE_MS - LATE_MS);
    this.pressures = { MemoryPressure: flag(), DiskPressure: flag(), PIDPressure: flag() };
  }

  /** Notes a message that reached the Worker. */
  arrived(nowMs: number): void {
    if (nowMs - this.arrivedMs > LEASE_MS) this.arrivingSinceMs = nowMs;
    this.arrivedMs = nowMs;
  }

  /** Notes an accepted message. `vitals`: of a report; absent for a heartbeat, which changes no condition. */
  message(nowMs: number, vitals?: Vitals): void {
    if (nowMs - this.lastMs > LEASE_MS) this.contactSinceMs = nowMs;
    this.lastMs = nowMs;
    if (vitals) for (const [flag, isOn] of this.#stated(vitals)) flag.set(isOn, nowMs);
  }

  /** Notes a report that arrives: what it states may be shown from now on, before the Worker has answered. */
  states(nowMs: number, vitals: Vitals): void {
    for (const [flag, isOn] of this.#stated(vitals)) if (isOn) this.#arrived.set(flag, nowMs);
  }

  #stated({ errors, shuttingDown, signals }: Vitals): [Flag, boolean][] {
    const hasError = (errors?.["runtime"] ?? []).length > 0;
    return [
      [this.notReady, hasError || shuttingDown === true],
      ...PRESSURES.map((type): [Flag, boolean] => {
        const isSo = SIGNALS_OF[type].some((name) => signals[name] !== undefined && isLittle(signals[name]));
        return [this.pressures[type], isSo];
      }),
    ];
  }

  /** Returns true if the machine is in contact, or was within the last `ms`. */
  wasInContact(nowMs: number, ms = LATE_MS): boolean {
    return nowMs - this.lastMs <= ms || nowMs - this.arrivingSinceMs <= IN_PROGRESS_MS;
  }

  /** Returns true if the machine is not in contact, or was not within the last 45 s. */
  wasOutOfContact(nowMs: number): boolean {
    return (
      nowMs - this.arrivedMs > LEASE_MS || nowMs - this.arrivingSinceMs <= LATE_MS || this.isRefused(nowMs)
    );
  }

  /** Returns true if messages arrive, and the Worker accepts none. */
  isRefused(nowMs: number): boolean {
    return nowMs - this.lastMs > LEASE_MS && nowMs - this.arrivedMs <= LEASE_MS;
  }

  #hasArrived(flag: Flag, nowMs: number): boolean {
    return nowMs - (this.#arrived.get(flag) ?? -Infinity) <= LATE_MS;
  }

  /** Returns true if a face may state that the machine is not ready by its own word. */
  mayBeNotReady(nowMs: number): boolean {
    return this.notReady.wasOn(nowMs) || this.#hasArrived(this.notReady, nowMs);
  }

  /** Returns true if a face may state the pressure as the machine's. Of a silent machine the last word counts. */
  mayHave(type: Pressure, nowMs: number): boolean {
    const flag = this.pressures[type];
    const saidMs = this.wasInContact(nowMs) ? nowMs : this.lastMs;
    return flag.wasOn(saidMs, PRESSURE_MS + LATE_MS) || this.#hasArrived(flag, nowMs);
  }

  /** Returns true if a face may state that the pressure is absent. */
  mayLack(type: Pressure, nowMs: number): boolean {
    return this.pressures[type].wasOff(nowMs);
  }
}
