// Repairs the fleet index. If the index was lost, all machines' objects send everything again. Otherwise a daily check
// of a sample makes the objects of differing rows do so. The alarm runs one portion at a time and stores the progress.
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import { isBeingRemoved } from "../../shared/fleet/unready.ts";
import type { IndexCheck, IndexRepairing, IndexState } from "../../shared/protocol/fleet-answers.ts";
import type { Timer } from "../clock.ts";
import { inTime, withDeadline } from "../kube/deadline.ts";
import type { AlarmTask } from "./alarm-tasks.ts";
import { logNote } from "../log.ts";
import { paced } from "../paced.ts";
import { prune } from "../storage/prune.ts";
import { column, hasRow } from "../storage/query.ts";

export const REPAIR_LIMITS = {
  aSecond: 50,
  atOnce: 8,
  /** The number of names that one call reads from the registry. The progress is stored after each page. */
  page: 50,
  /** The time after which a portion starts no request. Its last requests may end 15 s after the portion's start. */
  portionMs: 8000,
  /** The deadline of a request to a machine's object. */
  withinMs: 4000,
  /** The deadline of a request to the registry. */
  registryWithinMs: 3000,
  /** The most machines without an answer whose names a repair stores, to ask them again at its end. */
  missed: 1000,
  checkEveryMs: 24 * 3600_000,
  sample: 50,
  /** The number of names in the sample whose objects must send their summary. */
  asked: 5,
  logLines: 200,
  shownLines: 20,
} as const;

/** The registry's methods that a repair calls. */
export interface KnownNames {
  names: (after: string, limit: number) => Promise<string[]>;
  sampleNames: (limit: number) => Promise<string[]>;
  countNames: () => Promise<number>;
  known: (names: string[]) => Promise<string[]>;
}

export interface RepairDependencies {
  sql: SqlStorage;
  registry: () => KnownNames;
  /** Asks a machine's object to send everything to the index. Resolves to false if the object could not. */
  sendAll: (name: string) => Promise<boolean>;
  /** Returns the last summary that a machine's object sent; null if the object has more to send, or has no machine. */
  sentSummary: (name: string) => Promise<MachineSummary | null>;
  summary: (name: string) => MachineSummary | null;
  /** Returns the number of machines. Must not count rows: the progress is read often during a repair. */
  countMachines: () => number;
  /** Removes a machine from the index, unless the index has a newer generation of the machine. */
  remove: (name: string, generation: number, text: string) => void;
  /** Returns milliseconds since 1970; typically currentMs. */
  nowMs: () => number;
  /** The object's timer. */
  timer: Timer | undefined;
  /** Waits for `ms` milliseconds; typically `pause` of clock.ts. */
  pause: (ms: number) => Promise<void>;
}

/** `after`: the last asked name. `missed`: names without an answer. `isSecond`: the missed names are asked again. */
type Repair = IndexRepairing & { after: string; missed: string[]; isSecond: boolean };
type Row = { name: string; generation: number };
type Kept = { repair: Repair; check: IndexCheck };

