// Builds the messages of a feed from the rows of the fleet index: first a snapshot, then the changes after a cursor.
import { ColumnsBuilder } from "../../shared/fleet/columns.ts";
import {
  ALL_FIELDS,
  allValues,
  hasLastingChange,
  MOVING_FIELDS,
  movingValues,
} from "../../shared/fleet/feed-view.ts";
import { parseOperatorSelector } from "../../shared/fleet/search-filter.ts";
import type { FleetCounts, FleetState } from "../../shared/fleet/state.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import { matchesLabels } from "../../shared/kubernetes/label-match.ts";
import type { FeedChanges, FeedHello, FeedMessage, FeedSnapshot } from "../../shared/protocol/feed.ts";
import { FEED_LIMITS } from "../../shared/protocol/limits.ts";
import type { PendingMachine } from "../../shared/protocol/operator-answers.ts";
import { cell, column } from "../storage/query.ts";
import type { FleetChange, MachineRows } from "./machine-rows.ts";
import { ANY_NAME, nameWithin, type Where } from "./machine-search.ts";
import type { Outages } from "./outages.ts";

/** Creates the feed's tables. `feed_whole` has the number of each machine's last change outside MOVING_FIELDS. */
export const FEED_MIGRATION = `
  CREATE TABLE feed (
    only INTEGER PRIMARY KEY CHECK (only = 1), index_id TEXT NOT NULL, gone_seq INTEGER NOT NULL,
    pending TEXT NOT NULL, pending_seq INTEGER NOT NULL
  );
  INSERT INTO feed VALUES (1, lower(hex(randomblob(8))), 0, '[]', 0);
  CREATE TABLE feed_whole (name TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE feed_tickets (
    hash TEXT PRIMARY KEY, holder TEXT NOT NULL, ends_ms INTEGER NOT NULL
  ) WITHOUT ROWID;`;

/** Creates the table of former labels, whose change may have removed a machine from a feed with a selector. */
export const FEED_LEFT_MIGRATION = `
  CREATE TABLE feed_left (seq INTEGER PRIMARY KEY, name TEXT NOT NULL, labels TEXT NOT NULL);`;

/** The most removed machines in one message. GONE, OUTAGES and ROW_BYTES keep it below FEED_LIMITS.messageBytes. */
const GONE = 500;
const OUTAGES = 100;
const ROW_BYTES = FEED_LIMITS.messageBytes - 400 * 1024;

/**
 * The most stored names of removed machines, which resuming feeds need, and of changed labels. Older ones are deleted from
 * time to time.
 */
const GONE_KEPT = 20_000;
const GONE_PRUNED_EVERY = 100;

type Stored = { id: number; name: string; summary: string };
/** A change that may have removed a machine from a feed. `labels`: its labels before the change, as JSON. */
type Left = { name: string; seq: number; labels: string };
type Summarized = { name: string; seq: number; isWhole: number; summary: string };
type FeedRow = { index_id: string; gone_seq: number; pending: string; pending_seq: number };

export interface FeedPart {
  /** The message; null if nothing has changed for a feed of some machines. */
  text: string | null;
  cursor: FeedCursor;
}

/** The machines of a feed. */
interface Within {
  where: Where;
  matches: (labels: Readonly<Record<string, string>>) => boolean;
}
const ALL: Within = { where: ANY_NAME, matches: () => true };

export class FeedSource {
  readonly #sql: SqlStorage;
  readonly #rows: MachineRows;
  readonly #outages: Outages;

  constructor(sql: SqlStorage, rows: MachineRows, outages: Outages) {
    this.#sql = sql;
    this.#rows = rows;
    this.#outages = outages;
  }

