// The object's one alarm, set as rarely as possible, because setting it writes a row; and again where it was lost.

/**
 * The platform has alarms late by a minute at times, and now and then one that was set while another one ended never rings,
 * although getAlarm() names its time for ever (cloudflare/cloudflare-docs#18324, cloudflare/workerd#6866). One that is so
 * late is set again; that it then rings twice does no harm.
 */
export const LATE_MS = 30_000;

export class LazyAlarm {
  readonly #storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">;
  readonly #nowMs: () => number;
  /** null: none is set. undefined: after an eviction it is not known whether one is. */
  #setForMs: number | null | undefined;

  /** `nowMs`: typically currentMs. */
  constructor(storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">, nowMs: () => number) {
    this.#storage = storage;
    this.#nowMs = nowMs;
  }

  /** Has the alarm ring at this time or earlier; where that has passed, at once. */
  async atLatest(atMs: number): Promise<void> {
    await this.#look();
    // One that is set for this very moment goes away with the one that rings.
    const dueMs = Math.max(atMs, this.#nowMs() + 1);
    if (this.#isSet() && (this.#setForMs ?? 0) <= dueMs) return;
    this.#setForMs = dueMs;
    await this.#storage.setAlarm(dueMs);
  }

  /** Has it ring at this time, unless it is set for whatever time: whoever set it knew more. */
  async unlessSet(atMs: number): Promise<void> {
    await this.#look();
    if (!this.#isSet()) await this.atLatest(atMs);
  }

  /** Call it first thing when the alarm rings. */
  rang(): void {
    this.#setForMs = null;
  }

  #isSet(): boolean {
    return typeof this.#setForMs === "number" && this.#nowMs() - this.#setForMs <= LATE_MS;
  }

  /** What another call has set meanwhile is newer than the answer; so whoever has looked decides by #setForMs alone. */
  async #look(): Promise<void> {
    const found = this.#setForMs ?? (await this.#storage.getAlarm());
    this.#setForMs ??= found;
  }
}
