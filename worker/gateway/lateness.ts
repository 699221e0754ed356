// Measures how late this isolate reads heartbeats. The requests and timers of a busy isolate are as late, so that its
// gateways must not mistake this lateness for a fault of the apiserver or of a machine.

/** The number of heartbeats whose median counts. One machine, whose clock may be wrong on purpose, moves no median. */
const HEARTBEATS = 21;
/** The least number of a gateway's machines from which it measures, since one machine sends few of HEARTBEATS then. */
export const LATENESS_FROM = 20;
/** The least lateness that counts: a slow network delays heartbeats by less. */
const LEAST_MS = 1000;
/** The most that a delay counts. Without this limit, many machines with wrong clocks could put off a silence for ever. */
const MOST_MS = 20_000;
/** The time in which a lateness that is not measured again halves: the machines of a late isolate send less. */
const HALVED_MS = 10_000;
/** An isolate is busy while it is late, and for this time afterwards, in which it renews the leases that are behind. */
const RECOVERY_MS = 60_000;

/** What a busy isolate does. It thus answers all machines, and renews leases as fast as it can. */
export const WHILE_BUSY = {
  /** The lateness of which each second puts off the next heartbeat by this many seconds. */
  putOff: 9,
  /** The share of the lease duration that at most passes between two heartbeats. */
  heartbeat: 0.7,
  /** The share of the time between two heartbeats that is random. */
  spread: 0.4,
  /** The share of the lease duration after which a lease must be renewed. */
  renewal: 0.8,
  /** The report intervals that a silent machine's socket stays longer. One more than a shim waits for a busy Worker. */
  silence: 4,
  /**
   * The lease durations without a renewal after which a loan ends, and without a heartbeat after which the next one is not
   * fresh: a report would make the isolate busier.
   */
  leases: 3,
  /**
   * The factor of the longest duration of a loan, whose end is a periodic report. Afterwards the factor falls to 1 within
   * this duration, so that the reports that were put off do not come together.
   */
  quiet: 2,
  /** The most reports in progress of a gateway, so that they end in time. The gateway refuses more by itself. */
  reports: 1,
  /** The time limit of a PUT, whose answer the isolate reads late. */
  putMs: 20_000,
  /**
   * The time after a machine's last frame within which its node object is not told that its socket has ended: the machine
   * soon reports over HTTP, which takes the loan back.
   */
  endedMs: 30_000,
  /** The most node objects that one turn of the alarm notifies. */
  notifiedAtOnce: 4,
} as const;

export class Lateness {
  readonly #nowMs: () => number;
  readonly #delays: number[] = [];
  /** The largest median, halved in each HALVED_MS. */
  #peakMs = 0;
  #notedMs = 0;
  /** The time of the last heartbeat that showed a lateness, or came while an earlier one had not yet faded. */
  #lateMs = Number.NEGATIVE_INFINITY;

  constructor(
    nowMs: () => number, // typically currentMs
  ) {
    this.#nowMs = nowMs;
  }

  /** Notes the delay of a heartbeat against the fastest heartbeat of its machine. */
  note(delayMs: number): void {
    this.#delays.push(Math.min(delayMs, MOST_MS));
    if (this.#delays.length < HEARTBEATS) return;
    const [median = 0] = this.#delays.toSorted((a, b) => a - b).slice(HEARTBEATS >> 1);
    this.#delays.shift();
    this.#peakMs = Math.max(median, this.#leftMs());
    this.#notedMs = this.#nowMs();
    if (this.#peakMs >= LEAST_MS) this.#lateMs = this.#notedMs;
  }

  /** The lateness in milliseconds; 0 if the isolate is not late. */
  get ms(): number {
    const leftMs = this.#leftMs();
    return leftMs >= LEAST_MS ? leftMs : 0;
  }

  /** The milliseconds since the isolate was last busy: 0 while it is busy, Infinity if it never was. */
  get calmMs(): number {
    return Math.max(0, Math.abs(this.#nowMs() - this.#lateMs) - RECOVERY_MS);
  }

  #leftMs(): number {
    return this.#peakMs * 0.5 ** (Math.abs(this.#nowMs() - this.#notedMs) / HALVED_MS);
  }
}
