// Gives machines turns to change the form of their Nodes, at one rate for the whole fleet.

export const FORM_TURNS = {
  /** Each change writes a whole Node, which every watcher of the cluster receives. */
  aSecond: 10,
} as const;

const KEY = "form turns to, in milliseconds";
/** The row is stored this far ahead of the turns: it is written once a second at most. */
const STORED_AHEAD_MS = 1000;

export class FormTurns {
  readonly #sql: SqlStorage;
  /** When the next turn is, in milliseconds since 1970. */
  #nextMs: number;
  #storedMs: number;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    const [row] = sql.exec<{ value: string }>("SELECT value FROM index_upkeep WHERE key = ?", KEY);
    this.#storedMs = Number(row?.value ?? 0);
    // An index that was evicted begins after all turns that it can have given.
    this.#nextMs = this.#storedMs;
  }

  /** Returns the milliseconds until the machine's turn. */
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
