// Finds machines in the fleet index: pages in any order, that go on from any row, and how many there are in each state.
// Changes nothing.
import type { MachineFilter } from "../../shared/fleet/machine-filter.ts";
import { neighbourRange } from "../../shared/fleet/sort-keys.ts";
import { type FleetCounts, type FleetState, URGENCY } from "../../shared/fleet/state.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import type { MachineSort } from "../../shared/fleet/machine-fields.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { MachineRows } from "./machine-rows.ts";
import { EMPTY_SET, SEARCH_COLUMNS, searchValues, SET_COLUMNS } from "./search-columns.ts";
import type { MachineStanding } from "./standings.ts";
import { type Where, whereOf } from "./where.ts";

/** A row of the index by its name, or a machine that waits: its ID sorts right behind the name that it waits for. */
export interface FoundMachine {
  id: string;
  summary: MachineSummary;
}

/** The row that a page goes on behind. */
export interface SearchPosition {
  key: string | number;
  id: string;
}

export interface MachineSearchRequest {
  filter: MachineFilter;
  sort: { by: MachineSort; isDescending: boolean };
  limit: number;
  after: SearchPosition | null;
  /** Machines that the index does not know, to be found beside its own. They have neither labels nor conditions. */
  others: FoundMachine[];
  /** Are the counts wanted? */
  isCounted: boolean;
  /** Nothing is looked for where this is still the last change; null: always. */
  unlessSeq: number | null;
}

export interface MachinePage {
  /** Of the last change. */
  seq: number;
  /** null: nothing has changed since `unlessSeq`. */
  found: {
    machines: FoundMachine[];
    /** null: these were the last. */
    next: SearchPosition | null;
    /** null: not wanted. */
    counts: { matching: FleetCounts; fleet: FleetCounts } | null;
  } | null;
}

/** Characters of a page's summaries: far below what an RPC value may have. A page has one row at least. */
export const PAGE_LENGTH = 4 * 1024 * 1024;

/** More milliseconds than any time has, and few enough that all keys are exact. */
const RANK = 10 ** 15;

const KEYS: Record<MachineSort, string> = {
  name: "name",
  state: "state",
  since: "since_ms",
  version: "version_key",
  address: "address_key",
  urgency: `CASE state ${URGENCY.map((state, rank) => `WHEN '${state}' THEN ${rank * RANK}`).join(" ")} END - since_ms`,
};

/** What is looked through: the index's table, with the other machines where there are any. */
interface Source {
  with: string;
  machines: string;
  bindings: string[];
}
const INDEX: Source = { with: "", machines: "machines", bindings: [] };
const BESIDE = SEARCH_COLUMNS.map((column, index) => `value ->> ${index} AS ${column}`).join();
const WITH_OTHERS = `WITH all_machines AS (SELECT ${SEARCH_COLUMNS.join()} FROM machines
  UNION ALL SELECT ${BESIDE} FROM json_each(?)) `;

/** The share of the fleet from which on a page in the order of names comes soonest by reading in that order. */
const MOST = 7 / 8;
type FoundWhere = Where & { isMost: boolean };

export class MachineSearch {
  readonly #sql: SqlStorage;
  readonly #rows: MachineRows;

  constructor(sql: SqlStorage, rows: MachineRows) {
    this.#sql = sql;
    this.#rows = rows;
  }

  /** Fails where the machine beside which others are looked for is not known, or its address is not. */
  page(request: MachineSearchRequest): Result<MachinePage> {
    const seq = this.#rows.seq();
    if (request.unlessSeq === seq) return success({ seq, found: null });
    const filter = this.#atAddress(request.filter);
    if (!filter.ok) return filter;
    const source = sourceOf(request.others);
    const where = whereOf(filter.value);
    const counts = request.isCounted ? this.#counts(request, source, where) : null;
    const isMost = counts !== null && sumOf(counts.matching) >= MOST * sumOf(counts.fleet);
    const { machines, next } = this.#find(request, source, { ...where, isMost });
    return success({ seq, found: { machines, next, counts } });
  }

