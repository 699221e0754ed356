// Sets a Durable Object's alarm as rarely as possible, because each setting writes a row. Sets a lost alarm again.

/**
 * The delay after which an alarm counts as lost and is set again; a second ring does no harm. The platform's alarms
 * are a minute late at times. An alarm that was set while another alarm ended may never ring
 * (cloudflare/cloudflare-docs#18324, cloudflare/workerd#6866).
 */
export const LATE_MS = 30_000;

export class LazyAlarm {
  readonly #storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">;
  readonly #nowMs: () => number;
  /** The time of the alarm; null if no alarm is set, undefined if unknown after an eviction. */
  #setForMs: number | null | undefined;

  /** `nowMs` returns milliseconds since 1970; typically currentMs. */
  constructor(storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">, nowMs: () => number) {
    this.#storage = storage;
    this.#nowMs = nowMs;
  }

  /** Makes the alarm ring at this time or earlier. The alarm rings at once if the time has passed. */
  async atLatest(atMs: number): Promise<void> {
    await this.#read();
    // An alarm for the current millisecond could be lost together with the alarm that is ringing.
    const dueMs = Math.max(atMs, this.#nowMs() + 1);
    if (this.#isSet() && (this.#setForMs ?? 0) <= dueMs) return;
    this.#setForMs = dueMs;
    await this.#storage.setAlarm(dueMs);
  }

  /** Sets the alarm to this time, unless an alarm is set already. */
  async unlessSet(atMs: number): Promise<void> {
    await this.#read();
    if (!this.#isSet()) await this.atLatest(atMs);
  }

  /** Records that the alarm has rung. The object's alarm handler must call rang first. */
  rang(): void {
    this.#setForMs = null;
  }

  #isSet(): boolean {
    return typeof this.#setForMs === "number" && this.#nowMs() - this.#setForMs <= LATE_MS;
  }

  /** Reads the time of the alarm, once. A time that another call has set during the read is newer and stays. */
  async #read(): Promise<void> {
    const found = this.#setForMs ?? (await this.#storage.getAlarm());
    this.#setForMs ??= found;
  }
}
