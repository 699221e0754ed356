// The object's one alarm, set as seldom as can be: setting it writes a row.

export class LazyAlarm {
  readonly #storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">;
  /** null: none is set. undefined: an eviction has forgotten whether one is. */
  #setForMs: number | null | undefined;

  constructor(storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">) {
    this.#storage = storage;
  }

  /** The alarm will ring then or before. */
  async atLatest(atMs: number): Promise<void> {
    this.#setForMs ??= await this.#storage.getAlarm();
    if (this.#setForMs !== null && this.#setForMs <= atMs) return;
    this.#setForMs = atMs;
    await this.#storage.setAlarm(atMs);
  }

  /** Call it first thing when the alarm rings. */
  rang(): void {
    this.#setForMs = null;
  }
}
