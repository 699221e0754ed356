// The machines of a gateway: a row for each that has a socket here, so that an eviction forgets nobody, and in memory what
// belongs to a name: its loan, and whose turn it is. Asks nobody.
import type { Migration } from "../storage/migrations.ts";
import type { HeldLoan } from "./lease.ts";

/** As its gateway has it in memory: not each has a row, and not each row has one of these. */
export interface Member {
  readonly name: string;
  /** Loans up to this epoch are dropped. */
  floor: number;
  held: HeldLoan | null;
  /** Resolves once no PUT of its lease is under way; it never rejects. null: none is. */
  renewing: Promise<void> | null;
  /** What waits for its turn, or has it. */
  turns: number;
  lastTurn: Promise<unknown>;
}

/** Add to them, and never change one: existing objects have run them. */
export const GATEWAY_MIGRATIONS: readonly Migration[] = [
  "CREATE TABLE members (name TEXT PRIMARY KEY, gateway INTEGER NOT NULL) WITHOUT ROWID",
];

type MemberRow = { name: string; gateway: number };

export class Members {
  readonly #sql: SqlStorage;
  /** The rows, as they were read with the first question: the gateway's number, by name. */
  #rows: Map<string, number> | undefined;
  readonly #inMemory = new Map<string, Member>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** In memory from now on. */
  of(name: string): Member {
    const known = this.#inMemory.get(name);
    if (known) return known;
    const lastTurn = Promise.resolve();
    const member = { name, floor: 0, held: null, renewing: null, turns: 0, lastTurn };
    this.#inMemory.set(name, member);
    return member;
  }

  /** As far as there is something of it in memory. */
  known(name: string): Member | undefined {
    return this.#inMemory.get(name);
  }

  /** One after the other: what is told to a machine's object, and what follows from its answer. */
  async inTurn<T>(name: string, work: (member: Member) => Promise<T>): Promise<T> {
    const member = this.of(name);
    const turn = member.lastTurn.then(() => work(member));
    member.lastTurn = turn.catch(() => undefined);
    member.turns++;
    try {
      return await turn;
    } finally {
      member.turns--;
      this.#tidy(member);
    }
  }

  isBusy(name: string): boolean {
    return (this.#inMemory.get(name)?.turns ?? 0) > 0;
  }

  has(name: string): boolean {
    return this.#known.has(name);
  }

  /** The number of the gateway that it has a socket of. */
  gatewayOf(name: string): number | undefined {
    return this.#known.get(name);
  }

  names(): string[] {
    return [...this.#known.keys()];
  }

  get count(): number {
    return this.#known.size;
  }

  /** The gateway's number; null: it has no member. */
  get number(): number | null {
    return this.#known.values().next().value ?? null;
  }

  put(name: string, gateway: number): void {
    if (this.#known.get(name) === gateway) return;
    this.#sql.exec("INSERT OR REPLACE INTO members VALUES (?, ?)", name, gateway);
    this.#known.set(name, gateway);
  }

  delete(name: string): void {
    if (this.#known.delete(name)) this.#sql.exec("DELETE FROM members WHERE name = ?", name);
    const member = this.#inMemory.get(name);
    if (member) this.#tidy(member);
  }

  /** A loan comes in a turn alone, so that nobody needs the floor where there is none. */
  #tidy({ name, turns, held, renewing }: Member): void {
    if (turns === 0 && !held && !renewing && !this.has(name)) this.#inMemory.delete(name);
  }

  get #known(): Map<string, number> {
    if (!this.#rows) {
      const rows = this.#sql.exec<MemberRow>("SELECT name, gateway FROM members").toArray();
      this.#rows = new Map(rows.map(({ name, gateway }) => [name, gateway]));
    }
    return this.#rows;
  }
}
