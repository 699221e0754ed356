// Spreads the enrolments of many machines over time: each machine gets a turn. Turns are only in memory: if an
// eviction loses them, the machines that come back get other turns.
import { RATE_LIMITS, reserve, type TokenBucket } from "../storage/token-bucket.ts";

export const TURN_LIMITS = {
  /** The longest wait for a turn. At this limit a machine gets no turn, and asks again later. */
  longestMs: 600_000,
  /** The time for which a turn is kept for its machine. */
  keptMs: 60_000,
} as const;

/** The refusal of a machine that has to wait because many machines enrol. */
export interface NotItsTurn {
  reason: "not its turn";
  waitSeconds: number;
  /** The wait and the number of machines ahead, for the machine's operator. */
  detail: string;
}

export class Turns {
  #bucket: TokenBucket | undefined;
  /** The time of each machine's turn, by the thumbprint of its key. The earliest turn is the first entry. */
  readonly #turnMs = new Map<string, number>();

  /** Returns null if it is the machine's turn, else the refusal with the wait. */
  take(thumbprint: string, nowMs: number): NotItsTurn | null {
    for (const [machine, turnMs] of this.#turnMs) {
      if (turnMs + TURN_LIMITS.keptMs > nowMs) break;
      this.#turnMs.delete(machine);
    }
    const waitMs = this.#waitMs(thumbprint, nowMs);
    if (waitMs <= 0) {
      this.#turnMs.delete(thumbprint);
      return null;
    }
    const waitSeconds = Math.ceil(waitMs / 1000);
    const ahead = Math.ceil(waitMs / RATE_LIMITS.enrolments.everyMs).toLocaleString("en");
    return {
      reason: "not its turn",
      waitSeconds,
      detail: `About ${waitSeconds} s: ${ahead} machines are ahead.`,
    };
  }

  #waitMs(thumbprint: string, nowMs: number): number {
    const { longestMs } = TURN_LIMITS;
    const known = this.#turnMs.get(thumbprint);
    // A clock that was put back must not extend the wait.
    if (known !== undefined && known - nowMs <= longestMs) return known - nowMs;
    const { waitMs, bucket } = reserve(this.#bucket, RATE_LIMITS.enrolments, 1, nowMs);
    if (waitMs > longestMs) return longestMs;
    this.#bucket = bucket;
    if (waitMs > 0) this.#turnMs.set(thumbprint, nowMs + waitMs);
    return waitMs;
  }
}
