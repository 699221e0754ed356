// Searches machines in the fleet index: returns pages in any order, from any row on, and counts machines by state.
import type { MachineSort } from "../../shared/fleet/machine-fields.ts";
import {
  type ConditionTerm,
  isWordOfState,
  type MachineFilter,
  parseSearchWords,
  type SearchWord,
  type VersionTerm,
} from "../../shared/fleet/search-filter.ts";
import { type AddressRange, neighbourRange, versionKey } from "../../shared/fleet/sort-keys.ts";
import { FLEET_STATES, type FleetCounts, type FleetState, URGENCY } from "../../shared/fleet/state.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import type { LabelRequirement } from "../../shared/kubernetes/label-selector.ts";
import { HOSTNAME_LABELS } from "../../shared/kubernetes/labels.ts";
import { type Phase, PHASES } from "../../shared/protocol/answers.ts";
import { BULK_LIMITS } from "../../shared/protocol/limits.ts";
import { failure, type Result, success, valueOr } from "../../shared/result.ts";
import { column, type Row } from "../storage/query.ts";
import { EMPTY_SET, type MachineRows, SEARCH_COLUMNS, searchValues, SET_COLUMNS } from "./machine-rows.ts";

/** A machine of the index, or a machine that waits for approval: its ID sorts right after the name that it requests. */
export interface FoundMachine {
  id: string;
  summary: MachineSummary;
}

/** The last row of the previous page. */
export interface SearchPosition {
  key: string | number;
  id: string;
}

export interface MachineSearchRequest {
  filter: MachineFilter;
  /** The selector of the operator's machines, which `filter` must have too; absent for all machines. */
  within?: LabelRequirement[] | undefined;
  sort: { by: MachineSort; isDescending: boolean };
  limit: number;
  after: SearchPosition | null;
  /** The machines that wait for approval, which the search treats as rows of the index without labels and conditions. */
  others: FoundMachine[];
  /** true if the answer has the number of machines in each state. */
  isCounted: boolean;
  /** The last change that the client knows. Without a later change the search is skipped; null: never skipped. */
  unlessSeq: number | null;
}

export interface MachinePage {
  /** The number of the last change of the index. */
  seq: number;
  /** The result of the search; null if the index has not changed since `unlessSeq`. */
  found: {
    machines: FoundMachine[];
    /** The last row of this page; null if no page follows. */
    next: SearchPosition | null;
    /** The numbers of machines in each state; null if not requested. */
    counts: { matching: FleetCounts; fleet: FleetCounts } | null;
  } | null;
}

/** The limit of characters of a page's summaries, far below the limit of an RPC value. A page has at least one row. */
const PAGE_LENGTH = 4 * 1024 * 1024;

/** The distance between two ranks of urgency: above any time in milliseconds, and small enough for exact doubles. */
const RANK = 10 ** 15;

const KEYS: Record<MachineSort, string> = {
  name: "name",
  state: "state",
  since: "since_ms",
  version: "version_key",
  address: "address_key",
  urgency: `CASE state ${URGENCY.map((state, rank) => `WHEN '${state}' THEN ${rank * RANK}`).join(" ")} END - since_ms`,
};

/** The table that is searched: `machines`, or the union of `machines` and the request's `others`. */
interface Source {
  machines: string;
  /** The definition of that table for WITH, and the values of `others` as JSON; [] for `machines`. */
  tables: readonly Table[];
}
interface Table {
  definition: string;
  binding: string;
}
const INDEX: Source = { machines: "machines", tables: [] };
const BESIDE = SEARCH_COLUMNS.map((column, index) => `value ->> ${index} AS ${column}`).join();
const ALL_MACHINES = `all_machines AS (SELECT ${SEARCH_COLUMNS.join()} FROM machines
  UNION ALL SELECT ${BESIDE} FROM json_each(?))`;

/** The share of matching machines from which reading in the order of names is faster than sorting. */
const MOST = 7 / 8;
type FoundWhere = Condition & { isMost: boolean };

export class MachineSearch {
  readonly #sql: SqlStorage;
  readonly #rows: MachineRows;

  constructor(sql: SqlStorage, rows: MachineRows) {
    this.#sql = sql;
    this.#rows = rows;
  }

