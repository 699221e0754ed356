// Draws the matching machines as a table: its tools, head and rows, and the selection.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FeedMachine, FeedUpdate } from "../../../shared/fleet/feed-view.ts";
import { withRest } from "../base/places.ts";
import { usePage } from "../page.ts";
import { lazyView } from "../parts/lazy-view.tsx";
import type { BulkBarProps } from "./bulk-bar.tsx";
import { columnsOf, columnsText, type FleetColumn } from "./columns.ts";
import { type FleetQuery, type FleetSort, restOf } from "./fleet-query.ts";
import { useFleetRows, useIsPointedAt } from "./fleet-rows.ts";
import { MachineRow } from "./machine-row.tsx";
import { pageWindow, useRowWindow } from "./row-window.ts";
import type { FleetSearch, SearchFault } from "./search-grammar.ts";
import { useTableKeys } from "./table-keys.ts";
import { PagesLinks, TableStatus, TableTools } from "./table-tools.tsx";

interface MachineTableProps {
  /** The query with the last valid search. */
  query: FleetQuery;
  search: FleetSearch;
  /** The fault of the typed search. null if the search is valid. */
  fault: SearchFault | null;
  field: ComponentChildren;
}

export function MachineTable({ query, search, fault, field }: MachineTableProps) {
  const isAdmin = usePage().session.isAdmin();
  const { columns, choose } = useColumns();
  const body = useRef<HTMLTableSectionElement>(null);
  const { matching, shown, settle } = useFleetRows(query, search, useIsPointedAt(body));
  const { selected, select, selectAll } = useSelection(shown);
  const names = useMemo(() => (isAdmin ? matching.map(({ name }) => name) : []), [matching, isAdmin]);
  const sortBy = useSort(query);
  const clear = useCallback(() => {
    selected.value = NOTHING_SELECTED;
  }, []);
  const section = useSeen(query);
  return (
    <section ref={section} class="fleet-machines" aria-label="Machines">
      <TableTools
        field={field}
        query={query}
        search={search}
        columns={columns}
        onSort={sortBy}
        onColumns={choose}
      />
      <TableStatus matching={matching.length} fault={fault} onSettle={settle} />
      {isAdmin && (
        <section class="bulk-bar" aria-label="Acting on many machines">
          <BulkActions selected={selected} matching={names} query={query} onDone={clear} />
        </section>
      )}
      <MachineRows
        body={body}
        query={query}
        columns={columns}
        rows={shown}
        selected={isAdmin ? selected.value : null}
        onSort={sortBy}
        onSelect={select}
        onSelectAll={(isChosen) => selectAll(names, isChosen)}
      />
      {query.mode === "pages" && <PagesLinks query={query} count={shown.length} />}
    </section>
  );
}

/** Returns a reference for the table. With a filter in the URL, the page scrolls to a table below the screen. */
function useSeen({ text, states, outage }: FleetQuery) {
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    const isFiltered = text !== "" || states.size > 0 || outage !== null;
    const top = section.current?.getBoundingClientRect().top ?? 0;
    if (isFiltered && top > innerHeight * 0.75) section.current?.scrollIntoView();
  }, [text, states, outage]);
  return section;
}

/** Returns the shown columns, and functions that change them. The browser keeps the choice. */
function useColumns() {
  const { preferences } = usePage();
  const [kept, keep] = useState(() => preferences.get("columns"));
  const columns = useMemo(() => columnsOf(kept), [kept]);
  const choose = useCallback((chosen: readonly FleetColumn[]) => {
    const text = columnsText(chosen);
    preferences.set("columns", text);
    keep(text);
  }, []);
  return { columns, choose };
}

/** Returns a function that sorts by a column, or reverses the order if the table is already sorted by that column. */
function useSort(query: FleetQuery) {
  const { go, route } = usePage();
  return useCallback(
    (sort: FleetSort) => {
      const isDescending = query.sort === sort && !query.isDescending;
      go(withRest(route.peek(), restOf({ ...query, sort, isDescending, page: 1 })), "replace");
    },
    [query],
  );
}

/** Returns the selection, and functions that change it. A machine that leaves the fleet leaves the selection. */
function useSelection(rows: readonly { name: string }[]) {
  const { live } = usePage();
  const selected = useSignal<Selection>(NOTHING_SELECTED);
  const anchor = useRef<string>(null);
  const current = useRef(rows);
  current.current = rows;
  useEffect(
    () =>
      live.lastUpdate.subscribe((update) => {
        selected.value = withoutGone(selected.peek(), update);
      }),
    [],
  );
  const select = useCallback((name: string, isRange: boolean) => {
    selected.value = extended(selected.peek(), current.current, isRange ? anchor.current : null, name);
    anchor.current = name;
  }, []);
  const selectAll = useCallback((names: readonly string[], isChosen: boolean) => {
    selected.value = withNames(selected.peek(), names, isChosen);
  }, []);
  return { selected, select, selectAll };
}

interface MachineRowsProps {
  body: RefObject<HTMLTableSectionElement | null>;
  query: FleetQuery;
  columns: readonly FleetColumn[];
  rows: readonly FeedMachine[];
  /** The selected machines. null if rows cannot be selected. */
  selected: Selection | null;
  onSort: (sort: FleetSort) => void;
  onSelect: (name: string, isRange: boolean) => void;
  onSelectAll: (isChosen: boolean) => void;
}

/** The width of the column of checkboxes in rem. LEAST_REST_WIDTH is in rem too. */
const SELECT_WIDTH = 2.5;
const LEAST_REST_WIDTH = 14;

