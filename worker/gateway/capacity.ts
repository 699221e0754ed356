// Measures how many machines a gateway can serve, reports the number to the registry, and moves machines to another
// gateway while the gateway has more machines than it can serve.
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import { inTime } from "../kube/deadline.ts";
import { type GatewayParts, NOTIFY_WITHIN_MS } from "./endings.ts";
import { PUTS_AT_ONCE } from "./renewals.ts";

export const CAPACITY = {
  /** The number of PUTs whose 95th percentile is one measurement. */
  puts: 100,
  /** The time between two reports to the registry. Only the shortest measurement of this time counts. */
  everyMs: 600_000,
  /** The share of its time for which each of the PUTS_AT_ONCE slots may be in use. */
  used: 0.7,
  /** The factor by which a capacity must differ from the reported capacity. */
  changed: 1.25,
  /** The least number of machines of a gateway that reports: smaller gateways need no report. */
  reportsFrom: 50,
  least: 10,
  most: GATEWAY_LIMITS.size[1],
} as const;

export class Capacity {
  readonly #in: GatewayParts;
  /** The durations of PUTs, as shares of their machines' intervals. */
  #shares: number[] = [];
  /** The shortest measurement since the last report; Infinity if there is none. */
  #shortest = Infinity;
  #sinceMs: number;
  /** The reported number of machines; null if the gateway has reported none since its start. */
  #reported: number | null = null;
  /** true once the capacity comes from a whole `everyMs`, so that no short disturbance moves machines. */
  #isSettled = false;
  #late = 0;

  constructor(parts: GatewayParts) {
    this.#in = parts;
    this.#sinceMs = parts.nowMs();
  }

  /** Notes the duration of an answered PUT. */
  note(tookMs: number, intervalMs: number): void {
    this.#shares.push(tookMs / intervalMs);
    if (this.#shares.length < CAPACITY.puts) return;
    this.#shares.sort((a, b) => a - b);
    this.#shortest = Math.min(this.#shortest, this.#shares[0.95 * CAPACITY.puts] ?? 0);
    this.#shares = [];
  }

  /** Notes a PUT that waited too long. */
  noteLate(): void {
    this.#late++;
  }

  /** Reports a changed capacity, or moves one machine. Returns true if further machines must move. */
  async adjust(): Promise<boolean> {
    const { members, held, registry } = this.#in;
    const { number } = members;
    const late = this.#late;
    this.#late = 0;
    if (number === null) return false;
    await this.#report(number);
    if (late === 0 || !this.#isSettled || members.count <= (this.#reported ?? Infinity)) return false;
    const socket = held.open().find(({ attachment }) => attachment.beatMs !== null);
    if (!socket) return false;
    const { name, kid } = socket.attachment;
    await this.#ask(() => registry.move({ name, kid, from: number }));
    return true;
  }

  async #report(number: number): Promise<void> {
    const { members, registry, nowMs } = this.#in;
    const isWhole = Math.abs(nowMs() - this.#sinceMs) >= CAPACITY.everyMs;
    if (!isWhole && (this.#shortest === Infinity || this.#reported !== null)) return;
    const shortest = this.#shortest;
    if (isWhole) [this.#shortest, this.#sinceMs] = [Infinity, nowMs()];
    if (shortest === Infinity || members.count < CAPACITY.reportsFrom) return;
    const { used, least, most } = CAPACITY;
    const machines = Math.floor(Math.min(most, Math.max(least, (used * PUTS_AT_ONCE) / shortest)));
    const ratio = machines / (this.#reported ?? Infinity);
    const isChanged = ratio > CAPACITY.changed || ratio < 1 / CAPACITY.changed;
    if (isChanged && !(await this.#ask(() => registry.noteCapacity(number, machines)))) return;
    if (isChanged) this.#reported = machines;
    this.#isSettled = isWhole;
  }

  /** Returns true if the registry answered. A later turn repeats what failed. */
  async #ask(ask: () => Promise<unknown>): Promise<boolean> {
    const { log, timer } = this.#in;
    try {
      await inTime(NOTIFY_WITHIN_MS, ask, undefined, timer);
      return true;
    } catch (error) {
      log({ message: "the registry was not told", error: String(error) });
      return false;
    }
  }
}
