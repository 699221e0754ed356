// Keeps the truth about a machine, with its times. faces.ts compares the fleet's faces with it.
import { DEFAULT_SETTINGS } from "../../../shared/protocol/settings.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";

/** The longest time for which a face may state what is no longer true. */
export const LATE_MS = 45_000;
/** The longest time without a message of a machine in contact. Then its lease has expired. */
const LEASE_MS = 40_000;
/** The longest time from a first report to its answer. Its effects come before the answer. */
const IN_PROGRESS_MS = 10_000;
/** The time for which a pressure stays after its last sign, as with a kubelet. */
const PRESSURE_MS = DEFAULT_SETTINGS.evictionPressureTransitionPeriodMs;

/** A fact that is true or not, with the time of its last change. */
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

  /** Returns true if the flag is on, or was on within the last `ms`. */
  wasOn(nowMs: number, ms = LATE_MS): boolean {
    return this.isOn || nowMs - this.sinceMs <= ms;
  }

  /** Returns true if the flag is off, or was off within the last `ms`. */
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

/** The share of a capacity below which every threshold is crossed. No fault draws a share near a threshold. */
const LITTLE = 0.02;
const isLittle = ([available, capacity]: readonly [number, number]) => available < LITTLE * capacity;

/**
 * The part of the Worker that notices a machine's silence within 45 s. socket: its gateway. opening: its object, while
 * the machine opens an offered socket. nothing: only the cluster object, if it watches the Nodes (docs/cluster.md).
 */
export type Watched = "socket" | "opening" | "nothing";

/** The messages of one machine, as they reached the Worker. */
export class Heard {
  /** The time of the last message that the Worker accepted. */
  lastMs: number;
  /** The time of the first message after the last gap. */
  contactSinceMs: number;
  /** The last accepted report stated a reason for Ready False. */
  readonly notReady: Flag;
  /** The pressures that the last accepted report stated. */
  readonly pressures: Record<Pressure, Flag>;
  /** The last time when an arriving report stated each flag as on, and as off, whether the Worker accepted it or not. */
  readonly #arrived = { on: new Map<Flag, number>(), off: new Map<Flag, number>() };
  watchedBy: Watched = "nothing";
  /** The time of the first message that arrived after the last gap, whether the Worker accepted it or not. */
  arrivingSinceMs: number;
  /** The time of the last message that arrived. */
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

  /** Notes a report that arrives. From now on a face may show it, before the Worker has answered. */
  states(nowMs: number, vitals: Vitals): void {
    for (const [flag, isOn] of this.#stated(vitals)) this.#arrived[isOn ? "on" : "off"].set(flag, nowMs);
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

  #hasArrived(flag: Flag, as: "on" | "off", nowMs: number): boolean {
    return nowMs - (this.#arrived[as].get(flag) ?? -Infinity) <= LATE_MS;
  }

  /** Returns true if a face may state that the machine reports itself as not ready. */
  mayBeNotReady(nowMs: number): boolean {
    return this.notReady.wasOn(nowMs) || this.#hasArrived(this.notReady, "on", nowMs);
  }

  /** Returns true if a face may state that the machine reports itself as ready. */
  mayBeReady(nowMs: number): boolean {
    return this.notReady.wasOff(nowMs) || this.#hasArrived(this.notReady, "off", nowMs);
  }

  /** Returns true if a face may state that the machine has the pressure. A silent machine's last report counts. */
  mayHave(type: Pressure, nowMs: number): boolean {
    const flag = this.pressures[type];
    const saidMs = this.wasInContact(nowMs) ? nowMs : this.lastMs;
    return flag.wasOn(saidMs, PRESSURE_MS + LATE_MS) || this.#hasArrived(flag, "on", nowMs);
  }

  /** Returns true if a face may state that the pressure is absent. */
  mayLack(type: Pressure, nowMs: number): boolean {
    return this.pressures[type].wasOff(nowMs) || this.#hasArrived(this.pressures[type], "off", nowMs);
  }
}