  /** How all that match stand, by name. Fails as `page` does. */
  standings(asked: MachineFilter, limit: number): Result<MachineStanding[]> {
    const filter = this.#atAddress(asked);
    if (!filter.ok) return filter;
    const where = whereOf(filter.value);
    const query = `SELECT name, state, NULLIF(phase, '') AS phase FROM machines ${conditionsOf([where.sql])}
      ORDER BY +name LIMIT ?`;
    type Row = MachineStanding & Record<string, string | null>;
    return success(this.#sql.exec<Row>(query, ...where.bindings, limit).toArray());
  }

  #atAddress({ beside, ...filter }: MachineFilter): Result<Omit<MachineFilter, "beside">> {
    if (beside === undefined) return success(filter);
    const known = this.#rows.summary(beside);
    if (!known) return failure("no machine has this name");
    const address = neighbourRange(known.address);
    if (!address) return failure("the address from which this machine reports is not known");
    const { from, to } = filter.address ?? address;
    const both = { from: from > address.from ? from : address.from, to: to < address.to ? to : address.to };
    return success({ ...filter, address: both });
  }

  #find({ sort, limit, after, others }: MachineSearchRequest, source: Source, where: FoundWhere) {
    const isByName = sort.by === "name";
    const key = KEYS[sort.by];
    const order = sort.isDescending ? "DESC" : "ASC";
    const behind = sort.isDescending ? "<" : ">";
    const terms = [where.sql, after && (isByName ? `name ${behind} ?` : `(${key}, name) ${behind} (?, ?)`)];
    // By the index of names a filter that few machines pass would read the whole table out of its order: the sign has the
    // table read instead.
    const by = isByName ? (where.sql && !where.isMost ? "+name" : "name") : "key";
    const query = `${source.with}SELECT name, key, summary FROM (
        SELECT name, ${key} AS key FROM ${source.machines} ${conditionsOf(terms)}
        ORDER BY ${by} ${order}${isByName ? "" : `, name ${order}`} LIMIT ?
      ) LEFT JOIN summaries USING (name) ORDER BY key ${order}, name ${order}`;
    const position = after ? [...(isByName ? [] : [after.key]), after.id] : [];
    const bindings = [...source.bindings, ...where.bindings, ...position, limit + 1];
    const besides = new Map(others.map(({ id, summary }) => [id, summary]));
    const machines: FoundMachine[] = [];
    let last: SearchPosition | null = null;
    let length = 0;
    type Row = { name: string; key: string | number; summary: string | null };
    for (const { name: id, key: at, summary } of this.#sql.exec<Row>(query, ...bindings)) {
      length += summary?.length ?? 0;
      if (machines.length === limit || (last && length > PAGE_LENGTH)) return { machines, next: last };
      const known = besides.get(id) ?? (JSON.parse(summary ?? "null") as MachineSummary | null);
      if (known) machines.push({ id, summary: known });
      last = { key: at, id };
    }
    return { machines, next: null };
  }

  #counts({ others }: MachineSearchRequest, source: Source, where: Where) {
    const fleet = this.#rows.counts();
    for (const { summary } of others) fleet[summary.state] = (fleet[summary.state] ?? 0) + 1;
    if (where.sql === "") return { matching: fleet, fleet };
    const query = `${source.with}SELECT state, COUNT(*) AS count FROM ${source.machines} ${conditionsOf([where.sql])} GROUP BY state`;
    const rows = this.#sql.exec<{ state: FleetState; count: number }>(
      query,
      ...source.bindings,
      ...where.bindings,
    );
    const matching: FleetCounts = {};
    for (const { state, count } of rows) matching[state] = count;
    return { matching, fleet };
  }
}

const sumOf = (counts: FleetCounts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

function sourceOf(others: readonly FoundMachine[]): Source {
  if (others.length === 0) return INDEX;
  const sets = SET_COLUMNS.map(() => EMPTY_SET);
  const values = others.map(({ id, summary }) => searchValues(id, summary, sets));
  return { with: WITH_OTHERS, machines: "all_machines", bindings: [JSON.stringify(values)] };
}

function conditionsOf(terms: readonly (string | null)[]): string {
  const given = terms.filter((term) => term);
  return given.length === 0 ? "" : `WHERE ${given.join(" AND ")}`;
}
