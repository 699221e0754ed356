// Imports a backup into a registry without machines. Pages are stored until the last page arrives; then one transaction
// applies all pages. worker/http has verified the MACs. Also reads the registry's tables for a backup.
import {
  BACKUP_TABLES,
  type BackupCell,
  type BackupPage,
  type BackupRows,
  type BackupTable,
  LATER_TABLES,
} from "../../shared/protocol/backup.ts";
import type { ImportState } from "../../shared/protocol/administration-answers.ts";
import { BACKUP_LIMITS } from "../../shared/protocol/limits.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { currentMs } from "../clock.ts";
import { type Environment, fleetIndex } from "../env.ts";
import { cell, column } from "../storage/query.ts";
import { audit } from "./audit.ts";
import { columnsOf, rowsFault } from "./backup-rows.ts";
import { countPinned } from "./pins.ts";
import { presentRevision } from "./rules.ts";

export const IMPORTS_MIGRATION = `
  CREATE TABLE import_pages (page INTEGER PRIMARY KEY, body TEXT NOT NULL);
  CREATE TABLE imports (
    only INTEGER PRIMARY KEY CHECK (only = 1), id TEXT NOT NULL, who TEXT NOT NULL, at_ms INTEGER NOT NULL,
    next_page INTEGER NOT NULL, is_done INTEGER NOT NULL
  );`;

type ImportRow = { id: string; who: string; at_ms: number; next_page: number; is_done: number };

export class Imports {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  readonly #env: Environment;

