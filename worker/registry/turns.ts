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
  /** The wait and the machines ahead, for the machine's operator. */
  detail: string;
}

interface TurnToken {
  /** The ID of the machine's join token. */
  token: string;
  unused: number;
}

export class Turns {
  #bucket: TokenBucket | undefined;
  /** The time and the join token of each machine's turn, by the thumbprint of its key. The earliest turn is first. */
  readonly #turns = new Map<string, { atMs: number; token: string }>();

  /**
   * Returns null if it is the machine's turn, else the refusal with the wait. `unused`: the unused uses of the token,
   * which has no more turns: its holder could otherwise invent keys, and make all other machines wait.
   */
  take(thumbprint: string, nowMs: number, { token, unused }: TurnToken): NotItsTurn | null {
    const { longestMs, keptMs } = TURN_LIMITS;
    for (const [machine, { atMs }] of this.#turns) {
      if (atMs + keptMs > nowMs) break;
      this.#turns.delete(machine);
    }
    const known = this.#turns.get(thumbprint);
    // A clock that was put back must not extend the wait.
    if (known && known.atMs - nowMs <= longestMs) return this.#refusal(thumbprint, known.atMs - nowMs);
    const { waitMs, bucket } = reserve(this.#bucket, RATE_LIMITS.enrolments, 1, nowMs);
    if (waitMs > longestMs) return this.#refusal(thumbprint, longestMs);
    const isFull = waitMs > 0 && unused <= this.#turns.size && this.#turnsOf(token) >= unused;
    if (isFull) return this.#refusal(thumbprint, keptMs, "other machines with this join token are");
    this.#bucket = bucket;
    this.#turns.set(thumbprint, { atMs: nowMs + waitMs, token });
    return this.#refusal(thumbprint, waitMs);
  }

  #turnsOf(token: string): number {
    let count = 0;
    for (const turn of this.#turns.values()) if (turn.token === token) count++;
    return count;
  }

  #refusal(thumbprint: string, waitMs: number, others?: string): NotItsTurn | null {
    if (waitMs <= 0) {
      this.#turns.delete(thumbprint);
      return null;
    }
    const waitSeconds = Math.ceil(waitMs / 1000);
    const count = Math.ceil(waitMs / RATE_LIMITS.enrolments.everyMs);
    const machines = count === 1 ? "1 machine is" : `${count.toLocaleString("en")} machines are`;
    return {
      reason: "not its turn",
      waitSeconds,
      detail: `About ${waitSeconds} s: ${others ?? machines} ahead.`,
    };
  }
}
