// Sets a Durable Object's alarm as rarely as possible, because each setting writes a row; sets it again if it was lost.

/**
 * An alarm this late is set again; ringing twice does no harm. The platform's alarms are a minute late at times. An alarm that
 * was set while another one ended may never ring (cloudflare/cloudflare-docs#18324, cloudflare/workerd#6866).
 */
export const LATE_MS = 30_000;

export class LazyAlarm {
  readonly #storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">;
  readonly #nowMs: () => number;
  /** null if no alarm is set; undefined if that is unknown after an eviction. */
  #setForMs: number | null | undefined;

  /** `nowMs`: typically currentMs. */
  constructor(storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">, nowMs: () => number) {
    this.#storage = storage;
    this.#nowMs = nowMs;
  }

  /** Makes the alarm ring at this time or earlier; at once if the time has passed. */
  async atLatest(atMs: number): Promise<void> {
    await this.#read();
    // An alarm for the current millisecond would be lost with the one that rings.
    const dueMs = Math.max(atMs, this.#nowMs() + 1);
    if (this.#isSet() && (this.#setForMs ?? 0) <= dueMs) return;
    this.#setForMs = dueMs;
    await this.#storage.setAlarm(dueMs);
  }

  /** Sets the alarm to this time, unless an alarm is set. */
  async unlessSet(atMs: number): Promise<void> {
    await this.#read();
    if (!this.#isSet()) await this.atLatest(atMs);
  }

  /** Call it first thing when the alarm rings. */
  rang(): void {
    this.#setForMs = null;
  }

  #isSet(): boolean {
    return typeof this.#setForMs === "number" && this.#nowMs() - this.#setForMs <= LATE_MS;
  }

  /** Reads the alarm once. What another call has set meanwhile is newer than the answer, and stays. */
  async #read(): Promise<void> {
    const found = this.#setForMs ?? (await this.#storage.getAlarm());
    this.#setForMs ??= found;
  }
}
