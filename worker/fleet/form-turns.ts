// Gives machines turns to change the form of their Nodes: so many a second, for the whole fleet.

export const FORM_TURNS = {
  /** Each change is a write of a whole Node, which every watcher of the cluster receives. */
  aSecond: 10,
} as const;

const KEY = "form turns to, in milliseconds";
/** Turns given beyond what is stored: a row is written once a second at most, however many machines ask. */
const STORED_AHEAD_MS = 1000;

export class FormTurns {
  readonly #sql: SqlStorage;
  /** The next one, in milliseconds since 1970. */
  #nextMs: number;
  #storedMs: number;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    const [row] = sql.exec<{ value: string }>("SELECT value FROM index_upkeep WHERE key = ?", KEY);
    this.#storedMs = Number(row?.value ?? 0);
    // An index that was evicted begins after all turns that it can have given.
    this.#nextMs = this.#storedMs;
  }

  /** In how many milliseconds the machine's turn is. */
  take(nowMs: number): number {
    const atMs = Math.max(nowMs, this.#nextMs);
    this.#nextMs = atMs + 1000 / FORM_TURNS.aSecond;
    if (this.#nextMs > this.#storedMs) {
      this.#storedMs = this.#nextMs + STORED_AHEAD_MS;
      this.#sql.exec("INSERT OR REPLACE INTO index_upkeep VALUES (?, ?)", KEY, String(this.#storedMs));
    }
    return atMs - nowMs;
  }
}
