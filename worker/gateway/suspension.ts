// Whether the apiserver is asked: where it fails, one request at a time finds out whether it still does. Makes none itself.

/** From one request to the next while it fails: the first time, the longest, and the longest that it can ask for itself. */
export const SUSPENSION_MS = { first: 1000, longest: 10_000, longestAsked: 60_000 } as const;

export class Suspension {
  /** 0: the apiserver answers, as far as is known. */
  #waitMs = 0;
  #failedMs = 0;
  #probeFromMs = 0;
  #isProbing = false;

  get isOn(): boolean {
    return this.#waitMs > 0;
  }

  /** May a request begin now? A clock that was put back makes nobody wait for longer. */
  mayAsk(nowMs: number): boolean {
    if (this.#waitMs === 0) return true;
    return !this.#isProbing && (nowMs >= this.#probeFromMs || nowMs < this.#failedMs);
  }

  /** Call it as a request begins; what it returns belongs to its outcome: is it the one that finds out? */
  begin(): boolean {
    if (this.#waitMs > 0) this.#isProbing = true;
    return this.#waitMs > 0;
  }

  succeeded(): void {
    this.#waitMs = 0;
    this.#isProbing = false;
  }

  /** `retryAfterMs`: what the apiserver has asked for. Of many that fail at once each after the first changes nothing. */
  failed(isProbe: boolean, nowMs: number, retryAfterMs = 0): void {
    const isFirst = this.#waitMs === 0;
    if (isProbe) this.#isProbing = false;
    else if (!isFirst) return;
    const { first, longest, longestAsked } = SUSPENSION_MS;
    this.#waitMs = isFirst ? first : Math.min(2 * this.#waitMs, longest);
    this.#failedMs = nowMs;
    this.#probeFromMs = nowMs + Math.max(this.#waitMs, Math.min(retryAfterMs, longestAsked));
  }
}
