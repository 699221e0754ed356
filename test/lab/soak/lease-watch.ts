// Measures the longest time between two heartbeats of a machine in the cluster, and finds late ones. A heartbeat is
// a lease's renewal or a status write, which replaces a renewal every five minutes (worker/tick/tick.ts). Pure.

/** Milliseconds between two heartbeats of a machine. A heartbeat may be late by one interval. */
export const BEAT_MS = 10_000;
export const LATE_MS = 2 * BEAT_MS;

export interface LateLease {
  name: string;
  /** Milliseconds between two successive heartbeats of the machine. */
  gapMs: number;
  /** The start of that gap, in milliseconds since 1970. */
  sinceMs: number;
}

export interface LeaseSummary {
  leases: number;
  renewals: number;
  longestMs: number;
  late: LateLease[];
}

export class LeaseWatch {
  readonly #renewedMs = new Map<string, number>();
  #beganMs = Infinity;
  #renewals = 0;
  #longestMs = 0;
  #late: LateLease[] = [];

  renewed(name: string, atMs: number): void {
    this.#look(name, atMs);
    this.#renewedMs.set(name, atMs);
    this.#renewals++;
  }

  /** Starts the measurement: earlier heartbeats do not count. */
  begin(nowMs: number): void {
    this.#beganMs = nowMs;
    this.#renewals = 0;
  }

  /** Ends the measurement. Machines that were not renewed again count until `nowMs`. */
  end(nowMs: number): LeaseSummary {
    for (const name of this.#renewedMs.keys()) this.#look(name, nowMs);
    this.#beganMs = Infinity;
    return {
      leases: this.#renewedMs.size,
      renewals: this.#renewals,
      longestMs: this.#longestMs,
      late: this.#late,
    };
  }

  /** Returns the number of renewals since `begin`. */
  get renewals(): number {
    return this.#renewals;
  }

  /** Returns the number of late heartbeats since `begin`. */
  get lateCount(): number {
    return this.#late.length;
  }

  #look(name: string, atMs: number): void {
    const sinceMs = this.#renewedMs.get(name);
    if (sinceMs === undefined || atMs < this.#beganMs) return;
    const gapMs = atMs - sinceMs;
    this.#longestMs = Math.max(this.#longestMs, gapMs);
    if (gapMs > LATE_MS) this.#late.push({ name, gapMs, sinceMs });
  }
}