export class IndexRepair {
  readonly #with: RepairDependencies;
  readonly tasks: readonly AlarmTask[] = [
    {
      name: "repair",
      dueMs: () => (this.#repair?.endedAtMs === null ? 0 : null),
      run: () => this.#portion(),
    },
    {
      name: "check",
      dueMs: () => {
        const checked = this.#kept("check");
        return checked ? checked.atMs + REPAIR_LIMITS.checkEveryMs : null;
      },
      run: () => this.#check(),
    },
  ];

  constructor(dependencies: RepairDependencies) {
    this.#with = dependencies;
  }

  /** Starts a repair, unless a repair is running. `cause`: the reason, for operators. */
  begin(cause: string): void {
    if (this.#repair?.endedAtMs === null) return;
    const startedAtMs = this.#with.nowMs();
    const counts = { asked: 0, failed: 0, removed: 0 };
    const begin = { ...counts, after: "", missed: [], isSecond: false };
    this.#keep("repair", { cause, startedAtMs, endedAtMs: null, ...begin });
    this.#note(`repair begins: ${cause}`);
  }

  /** Starts a repair if the index is empty although the registry knows machines. A cron trigger calls this method. */
  async care(): Promise<void> {
    const { nowMs } = this.#with;
    const checked = this.#kept("check");
    if (!checked) this.#keep("check", { atMs: nowMs(), compared: 0, absent: [], differing: [], removed: [] });
    if (this.#repair || !this.#isEmpty()) return;
    if ((await this.#fromRegistry((registry) => registry.countNames())) > 0)
      this.begin("the index was empty");
  }

  async state(): Promise<IndexState> {
    const names = await this.#fromRegistry((registry) => registry.countNames());
    const log = this.#with.sql
      .exec<{ at_ms: number; text: string }>(
        "SELECT at_ms, text FROM index_log ORDER BY id DESC LIMIT ?",
        REPAIR_LIMITS.shownLines,
      )
      .toArray();
    const { after: _after, missed: _missed, isSecond: _second, ...repair } = this.#repair ?? { cause: null };
    return {
      names,
      machines: this.#with.countMachines(),
      repair: repair.cause === null ? null : repair,
      check: this.#kept("check") ?? null,
      log: log.map(({ at_ms, text }) => ({ at: new Date(at_ms).toISOString(), text })),
    };
  }

  get #repair(): Repair | undefined {
    return this.#kept("repair");
  }

  async #portion(): Promise<void> {
    const { nowMs } = this.#with;
    const untilMs = nowMs() + REPAIR_LIMITS.portionMs;
    for (let repair = this.#repair; repair?.endedAtMs === null && nowMs() < untilMs; repair = this.#repair)
      this.#keep(
        "repair",
        await (repair.isSecond ? this.#askAgain(repair, untilMs) : this.#askPage(repair, untilMs)),
      );
  }

  async #askPage(repair: Repair, untilMs: number): Promise<Repair> {
    const { page, missed } = REPAIR_LIMITS;
    const names = await this.#fromRegistry((registry) => registry.names(repair.after, page));
    const last = names.length < page ? null : (names.at(-1) ?? null);
    const removed = await this.#removeUnknown(this.#rowsBetween(repair.after, last, names), untilMs);
    const { asked, failed } = await this.#ask(names, untilMs);
    const isWhole = asked.length === names.length;
    const kept = [...repair.missed, ...failed].slice(0, missed);
    return {
      ...repair,
      after: (isWhole ? last : asked.at(-1)) ?? repair.after,
      missed: kept,
      isSecond: isWhole && last === null,
      asked: repair.asked + asked.length,
      failed: repair.failed + failed.length,
      removed: repair.removed + removed.length,
    };
  }

  async #askAgain(repair: Repair, untilMs: number): Promise<Repair> {
    const { asked, failed } = await this.#ask(repair.missed.slice(0, REPAIR_LIMITS.page), untilMs);
    const after = {
      ...repair,
      missed: repair.missed.slice(asked.length),
      failed: repair.failed - asked.length + failed.length,
    };
    if (after.missed.length > 0) return after;
    this.#note(
      `repair ends: ${after.asked} machines asked, ${after.failed} did not answer, ${after.removed} removed`,
    );
    return { ...after, endedAtMs: this.#with.nowMs() };
  }

  /** Asks machines' objects at the pace of REPAIR_LIMITS until `untilMs`. Returns the asked and the failed names. */
  async #ask(names: readonly string[], untilMs: number): Promise<{ asked: string[]; failed: string[] }> {
    const asked: string[] = [];
    const failed: string[] = [];
    const ask = async (name: string) => {
      asked.push(name);
      if (!(await this.#inTime(() => this.#with.sendAll(name), false))) failed.push(name);
    };
    await paced(this.#until(untilMs, names, ask), REPAIR_LIMITS, this.#with.pause);
    return { asked, failed };
  }

  *#until<Item, T>(untilMs: number, items: readonly Item[], ask: (item: Item) => T): Generator<T> {
    for (const item of items) {
      if (this.#with.nowMs() >= untilMs) return;
      yield ask(item);
    }
  }

  /**
   * Compares a sample of the registry's names with the rows, some rows with their objects' summaries, and a sample
   * of rows with the registry. If the portion's time ends, the next check may find the rest.
   */
  async #check(): Promise<void> {
    const { sql, nowMs } = this.#with;
    const { sample, asked, portionMs } = REPAIR_LIMITS;
    const untilMs = nowMs() + portionMs;
    const names = await this.#fromRegistry((registry) => registry.sampleNames(sample));
    const query = "SELECT name FROM machines WHERE name IN (SELECT value FROM json_each(?))";
    const found = new Set(column<string>(sql, query, JSON.stringify(names)));
    const absent = names.filter((name) => !found.has(name));
    // The sample is in random order. In the order of names, the same machines would be asked each day.
    const known = names.filter((name) => found.has(name)).slice(0, asked);
    const isOther = await Promise.all(known.map((name) => this.#differs(name)));
    const differing = known.filter((_, at) => isOther[at]);
    const rows = sql
      .exec<Row>("SELECT name, generation FROM machines ORDER BY RANDOM() LIMIT ?", sample)
      .toArray();
    const removed = await this.#removeUnknown(rows, untilMs);
    await this.#ask([...absent, ...differing], untilMs);
    this.#keep("check", { atMs: nowMs(), compared: names.length, absent, differing, removed });
    for (const [what, some] of Object.entries({ "were not in the index": absent, differed: differing }))
      if (some.length > 0) this.#note(`check: ${some.length} of ${names.length} ${what}: ${some.join(", ")}`);
  }

  async #differs(name: string): Promise<boolean> {
    const sent = await this.#inTime(() => this.#with.sentSummary(name), null);
    return sent !== null && JSON.stringify(sent) !== JSON.stringify(this.#with.summary(name));
  }

  /**
   * Removes rows of machines that the registry lacks. A machine enrolled again has a newer generation and stays. A
   * machine whose removal waits for the apiserver also stays, or a machine whose object does not answer.
   */
  async #removeUnknown(rows: readonly Row[], untilMs: number): Promise<string[]> {
    if (rows.length === 0) return [];
    const names = rows.map(({ name }) => name);
    const known = new Set(await this.#fromRegistry((registry) => registry.known(names)));
    const unknown: Row[] = [];
    const ask = async (row: Row) => {
      if (!(await this.#inTime(() => this.#isBeingRemoved(row.name), true))) unknown.push(row);
    };
    const candidates = rows.filter(({ name }) => !known.has(name));
    await paced(this.#until(untilMs, candidates, ask), REPAIR_LIMITS, this.#with.pause);
    for (const { name, generation } of unknown) {
      this.#with.remove(name, generation, "the registry does not know it");
      this.#note(`removed ${name}: the registry does not know it`);
    }
    return unknown.map(({ name }) => name);
  }

  async #isBeingRemoved(name: string): Promise<boolean> {
    if (!(await this.#with.sendAll(name))) return true;
    return isBeingRemoved((await this.#with.sentSummary(name))?.why ?? "");
  }

  /** Returns the rows whose names come after `after`, up to `last` (null: to the end), except those in `names`. */
  #rowsBetween(after: string, last: string | null, names: readonly string[]): Row[] {
    const query = `SELECT name, generation FROM machines WHERE name > ?1 AND (?2 IS NULL OR name <= ?2)
      AND name NOT IN (SELECT value FROM json_each(?3)) LIMIT 500`;
    return this.#with.sql.exec<Row>(query, after, last, JSON.stringify(names)).toArray();
  }

  async #inTime<T>(work: () => Promise<T>, late: T): Promise<T> {
    return withDeadline(REPAIR_LIMITS.withinMs, work, late, this.#with.timer).catch(() => late);
  }

  /** Calls the registry. Rejects if the registry does not answer in time; the alarm then repeats the portion. */
  #fromRegistry<T>(ask: (registry: KnownNames) => Promise<T>): Promise<T> {
    const asking = () => ask(this.#with.registry());
    return inTime(
      REPAIR_LIMITS.registryWithinMs,
      asking,
      "the registry did not answer in time",
      this.#with.timer,
    );
  }

  #isEmpty(): boolean {
    return !hasRow(this.#with.sql, "SELECT 1 FROM machines LIMIT 1");
  }

  #kept<Key extends keyof Kept>(key: Key): Kept[Key] | undefined {
    const [row] = this.#with.sql.exec<{ value: string }>("SELECT value FROM index_upkeep WHERE key = ?", key);
    return row && (JSON.parse(row.value) as Kept[Key]);
  }

  #keep<Key extends keyof Kept>(key: Key, value: Kept[Key]): void {
    this.#with.sql.exec("INSERT OR REPLACE INTO index_upkeep VALUES (?, ?)", key, JSON.stringify(value));
  }

  #note(text: string): void {
    const { sql, nowMs } = this.#with;
    logNote({ message: `fleet index: ${text}` });
    sql.exec("INSERT INTO index_log (at_ms, text) VALUES (?, ?)", nowMs(), text.slice(0, 1024));
    prune(sql, "index_log", { entries: REPAIR_LIMITS.logLines, atOnce: 2 });
  }
}