function MachineRows(props: MachineRowsProps) {
  const { body, query, columns, rows, selected, onSort, onSelect, onSelectAll } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const { rowHeight, ...seen } = useRowWindow(body, scroller, rows.length);
  const isPaged = query.mode === "pages";
  const { from, to } = isPaged ? pageWindow(rows.length, query.page) : seen;
  const canSelect = selected !== null;
  useTableKeys({
    body,
    reach: isPaged ? { from, to } : { from: 0, to: rows.length },
    toggle: canSelect ? (index) => rows[index] && onSelect(rows[index].name, false) : undefined,
  });
  const width = columns.reduce((sum, column) => sum + (column.width ?? LEAST_REST_WIDTH), SELECT_WIDTH);
  return (
    <div ref={scroller} data-scrolls="machines" class={`fleet-scroll${isPaged ? " fleet-paged" : ""}`}>
      <table
        role="table"
        class="fleet-table"
        aria-label="Machines"
        aria-rowcount={rows.length + 1}
        style={{ minWidth: `${width}rem` }}
      >
        <colgroup>
          {canSelect && <col class="fleet-select" style={{ width: `${SELECT_WIDTH}rem` }} />}
          {columns.map(({ name, width }) => (
            <col key={name} style={width === undefined ? {} : { width: `${width}rem` }} />
          ))}
        </colgroup>
        <MachineTableHead
          columns={columns}
          sort={query.sort}
          isDescending={query.isDescending}
          onSort={onSort}
          selected={selected && howMany(selected, rows)}
          onSelectAll={onSelectAll}
        />
        <tbody ref={body} role="rowgroup">
          {!isPaged && from > 0 && <Gap key="above" height={from * rowHeight} />}
          {rows.slice(from, to).map((machine, at) => (
            <MachineRow
              key={machine.name}
              machine={machine}
              index={from + at}
              columns={columns}
              isSelected={selected && selected.has(machine.name)}
              onSelect={onSelect}
            />
          ))}
          {!isPaged && to < rows.length && <Gap key="below" height={(rows.length - to) * rowHeight} />}
        </tbody>
      </table>
    </div>
  );
}

/** Draws an empty row with the height of the rows that are not drawn. */
function Gap({ height }: { height: number }) {
  return <tr class="fleet-gap" aria-hidden="true" style={{ height: `${height}px` }} />;
}

interface MachineTableHeadProps {
  columns: readonly FleetColumn[];
  sort: FleetSort;
  isDescending: boolean;
  onSort: (sort: FleetSort) => void;
  /** Whether all, some or none of the matching machines are selected. null if rows cannot be selected. */
  selected: "all" | "some" | "none" | null;
  onSelectAll: (isChosen: boolean) => void;
}

function MachineTableHead(props: MachineTableHeadProps) {
  const { columns, sort, isDescending, onSort, selected, onSelectAll } = props;
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (box.current) box.current.indeterminate = selected === "some";
  }, [selected]);
  return (
    <thead role="rowgroup">
      <tr role="row" aria-rowindex={1}>
        {selected !== null && (
          <th role="columnheader" scope="col" class="fleet-select">
            <label>
              <input
                ref={box}
                type="checkbox"
                checked={selected === "all"}
                aria-label="Select all that match"
                onClick={() => onSelectAll(selected !== "all")}
              />
            </label>
          </th>
        )}
        {columns.map(({ name, title, sort: by, hint, isNumber }) => (
          <th
            key={name}
            role="columnheader"
            scope="col"
            class={`fleet-cell-${name}${isNumber ? " number" : ""}`}
            title={hint}
            aria-sort={by === sort ? (isDescending ? "descending" : "ascending") : undefined}
          >
            {by ? (
              <button type="button" class="plain" onClick={() => onSort(by)}>
                {title}
                {by === sort && (
                  <span class="fleet-arrow" aria-hidden="true">
                    {isDescending ? "▼" : "▲"}
                  </span>
                )}
              </button>
            ) : (
              title
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** The bulk actions. Operators need them only after the table, so their code is not in the page's first load. */
const BulkActions = lazyView<BulkBarProps>(async () => (await import("./bulk-bar.tsx")).BulkActions);

/** The names of the selected machines. */
type Selection = ReadonlySet<string>;

const NOTHING_SELECTED: Selection = new Set();

export function toggled(selection: Selection, name: string): Selection {
  return withNames(selection, [name], !selection.has(name));
}

/** Returns the selection where the rows up to `name` have the value of `anchor`, the row changed last. */
export function extended(
  selection: Selection,
  rows: readonly { name: string }[],
  anchor: string | null,
  name: string,
): Selection {
  const [one, other] = [
    rows.findIndex((row) => row.name === anchor),
    rows.findIndex((row) => row.name === name),
  ];
  if (anchor === null || one < 0 || other < 0) return toggled(selection, name);
  const range = rows.slice(Math.min(one, other), Math.max(one, other) + 1);
  return withNames(
    selection,
    range.map((row) => row.name),
    selection.has(anchor),
  );
}

export function withNames(selection: Selection, names: readonly string[], isChosen: boolean): Selection {
  const next = new Set(selection);
  for (const name of names) {
    if (isChosen) next.add(name);
    else next.delete(name);
  }
  return next;
}

/** Returns the selection without machines that have left the fleet, or the unchanged object if none has. */
export function withoutGone(selection: Selection, { gone }: FeedUpdate): Selection {
  return gone.some((name) => selection.has(name)) ? withNames(selection, gone, false) : selection;
}

export function howMany(selection: Selection, rows: readonly { name: string }[]): "all" | "some" | "none" {
  if (selection.size === 0 || rows.length === 0) return "none";
  const chosen = rows.reduce((sum, { name }) => sum + Number(selection.has(name)), 0);
  if (chosen === 0) return "none";
  return chosen === rows.length ? "all" : "some";
}