  constructor(storage: DurableObjectStorage, env: Environment) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#env = env;
  }

  /** Returns the import's progress. A machine counts as back once it reported here: a backup contains no origins. */
  state(): ImportState {
    const row = this.#row();
    if (!row) return { import: null };
    const isBack = "name IN (SELECT name FROM origin_uses)";
    const good = "SELECT COUNT(*) FROM pins WHERE revoked_at_ms IS NULL";
    const away = `SELECT name FROM pins WHERE revoked_at_ms IS NULL AND NOT ${isBack} ORDER BY name LIMIT ?`;
    return {
      import: {
        id: row.id,
        isDone: row.is_done === 1,
        at: new Date(row.at_ms).toISOString(),
        who: row.who,
        nextPage: row.next_page,
        machines: cell(this.#sql, good),
        back: cell(this.#sql, `${good} AND ${isBack}`),
        notBack: column(this.#sql, away, BACKUP_LIMITS.namesShown),
      },
    };
  }

  /** Stores the next page. A repeated page changes nothing. The error is a text for an operator. */
  async take(page: BackupPage, who: string): Promise<Result<ImportState>> {
    const row = this.#row();
    const isSame = row?.id === page.id;
    if (isSame && (row.is_done || page.page < row.next_page)) return success(this.state());
    const fault = this.#faultOf(page, isSame ? row : undefined) ?? (isSame ? null : otherUnderWay(row));
    if (fault !== null) return failure(fault);
    if (page.isLast) {
      // The fleet index stores receivers and mutes. It is safe to repeat this call.
      const taken = await fleetIndex(this.#env).takeBackupRows([...this.#pages(["receivers", "mutes"])]);
      if (!taken.ok) return taken;
    }
    return this.#storage.transactionSync(() => {
      // Another request may have changed the import while the fleet index took its rows.
      const again = this.#row();
      const expected = again?.id === page.id ? again.next_page : 1;
      if (page.page !== expected || countPinned(this.#sql) > 0) return failure("this has changed meanwhile");
      const { table, columns, rows } = page;
      const body = JSON.stringify({ table, columns, rows } satisfies BackupRows);
      this.#sql.exec("INSERT INTO import_pages VALUES (?, ?)", page.page, body);
      this.#put(page, who, page.isLast);
      if (page.isLast) this.#finish(page, who);
      return success(this.state());
    });
  }

  /** Ends an unfinished import. Fails if no import is unfinished. */
  abandon(who: string): Result<null> {
    const row = this.#row();
    if (!row || row.is_done) return failure("no import is under way");
    this.#storage.transactionSync(() => {
      this.#sql.exec("DELETE FROM import_pages");
      this.#sql.exec("DELETE FROM imports");
      audit(this.#sql, { who, what: "backup.abandon", target: row.id }, currentMs());
    });
    return success(null);
  }

  #faultOf(page: BackupPage, row: ImportRow | undefined): string | null {
    const machines = countPinned(this.#sql);
    if (machines > 0)
      return `${machines} machines are enrolled here: an import goes into a deployment that has none, before the first machine joins`;
    const expected = row?.next_page ?? 1;
    if (page.page !== expected) return `page ${expected} comes next, not ${page.page}`;
    const fault = this.#missing(page) ?? rowsFault(page);
    return fault && `page ${page.page}, ${fault}`;
  }

  /**
   * Returns an error if the page shows that the backup lacks a table. Each page has the table of the page before it, or
   * the next table.
   */
  #missing({ page, table, isLast, rows }: BackupPage): string | null {
    const stated = page > 1 ? this.#statedTables() : statedIn(rows);
    const later = stated.find((name) => !(BACKUP_TABLES as readonly string[]).includes(name));
    if (later !== undefined)
      return `the backup is of a newer version, which has the table ${later}: deploy that version first`;
    const earlier = BACKUP_TABLES.filter((name) => !LATER_TABLES.includes(name));
    const tables: readonly string[] = stated.length > 0 ? stated : earlier;
    const query = "SELECT json_extract(body, '$.table') FROM import_pages WHERE page = ?";
    const [before = ""] = column<string>(this.#sql, query, page - 1);
    const next = tables[tables.indexOf(before) + 1];
    const isInOrder = table === before || table === next;
    const lacks = isInOrder ? isLast && tables[tables.indexOf(table) + 1] : (next ?? table);
    return lacks ? `the backup lacks the table ${lacks} here: use a whole file of rollcall export` : null;
  }

  /** Returns the tables that the first page states; none if an earlier version made the backup. */
  #statedTables(): string[] {
    const query = `SELECT json_extract(value, '$[1]') FROM import_pages, json_each(body, '$.rows')
      WHERE page = 1 AND json_extract(value, '$[0]') = 'table'`;
    return column(this.#sql, query);
  }

  #put({ id, page }: BackupPage, who: string, isDone: boolean): void {
    const put = "INSERT OR REPLACE INTO imports VALUES (1, ?, ?, ?, ?, ?)";
    this.#sql.exec(put, id, who, currentMs(), page + 1, isDone ? 1 : 0);
  }

  #finish({ id }: BackupPage, who: string): void {
    const nowMs = currentMs();
    const isStated = this.#statedTables().length > 0;
    const own = OWN_LOGS.map((log) => ({
      log,
      entries: [...this.#sql.exec(`SELECT at_ms, who, what, target, detail FROM ${log} ORDER BY id`).raw()],
    }));
    for (const { log } of own) this.#sql.exec(`DELETE FROM ${log}`);
    // Two series of revisions cannot become one: the rules of this deployment stay if it has any.
    const hasRules = presentRevision(this.#sql) > 0;
    const tables = Object.keys(KEYS).filter((table) => !hasRules || table !== "rule_sets");
    for (const page of this.#pages(tables)) this.#insert(page);
    // The entries that this deployment wrote before the import follow the imported entries.
    for (const { log, entries } of own) {
      const insert = `INSERT INTO ${log} (at_ms, who, what, target, detail) VALUES (?, ?, ?, ?, ?)`;
      for (const entry of entries) this.#sql.exec(insert, ...entry);
    }
    this.#followBurials(nowMs);
    this.#sql.exec("UPDATE generation SET value = MAX(value, IFNULL((SELECT MAX(generation) FROM pins), 0))");
    this.#sql.exec("DELETE FROM import_pages");
    const machines = `${countPinned(this.#sql)} machines`;
    const detail = isStated ? machines : `${machines}, ${EARLIER_BACKUP}`;
    audit(this.#sql, { who, what: "backup.import", target: id, detail }, nowMs);
  }

  #insert({ table, columns, rows }: BackupRows): void {
    if (table === "generation") {
      const value = Number(rows[0]?.[columns.indexOf("value")] ?? 0);
      this.#sql.exec("UPDATE generation SET value = MAX(value, ?)", value);
      return;
    }
    const marks = columns.map((_, at) => `json_extract(value, '$[${at}]')`).join(", ");
    const insert = `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${marks} FROM json_each(?)
      WHERE true ON CONFLICT DO NOTHING`;
    this.#sql.exec(insert, JSON.stringify(rows));
  }

  /** Applies the imported refusals of keys to the imported pins: a key may be refused after its pin was read. */
  #followBurials(nowMs: number): void {
    const isBuried = (key: string) => `${key} IN (SELECT thumbprint FROM tombstones)`;
    this.#sql.exec(
      `UPDATE pins SET thumbprint = next_thumbprint, machine = json_set(machine, '$.key', IFNULL(next_key, '')),
       next_thumbprint = NULL, next_key = NULL
       WHERE ${isBuried("thumbprint")} AND next_thumbprint IS NOT NULL AND revoked_at_ms IS NULL`,
    );
    const revoke = `UPDATE pins SET revoked_at_ms = ? WHERE revoked_at_ms IS NULL AND ${isBuried("thumbprint")}`;
    this.#sql.exec(revoke, nowMs);
  }

  *#pages(tables: readonly string[]): Generator<BackupRows> {
    // Pages are read one at a time, since all pages together may exceed the object's memory.
    for (const page of column<number>(this.#sql, "SELECT page FROM import_pages ORDER BY page")) {
      const body = cell<string>(this.#sql, "SELECT body FROM import_pages WHERE page = ?", page);
      const parsed = JSON.parse(body) as BackupRows;
      if (tables.includes(parsed.table)) yield parsed;
    }
  }

  #row(): ImportRow | undefined {
    return this.#sql.exec<ImportRow>("SELECT * FROM imports").toArray()[0];
  }
}

const OWN_LOGS = ["audit", "machine_log"] as const;

/** Marks the import of a backup whose cursors had no MAC, so that a part of it may have been left out on purpose. */
const EARLIER_BACKUP = "of an earlier version's backup, which does not state its tables";

const statedIn = (rows: BackupRows["rows"]) =>
  rows.filter(([what]) => what === "table").map(([, name]) => String(name));

function otherUnderWay(row: ImportRow | undefined): string | null {
  if (!row || row.is_done) return null;
  return `the import of the backup ${row.id} is under way: continue with its file, or end it with rollcall import --abandon`;
}

export type RegistryTable = Exclude<BackupTable, "deployment" | "receivers" | "mutes">;

/** The unique columns that order the rows of each table in a backup. */
const KEYS: Record<RegistryTable, readonly string[]> = {
  pins: ["name"],
  enrolments: ["token", "name", "thumbprint"],
  tokens: ["id"],
  operators: ["name"],
  audit: ["id"],
  machine_log: ["id"],
  rule_sets: ["revision"],
  tombstones: ["thumbprint", "name"],
  generation: ["only"],
};

/** A page of a table. `next`: the key where the next page begins; null on the last page. */
export interface TablePage {
  rows: BackupRows;
  next: BackupCell[] | null;
}

/** Returns a page of a table. `after`: the key of the previous page's last row; null for the first page. */
export function readTable(sql: SqlStorage, table: RegistryTable, after: BackupCell[] | null): TablePage {
  const [columns, key] = [columnsOf(table), KEYS[table]];
  const from = after ?? firstOf(sql, table);
  const behind = from ? `WHERE (${key.join(", ")}) > (${key.map(() => "?").join(", ")})` : "";
  const query = `SELECT ${columns.join(", ")} FROM ${table} ${behind} ORDER BY ${key.join(", ")} LIMIT ?`;
  const rows: BackupCell[][] = [];
  let bytes = 0;
  let isWhole = true;
  for (const row of sql.exec(query, ...(from ?? []), BACKUP_LIMITS.rowsOfPage + 1).raw()) {
    const cells = row.map((cell) => (cell instanceof ArrayBuffer ? null : cell));
    bytes += JSON.stringify(cells).length;
    isWhole =
      rows.length === 0 || (rows.length < BACKUP_LIMITS.rowsOfPage && bytes < BACKUP_LIMITS.pageBytes);
    if (!isWhole) break;
    rows.push(cells);
  }
  const last = rows.at(-1);
  const next = isWhole || !last ? null : key.map((name) => last[columns.indexOf(name)] ?? null);
  return { rows: { table, columns, rows }, next };
}

/** Returns the key after which the backup of a table begins: all rows (null), but only the machine log's newest. */
function firstOf(sql: SqlStorage, table: RegistryTable): BackupCell[] | null {
  if (table !== "machine_log") return null;
  const last = cell<number | null>(sql, "SELECT MAX(id) FROM machine_log");
  return [(last ?? 0) - BACKUP_LIMITS.machineEntries];
}