  /** Records whether feeds must send all fields of the changed machine. Call note in the transaction of the change. */
  note({ name, seq, before, after }: FleetChange): void {
    const labels = JSON.stringify(before?.labels ?? {});
    const hasLeft = labels !== "{}" && labels !== JSON.stringify(after?.labels);
    if (hasLeft) this.#sql.exec("INSERT INTO feed_left VALUES (?, ?, ?)", seq, name, labels);
    if ((hasLeft || after === null) && this.#isPruningDue(seq)) this.#pruneGone();
    if (after === null) this.#sql.exec("DELETE FROM feed_whole WHERE name = ?", name);
    else if (before === null || hasLastingChange(before, after))
      this.#sql.exec("INSERT OR REPLACE INTO feed_whole VALUES (?, ?)", name, seq);
  }

  /**
   * Returns a feed's first cursor and message. `asked`: the cursor from which the client resumes, or null. A feed with a
   * selector never resumes: a cursor does not show which machines its client has.
   */
  begin(asked: FeedCursor | null, selector = ""): { hello: FeedHello; cursor: FeedCursor } {
    const why = asked && (selector === "" ? this.#whyNotResumed(asked) : "the feed has some machines only");
    if (asked && why === "") return { hello: { type: "hello", resumed: true, why }, cursor: asked };
    const cursor = { index: this.#feed().index_id, seq: this.#rows.seq(), through: 0 };
    return { hello: { type: "hello", resumed: false, why: why ?? "" }, cursor };
  }

  hasNews({ seq, through }: FeedCursor): boolean {
    return through !== null || seq < this.#rows.seq();
  }

  /** Returns the message after a cursor. Call next only if `hasNews` of the same cursor is true. `selector`: "" for all. */
  next(cursor: FeedCursor, selector = ""): FeedPart {
    const within = withinOf(selector);
    return cursor.through === null
      ? this.#changes(cursor, within)
      : this.#snapshot(cursor, cursor.through, within);
  }

  /** Stores the list of machines that wait for approval. Writes nothing if the list has not changed. */
  setPending(pending: readonly PendingMachine[]): void {
    const text = JSON.stringify(pending);
    if (text === this.#feed().pending) return;
    this.#sql.exec("UPDATE feed SET pending = ?, pending_seq = ?", text, this.#rows.nextSeq(null, null));
  }

  #feed(): FeedRow {
    return this.#sql.exec<FeedRow>("SELECT * FROM feed").one();
  }

  #whyNotResumed({ index, seq }: FeedCursor): string {
    const feed = this.#feed();
    if (index !== feed.index_id || seq > this.#rows.seq()) return "the index began anew";
    if (seq < feed.gone_seq) return "it was too long ago";
    const query = "SELECT COUNT(*) FROM (SELECT 1 FROM machines WHERE seq > ? LIMIT ?)";
    const count = cell<number>(this.#sql, query, seq, FEED_LIMITS.resumedChanges + 1);
    return count > FEED_LIMITS.resumedChanges ? "too much has changed" : "";
  }

  /** Returns the next part of a snapshot, in the order of rowids, which SQLite reads fastest. */
  #snapshot({ index, seq }: FeedCursor, through: number, within: Within): FeedPart {
    const builder = new ColumnsBuilder(ALL_FIELDS);
    const { sql, bindings } = within.where;
    const query = `SELECT rowid AS id, name, summary FROM summaries WHERE rowid > ? AND ${sql} ORDER BY rowid LIMIT ?`;
    const rows = this.#sql.exec<Stored>(query, through, ...bindings, FEED_LIMITS.machines + 1);
    let last = through;
    let isLast = true;
    for (const { id, name, summary } of rows) {
      isLast = builder.rows < FEED_LIMITS.machines && builder.bytes < ROW_BYTES;
      if (!isLast) break;
      builder.add(allValues(name, JSON.parse(summary) as MachineSummary));
      last = id;
    }
    const cursor = { index, seq, through: isLast ? null : last };
    const message: FeedSnapshot = {
      type: "snapshot",
      cursor: cursorText(cursor),
      isLast,
      rows: builder.rows,
      machines: builder.finish(),
      ...(isLast && {
        pending: this.#pending(within),
        outages: this.#outages.list({ limit: OUTAGES }, within.where).outages,
      }),
      ...(isLast && seq === this.#rows.seq() && { counts: this.#counts(within) }),
    };
    return part(message, cursor);
  }

  #changes({ index, seq: from }: FeedCursor, within: Within): FeedPart {
    const now = this.#rows.seq();
    const left = this.#left(from, within);
    const outages = this.#outages.changedAfter(from, OUTAGES, within.where);
    const known = Math.min(now, lastWhole(left, GONE), lastWhole(outages, OUTAGES));
    const { whole, moved, until } = this.#changedMachines(from, known, within);
    const upTo = <T extends { seq: number }>(rows: T[]) => rows.filter(({ seq }) => seq <= until);
    const outagesNow = upTo(outages);
    const goneNow = this.#gone(upTo(left), within);
    const { pending_seq: pendingSeq } = this.#feed();
    const cursor = { index, seq: until, through: null };
    const isNews = whole.rows + moved.rows + goneNow.length + outagesNow.length > 0;
    if (within !== ALL && !isNews) return { text: null, cursor };
    const message: FeedChanges = {
      type: "changes",
      cursor: cursorText(cursor),
      ...(whole.rows > 0 && { machines: { rows: whole.rows, columns: whole.finish() } }),
      ...(moved.rows > 0 && { moved: { rows: moved.rows, columns: moved.finish() } }),
      ...(goneNow.length > 0 && { gone: goneNow }),
      ...(outagesNow.length > 0 && { outages: outagesNow.map(({ outage }) => outage) }),
      ...(pendingSeq > from && pendingSeq <= until && { pending: this.#pending(within) }),
      ...(until === now && { counts: this.#counts(within) }),
    };
    return part(message, cursor);
  }

  /** Returns at most GONE changes that may have removed machines from the feed, oldest first. */
  #left(from: number, within: Within): Left[] {
    const all = "SELECT name, seq, '{}' AS labels FROM gone WHERE seq > ? ORDER BY seq LIMIT ?";
    const some = "SELECT name, seq, labels FROM feed_left WHERE seq > ? ORDER BY seq LIMIT ?";
    return this.#sql.exec<Left>(within === ALL ? all : some, from, GONE).toArray();
  }

  /** Returns the machines that the client had, and that do not match any more. */
  #gone(left: readonly Left[], { matches, where }: Within): string[] {
    const had = left.filter(({ labels }) => matches(JSON.parse(labels) as Record<string, string>));
    const names = [...new Set(had.map(({ name }) => name))];
    if (where === ANY_NAME || names.length === 0) return names;
    const query = `SELECT value FROM json_each(?) WHERE value IN (SELECT name FROM machines WHERE ${where.sql})`;
    const present = new Set(column<string>(this.#sql, query, JSON.stringify(names), ...where.bindings));
    return names.filter((name) => !present.has(name));
  }

  #counts({ where }: Within): FleetCounts {
    if (where === ANY_NAME) return this.#rows.counts();
    const query = `SELECT state, COUNT(*) AS count FROM machines WHERE ${where.sql} GROUP BY state`;
    return Object.fromEntries(this.#sql.exec(query, ...where.bindings).raw<[FleetState, number]>());
  }

  /** Returns the changed machines that fit into a message, oldest change first. `until`: the last covered change. */
  #changedMachines(
    from: number,
    last: number,
    { matches }: Within,
  ): { whole: ColumnsBuilder; moved: ColumnsBuilder; until: number } {
    const [whole, moved] = [new ColumnsBuilder(ALL_FIELDS), new ColumnsBuilder(MOVING_FIELDS)];
    let until = from;
    const query = `SELECT machines.name, machines.seq, IFNULL(feed_whole.seq, machines.seq) > ?1 AS isWhole, summary
      FROM machines JOIN summaries USING (name) LEFT JOIN feed_whole USING (name)
      WHERE machines.seq > ?1 AND machines.seq <= ?2 ORDER BY machines.seq`;
    for (const { name, seq, isWhole, summary } of this.#sql.exec<Summarized>(query, from, last)) {
      if (whole.bytes + moved.bytes > ROW_BYTES || whole.rows + moved.rows === FEED_LIMITS.machines)
        return { whole, moved, until };
      const known = JSON.parse(summary) as MachineSummary;
      if (!matches(known.labels)) continue;
      if (isWhole) whole.add(allValues(name, known));
      else moved.add(movingValues(name, known));
      until = seq;
    }
    return { whole, moved, until: last };
  }

  /** Reports whether this change is in a later hundred than the last stored name, so that no machine can avoid a pruning. */
  #isPruningDue(seq: number): boolean {
    const last = ["gone", "feed_left"].map((table) =>
      cell<number | null>(this.#sql, `SELECT MAX(seq) FROM ${table} WHERE seq < ?`, seq),
    );
    const hundred = (of: number) => Math.floor(of / GONE_PRUNED_EVERY);
    return hundred(Math.max(0, ...last.map((each) => each ?? 0))) < hundred(seq);
  }

  /** Deletes the oldest names of removed machines. A client with an older cursor must start with a snapshot. */
  #pruneGone(): void {
    const left = "SELECT seq FROM feed_left ORDER BY seq DESC LIMIT 1 OFFSET ?";
    this.#sql.exec(`DELETE FROM feed_left WHERE seq <= (${left})`, GONE_KEPT);
    const query = "SELECT seq FROM gone ORDER BY seq DESC LIMIT 1 OFFSET ?";
    const [oldest] = this.#sql.exec<{ seq: number }>(query, GONE_KEPT);
    if (!oldest) return;
    this.#sql.exec("UPDATE feed SET gone_seq = ?", oldest.seq);
    this.#sql.exec("DELETE FROM gone WHERE seq <= ?", oldest.seq);
  }

  /** Returns the machines that wait for approval. They have no Node, so that they match no selector. */
  #pending(within: Within): PendingMachine[] {
    return within === ALL ? (JSON.parse(this.#feed().pending) as PendingMachine[]) : [];
  }
}

function withinOf(selector: string): Within {
  if (selector === "") return ALL;
  const parsed = parseOperatorSelector(selector);
  if (!parsed.ok) return { where: { sql: "FALSE", bindings: [] }, matches: () => false };
  return { where: nameWithin(parsed.value), matches: (labels) => matchesLabels(parsed.value, labels) };
}

/** Returns the number of the last change that `rows` cover completely. A full page may lack rows of its last change. */
function lastWhole(rows: readonly { seq: number }[], limit: number): number {
  return rows.length < limit ? Infinity : rows.at(-1)!.seq - 1;
}

function part(message: FeedMessage, cursor: FeedCursor): FeedPart {
  return { text: JSON.stringify(message), cursor };
}

/** A position in the feed. As a text, a client acknowledges messages with the cursor and resumes from it. */
export interface FeedCursor {
  /** The ID of the index. An index that replaces a lost index has another ID. */
  index: string;
  /** The number of the last change that the client has. */
  seq: number;
  /** The last rowid of the snapshot that the client has, 0 for none; null after the snapshot. */
  through: number | null;
}

export function cursorText({ index, seq, through }: FeedCursor): string {
  return through === null ? `${index}_${seq}` : `${index}_${seq}_${through}`;
}

/** Parses a cursor's text. The text must have the right form: a schema has checked it, or cursorText wrote it. */
export function readCursor(text: string): FeedCursor {
  const [index = "", seq, through] = text.split("_");
  return { index, seq: Number(seq), through: through === undefined ? null : Number(through) };
}
