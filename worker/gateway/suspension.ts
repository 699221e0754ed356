// Whether the apiserver is asked: where it fails, one request at a time finds out whether it still does. Makes none itself.

/** From one request to the next while it fails: the first time, the longest, and the longest that it can ask for itself. */
export const SUSPENSION_MS = { first: 1000, longest: 10_000, longestAsked: 60_000 } as const;

/** A request; what came of it is said with it. */
export interface AskedOnce {
  /** Counted from 1, as they begin. */
  n: number;
  /** Is it the one that finds out whether the apiserver answers again? */
  isProbe: boolean;
}

export class Suspension {
  #begun = 0;
  /** The last to begin of those that have succeeded. */
  #succeeded = 0;
  /** 0: the apiserver answers, as far as is known. */
  #waitMs = 0;
  #failedMs = 0;
  #probeFromMs = 0;
  /** The one that finds out, while it is under way. */
  #probe: number | null = null;

  get isOn(): boolean {
    return this.#waitMs > 0;
  }

  /** May a request begin now? A clock that was put back makes nobody wait for longer. */
  mayAsk(nowMs: number): boolean {
    if (this.#waitMs === 0) return true;
    return this.#probe === null && (nowMs >= this.#probeFromMs || nowMs < this.#failedMs);
  }

  /** Call it as a request begins; with what it returns its outcome is said. */
  begin(): AskedOnce {
    const asked = { n: ++this.#begun, isProbe: this.#waitMs > 0 };
    if (asked.isProbe) this.#probe = asked.n;
    return asked;
  }

  succeeded({ n }: AskedOnce): void {
    this.#succeeded = Math.max(this.#succeeded, n);
    this.#waitMs = 0;
    this.#probe = null;
  }

  /**
   * `retryAfterMs`: what the apiserver has asked for. Of many that fail at once each after the first changes nothing; nor does
   * one that was slow, while another that began later has had its answer.
   */
  failed({ n }: AskedOnce, nowMs: number, retryAfterMs = 0): void {
    const isProbe = n === this.#probe;
    if (isProbe) this.#probe = null;
    if (n < this.#succeeded && retryAfterMs === 0) return;
    const isFirst = this.#waitMs === 0;
    if (!isProbe && !isFirst) return;
    const { first, longest, longestAsked } = SUSPENSION_MS;
    this.#waitMs = isFirst ? first : Math.min(2 * this.#waitMs, longest);
    this.#failedMs = nowMs;
    this.#probeFromMs = nowMs + Math.max(this.#waitMs, Math.min(retryAfterMs, longestAsked));
  }
}
