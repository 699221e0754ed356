// The object's one alarm, set as rarely as possible, because setting it writes a row.

export class LazyAlarm {
  readonly #storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">;
  /** null: none is set. undefined: after an eviction it is not known whether one is. */
  #setForMs: number | null | undefined;

  constructor(storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">) {
    this.#storage = storage;
  }

  /** Has the alarm ring at this time or earlier. */
  async atLatest(atMs: number): Promise<void> {
    await this.#look();
    if (typeof this.#setForMs === "number" && this.#setForMs <= atMs) return;
    this.#setForMs = atMs;
    await this.#storage.setAlarm(atMs);
  }

  /** Has it ring at this time, unless it is set for whatever time: whoever set it knew more. */
  async unlessSet(atMs: number): Promise<void> {
    await this.#look();
    if (typeof this.#setForMs !== "number") await this.atLatest(atMs);
  }

  /** Call it first thing when the alarm rings. */
  rang(): void {
    this.#setForMs = null;
  }

  /** What another call has set meanwhile is newer than the answer; so whoever has looked decides by #setForMs alone. */
  async #look(): Promise<void> {
    const found = this.#setForMs ?? (await this.#storage.getAlarm());
    this.#setForMs ??= found;
  }
}