  /** Returns a page of machines. Fails if the machine `beside` does not exist or has no known address. */
  page(request: MachineSearchRequest): Result<MachinePage> {
    const seq = this.#rows.seq();
    if (request.unlessSeq === seq) return success({ seq, found: null });
    const near = this.#near(request.filter, request.within);
    if (!near.ok) return near;
    const source = sourceOf(request.others);
    const where = whereOf(request.filter, near.value);
    const counts = request.isCounted ? this.#counts(request, source, where) : null;
    const isMost = counts !== null && sumOf(counts.matching) >= MOST * sumOf(counts.fleet);
    const { machines, next } = this.#find(request, source, { ...where, isMost });
    return success({ seq, found: { machines, next, counts } });
  }

  /** Returns the status of each machine that matches, sorted by name. Fails as `page` does. */
  statuses(filter: MachineFilter, limit: number, within?: LabelRequirement[]): Result<MachineStatus[]> {
    const near = this.#near(filter, within);
    if (!near.ok) return near;
    const where = whereOf(filter, near.value);
    const head = headOf(where.tables);
    const query = `${head.sql}SELECT name, state, NULLIF(phase, '') AS phase FROM machines ${conditionsOf([where.sql])}
      ORDER BY +name LIMIT ?`;
    const bindings = [...head.bindings, ...where.bindings, limit];
    return success(this.#sql.exec<Row<MachineStatus>>(query, ...bindings).toArray());
  }

  /** Returns the names of the machines that match the selector, sorted. `among`: null for all machines. */
  matching(selector: LabelRequirement[], among: string[] | null): string[] {
    const where = whereOf({ selector }, undefined);
    const terms = [where.sql, among && "name IN (SELECT value FROM json_each(?))"];
    const bindings = [...where.bindings, ...(among ? [JSON.stringify(among)] : [])];
    return column<string>(
      this.#sql,
      `SELECT name FROM machines ${conditionsOf(terms)} ORDER BY name`,
      ...bindings,
    );
  }

  /** Returns the range of addresses of the machine `beside` and its neighbours; undefined without `beside`. */
  #near({ beside }: MachineFilter, within?: LabelRequirement[]): Result<AddressRange | undefined> {
    if (beside === undefined) return success(undefined);
    const isOutside = within !== undefined && this.matching(within, [beside]).length === 0;
    const known = isOutside ? null : this.#rows.summary(beside);
    if (!known) return failure("no machine has this name");
    const address = neighbourRange(known.address);
    return address ? success(address) : failure("the address from which this machine reports is not known");
  }

  #find({ sort, limit, after, others }: MachineSearchRequest, source: Source, where: FoundWhere) {
    const isByName = sort.by === "name";
    const key = KEYS[sort.by];
    const order = sort.isDescending ? "DESC" : "ASC";
    const behind = sort.isDescending ? "<" : ">";
    const terms = [where.sql, after && (isByName ? `name ${behind} ?` : `(${key}, name) ${behind} (?, ?)`)];
    // If few machines match, the unary plus stops SQLite from reading the whole table by the index of names.
    const by = isByName ? (where.sql && !where.isMost ? "+name" : "name") : "key";
    const head = headOf([...source.tables, ...where.tables]);
    const query = `${head.sql}SELECT name, key, summary FROM (
        SELECT name, ${key} AS key FROM ${source.machines} ${conditionsOf(terms)}
        ORDER BY ${by} ${order}${isByName ? "" : `, name ${order}`} LIMIT ?
      ) LEFT JOIN summaries USING (name) ORDER BY key ${order}, name ${order}`;
    const position = after ? [...(isByName ? [] : [after.key]), after.id] : [];
    const bindings = [...head.bindings, ...where.bindings, ...position, limit + 1];
    const othersById = new Map(others.map(({ id, summary }) => [id, summary]));
    const machines: FoundMachine[] = [];
    let last: SearchPosition | null = null;
    let length = 0;
    type Found = { name: string; key: string | number; summary: string | null };
    for (const { name: id, key: at, summary } of this.#sql.exec<Found>(query, ...bindings)) {
      length += summary?.length ?? 0;
      if (machines.length === limit || (last && length > PAGE_LENGTH)) return { machines, next: last };
      machines.push({ id, summary: othersById.get(id) ?? (JSON.parse(summary!) as MachineSummary) });
      last = { key: at, id };
    }
    return { machines, next: null };
  }

  #counts({ others, within }: MachineSearchRequest, source: Source, where: Condition) {
    if (within) {
      const fleet = this.#countsWhere(INDEX, whereOf({ selector: within }, undefined));
      return { matching: this.#countsWhere(source, where), fleet };
    }
    const fleet = this.#rows.counts();
    for (const { summary } of others) fleet[summary.state] = (fleet[summary.state] ?? 0) + 1;
    return { matching: where.sql === "" ? fleet : this.#countsWhere(source, where), fleet };
  }

  #countsWhere({ machines, tables }: Source, where: Condition): FleetCounts {
    const head = headOf([...tables, ...where.tables]);
    const query = `${head.sql}SELECT state, COUNT(*) AS count FROM ${machines} ${conditionsOf([where.sql])} GROUP BY state`;
    const rows = this.#sql.exec(query, ...head.bindings, ...where.bindings).raw<[FleetState, number]>();
    return Object.fromEntries(rows);
  }
}

