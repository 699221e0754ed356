// Keeps a gateway's machines. A machine with a socket has a row; the loan and the queue of work are in memory.
import type { Migration } from "../storage/migrations.ts";
import type { HeldLoan } from "./lease.ts";

/** A machine in memory. The machine may lack a row, and a machine with a row may not be in memory. */
export interface Member {
  readonly name: string;
  /** The gateway drops a loan that arrives with this epoch or a lower one. */
  floor: number;
  held: HeldLoan | null;
  /** Resolves once the PUT of the machine's lease has ended, and never rejects; null if no PUT is in progress. */
  renewing: Promise<void> | null;
  /** The number of calls of `inTurn` that run or wait for their turn. */
  turns: number;
  lastTurn: Promise<unknown>;
}

/** The migrations of a gateway's SQLite. Only append to the list: existing objects have run the earlier migrations. */
export const GATEWAY_MIGRATIONS: readonly Migration[] = [
  "CREATE TABLE members (name TEXT PRIMARY KEY, gateway INTEGER NOT NULL) WITHOUT ROWID",
];

type MemberRow = { name: string; gateway: number };

export class Members {
  readonly #sql: SqlStorage;
  /** The gateway's number as each member's row has it, by the machine's name. Read from SQLite at the first use. */
  #rows: Map<string, number> | undefined;
  readonly #inMemory = new Map<string, Member>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Returns the machine. Creates it in memory if necessary. */
  of(name: string): Member {
    const known = this.#inMemory.get(name);
    if (known) return known;
    const lastTurn = Promise.resolve();
    const member = { name, floor: 0, held: null, renewing: null, turns: 0, lastTurn };
    this.#inMemory.set(name, member);
    return member;
  }

  /** Returns the machine; undefined if the machine is not in memory. */
  known(name: string): Member | undefined {
    return this.#inMemory.get(name);
  }

  /** Runs `work` (a call to the node object, with its follow-up) after all earlier work for this machine. */
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

  /** Returns this gateway's number; undefined if the machine is not a member. */
  gatewayOf(name: string): number | undefined {
    return this.#known.get(name);
  }

  names(): string[] {
    return [...this.#known.keys()];
  }

  get count(): number {
    return this.#known.size;
  }

  /** The number of this gateway; null if it has no member. */
  get number(): number | null {
    return this.#known.values().next().value ?? null;
  }

  put(name: string, gateway: number): void {
    if (this.#known.get(name) === gateway) return;
    this.#sql.exec("INSERT OR REPLACE INTO members VALUES (?, ?)", name, gateway);
    this.#known.set(name, gateway);
  }

  delete(name: string): void {
    if (this.has(name)) this.#sql.exec("DELETE FROM members WHERE name = ?", name);
    this.#known.delete(name);
    const member = this.#inMemory.get(name);
    if (member) this.#tidy(member);
  }

  /** Forgets a machine without turn, loan, PUT or row. The floor is not needed: loans arrive only during a turn. */
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