const sumOf = (counts: FleetCounts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

function sourceOf(others: readonly FoundMachine[]): Source {
  if (others.length === 0) return INDEX;
  const sets = SET_COLUMNS.map(() => EMPTY_SET);
  const values = others.map(({ id, summary }) => searchValues(id, summary, sets));
  const table = { definition: ALL_MACHINES, binding: JSON.stringify(values) };
  return { machines: "all_machines", tables: [table] };
}

/** Returns the beginning of a query that uses the tables; "" without a table. */
function headOf(tables: readonly Table[]): Where {
  const definitions = tables.map(({ definition }) => definition).join();
  return { sql: definitions && `WITH ${definitions} `, bindings: tables.map(({ binding }) => binding) };
}

function conditionsOf(terms: readonly (string | null)[]): string {
  const given = terms.filter((term) => term);
  return given.length === 0 ? "" : `WHERE ${given.join(" AND ")}`;
}

export interface Where {
  /** A condition, typically over SEARCH_COLUMNS; "" if every machine matches. */
  sql: string;
  bindings: (string | number)[];
}

/** A condition, and the tables that it uses. */
interface Condition extends Where {
  tables: Table[];
}

/** The condition of an operator without a selector. */
export const ANY_NAME: Where = { sql: "TRUE", bindings: [] };

/** Returns a condition on the names of machines that match the selector. */
export function nameWithin(selector: LabelRequirement[]): Where {
  const { sql, bindings } = whereOf({ selector }, undefined);
  return { sql: `name IN (SELECT name FROM machines WHERE ${sql})`, bindings };
}

/** Translates a filter to SQL, where `near` takes the place of `beside`. Each text is passed as a binding. */
function whereOf(filter: MachineFilter, near: AddressRange | undefined): Condition {
  const { state, phase, condition, selector, version, address, token, unused, text, since, until } = filter;
  const terms: Where[] = [];
  const add = (sql: string, ...bindings: (string | number)[]) => terms.push({ sql, bindings });
  if (state) add("state IN (SELECT value FROM json_each(?))", JSON.stringify(state));
  if (phase) add("phase IN (SELECT value FROM json_each(?))", JSON.stringify(phase));
  for (const range of [address, near]) if (range) add("address_key BETWEEN ? AND ?", range.from, range.to);
  if (token !== undefined) add("token = ?", token);
  if (unused !== undefined) add("is_unused = ?", Number(unused));
  if (since !== undefined) add("since_ms > ?", since);
  if (until !== undefined) add("since_ms <= ?", until);
  terms.push(...(version ?? []).map(versionTerm));
  if (condition) terms.push(inSet("condition_set", condition.map(conditionTerm)));
  const isOwn = ({ key }: LabelRequirement) => HOSTNAME_LABELS.includes(key);
  terms.push(...(selector ?? []).filter(isOwn).map((each) => labelTerm(each, "own_label")));
  const common = (selector ?? []).filter((each) => !isOwn(each)).map((each) => labelTerm(each, "text"));
  if (common.length > 0) terms.push(inSet("label_set", common));
  const words = valueOr(parseSearchWords(text ?? ""), []);
  for (const [index, word] of words.entries()) add(wordTerm(word, index));
  // All words are one binding, since a query has at most 100.
  const tables =
    words.length === 0
      ? []
      : [{ definition: WORDS, binding: JSON.stringify(words.map((word) => word.text)) }];
  return { ...all(terms), tables };
}

const WORDS = "words AS MATERIALIZED (SELECT key, value FROM json_each(?))";

/** Returns a condition for the word with this index in WORDS. SQLite evaluates each inner SELECT once. */
function wordTerm({ text, isPattern }: SearchWord, index: number): string {
  const word = `(SELECT value FROM words WHERE key = ${index})`;
  if (isPattern) return `(name GLOB ${word} OR address GLOB ${word})`;
  const named = (column: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`${column} IN (${names.map((name) => `'${name}'`).join()})`];
  const ways = [
    ...named(
      "state",
      FLEET_STATES.filter((state) => isWordOfState(state, text)),
    ),
    ...named(
      "phase",
      PHASES.filter((phase) => phase.toLowerCase().includes(text)),
    ),
    `instr(own_words, ${word}) > 0`,
    inSet("word_set", [{ sql: `instr(text, ${word}) > 0`, bindings: [] }]).sql,
  ];
  return `(${ways.join(" OR ")})`;
}

function all(terms: readonly Where[]): Where {
  return {
    sql: terms.map(({ sql }) => sql).join(" AND "),
    bindings: terms.flatMap(({ bindings }) => bindings),
  };
}

/** Returns a condition that finds the few matching sets first, instead of comparing the labels of every machine. */
function inSet(column: (typeof SET_COLUMNS)[number], terms: readonly Where[]): Where {
  const { sql, bindings } = all(terms);
  return { sql: `${column} IN (SELECT id FROM sets WHERE ${sql})`, bindings };
}

function versionTerm({ operator, version }: VersionTerm): Where {
  return operator === "=" || operator === "!="
    ? { sql: `shim_version ${operator} ?`, bindings: [version] }
    : { sql: `(version_key ${operator} ? AND version_key <> '')`, bindings: [versionKey(version)] };
}

function conditionTerm({ type, status, isNegated }: ConditionTerm): Where {
  const sql = `instr(lower(text), ?) ${isNegated ? "=" : ">"} 0`;
  return { sql, bindings: [`\n${type}=${status}\n`.toLowerCase()] };
}

/** Returns a condition on the labels in `column`. Mirrors apimachinery's Requirement.Matches. */
function labelTerm({ key, operator, values }: LabelRequirement, column: string): Where {
  const found = `instr(${column}, ?) > 0`;
  switch (operator) {
    case "exists":
      return { sql: found, bindings: [`\n${key}=`] };
    case "absent":
      return { sql: `NOT ${found}`, bindings: [`\n${key}=`] };
    case "in":
    case "notin": {
      const any = `(${values.map(() => found).join(" OR ")})`;
      const bindings = values.map((value) => `\n${key}=${value}\n`);
      return { sql: operator === "in" ? any : `NOT ${any}`, bindings };
    }
    default:
      return numberTerm({ key, operator, value: values[0] ?? "" }, column);
  }
}

const INT64_MAX = String(2n ** 63n - 1n);

/**
 * Returns a condition that compares a label's value as a number. Only values of digits match, since no label's value
 * begins with a sign. Without leading zeros, numbers compare by length and then as text.
 */
function numberTerm(term: { key: string; operator: ">" | "<"; value: string }, column: string): Where {
  const digits = term.value.replace(/^0+/, "");
  const begin = `\n${term.key}=`;
  const sql = `EXISTS (SELECT 1 FROM (
    SELECT ltrim(v, '0') AS n FROM (
      SELECT substr(rest, 1, instr(rest, char(10)) - 1) AS v FROM (
        SELECT substr(${column}, instr(${column}, ?) + ${begin.length}) AS rest)
    ) WHERE v <> '' AND v NOT GLOB '*[^0-9]*'
  ) WHERE (length(n), n) <= (${INT64_MAX.length}, '${INT64_MAX}') AND (length(n), n) ${term.operator} (${digits.length}, ?))`;
  return { sql: `(instr(${column}, ?) > 0 AND ${sql})`, bindings: [begin, begin, digits] };
}

/** The state and phase of a machine; null if the index does not know the machine. */
export interface MachineStatus {
  name: string;
  state: FleetState | null;
  phase: Phase | null;
}

/** Returns the status of each machine in `names`, sorted by name. */
export function statusesOf(sql: SqlStorage, names: readonly string[]): MachineStatus[] {
  const query = `SELECT DISTINCT value AS name, state, NULLIF(phase, '') AS phase
    FROM json_each(?) LEFT JOIN machines ON machines.name = value ORDER BY value`;
  return sql.exec<Row<MachineStatus>>(query, JSON.stringify(names)).toArray();
}

export interface SilentMachine {
  name: string;
  silentSinceMs: number;
}

/** Returns the machines with a Node that have been silent since `untilMs` or longer, the longest silence first. */
export function silentSince(sql: SqlStorage, untilMs: number): SilentMachine[] {
  const query = `SELECT name, since_ms AS silentSinceMs FROM machines
    WHERE state = 'silent' AND since_ms <= ? AND phase <> 'node deleted' ORDER BY since_ms, name LIMIT ?`;
  return sql.exec<Row<SilentMachine>>(query, untilMs, BULK_LIMITS.machines).toArray();
}
