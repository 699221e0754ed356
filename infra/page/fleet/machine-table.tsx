// Draws the matching machines as a table: its bar of tools, the problems, head and rows, and the selection.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FeedMachine, FeedUpdate } from "../../../shared/fleet/feed-view.ts";
import type { FleetSearch, SearchFault } from "../../../shared/fleet/search-language.ts";
import { withRest } from "../base/places.ts";
import { usePage } from "../page.ts";
import { useStuckHeight } from "../base/stuck-height.ts";
import { lazyView } from "../parts/lazy-view.tsx";
import { BulkBar } from "./bulk-bar.tsx";
import { columnsOf, columnsText, type FleetColumn, type FleetColumnName } from "./columns.ts";
import { type FleetQuery, type FleetSort, restOf } from "./fleet-query.ts";
import { useFleetRows, useIsPointedAt } from "./fleet-rows.ts";
import type { GroupTableProps } from "./group-table.tsx";
import { MachineRow } from "./machine-row.tsx";
import { NeedsAttention } from "./needs-attention.tsx";
import { NoMatch } from "./no-match.tsx";
import { useRowWindow } from "./row-window.ts";
import { useTableKeys } from "./table-keys.ts";
import { TableStatus, TableTools } from "./table-tools.tsx";

interface MachineTableProps {
  /** The query with the last valid search. */
  query: FleetQuery;
  search: FleetSearch;
  /** The fault of the typed search. null if the search is valid. */
  fault: SearchFault | null;
  /** The counts and the search field. */
  filters: ComponentChildren;
}

export function MachineTable({ query, search, fault, filters }: MachineTableProps) {
  const { session, route } = usePage();
  const isAdmin = session.isAdmin();
  const { columns, choose } = useColumns();
  const body = useRef<HTMLTableSectionElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  useStuckHeight(bar, "--bar");
  const { matching, shown, settle } = useFleetRows(query, search, useIsPointedAt(body));
  const { selected, select, selectAll } = useSelection(shown);
  const names = useMemo(() => (isAdmin ? matching.map(({ name }) => name) : []), [matching, isAdmin]);
  const sortBy = useSort(query);
  const clear = useCallback(() => {
    selected.value = NOTHING_SELECTED;
  }, []);
  const all = useCallback((isChosen: boolean) => selectAll(names, isChosen), [names]);
  return (
    <div class="fleet">
      <div ref={bar} class="fleet-bar">
        {filters}
        <TableTools query={query} search={search} columns={columns} onSort={sortBy} onColumns={choose} />
        <TableStatus matching={matching.length} fault={fault} onSettle={settle} />
      </div>
      <NeedsAttention />
      {route.value.rest.has("group") && <GroupTable machines={matching} />}
      {isAdmin && (
        <BulkBar selected={selected} matching={names} onSelectAll={() => all(true)} onDone={clear} />
      )}
      <MachineRows
        section={useSeen(query)}
        body={body}
        query={query}
        columns={columns}
        rows={shown}
        selected={isAdmin ? selected.value : null}
        onSort={sortBy}
        onSelect={select}
        onSelectAll={all}
      />
      {matching.length === 0 && <NoMatch query={query} />}
    </div>
  );
}

const GroupTable = lazyView<GroupTableProps>(async () => (await import("./group-table.tsx")).GroupTable);

/** Returns a reference for the table. With another filter or order, the page scrolls back to the table's first row. */
function useSeen({ text, states, outage, sort, isDescending }: FleetQuery) {
  const section = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) isFirst.current = false;
    else if ((section.current?.getBoundingClientRect().top ?? 0) < 0) section.current?.scrollIntoView();
  }, [text, states, outage, sort, isDescending]);
  return section;
}

/** Returns the shown columns, and a function that changes them. The browser keeps the choice; a link may have its own. */
function useColumns() {
  const { preferences, route, go } = usePage();
  const [kept, keep] = useState(() => preferences.get("columns"));
  const text = route.value.rest.get("columns") ?? kept;
  const columns = useMemo(() => columnsOf(text), [text]);
  const choose = useCallback((chosen: readonly FleetColumn[]) => {
    const text = columnsText(chosen);
    preferences.set("columns", text);
    keep(text);
    if (route.peek().rest.has("columns")) go(withRest(route.peek(), { columns: undefined }), "replace");
  }, []);
  return { columns, choose };
}

/** Returns a function that sorts by a column, or reverses the order if the table is already sorted by that column. */
function useSort(query: FleetQuery) {
  const { go, route } = usePage();
  return useCallback(
    (sort: FleetSort) => {
      const isDescending = query.sort === sort && !query.isDescending;
      go(withRest(route.peek(), restOf({ ...query, sort, isDescending })), "replace");
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
  section: RefObject<HTMLElement | null>;
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

/**
 * Draws the head and the rows as two tables, which scroll sideways together. The head stays on the screen while the
 * page scrolls. With one table, the box that scrolls sideways would also scroll up and down.
 */
function MachineRows(props: MachineRowsProps) {
  const { section, body, query, columns, rows, selected, onSort, onSelect, onSelectAll } = props;
  const { rowHeight, from, to } = useRowWindow(body, rows.length);
  const canSelect = selected !== null;
  useTableKeys({
    body,
    count: rows.length,
    toggle: canSelect ? (index) => rows[index] && onSelect(rows[index].name, false) : undefined,
  });
  const { head, scroller } = useScrolledTogether();
  const { shape, columnWidths } = useTableShape(columns, rows, canSelect);
  return (
    <section
      ref={section}
      role="table"
      class="fleet-machines"
      aria-label="Machines"
      aria-rowcount={rows.length + 1}
    >
      <div ref={head} role="presentation" class="fleet-head">
        <table {...shape}>
          {columnWidths}
          <MachineTableHead
            columns={columns}
            sort={query.sort}
            isDescending={query.isDescending}
            onSort={onSort}
            selected={selected && howMany(selected, rows)}
            onSelectAll={onSelectAll}
          />
        </table>
      </div>
      <div ref={scroller} role="presentation" class="fleet-scroll">
        <table {...shape}>
          {columnWidths}
          <tbody ref={body} role="rowgroup">
            {from > 0 && <Gap key="above" height={from * rowHeight} />}
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
            {to < rows.length && <Gap key="below" height={(rows.length - to) * rowHeight} />}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Returns the properties that the head's and the rows' table share, and their columns' widths. */
function useTableShape(columns: readonly FleetColumn[], rows: readonly FeedMachine[], canSelect: boolean) {
  const longest = useMemo(() => rows.reduce((most, { name }) => Math.max(most, name.length), 0), [rows]);
  const widths = columns.map((column) => (column.name === "name" ? nameWidth(longest) : column.width));
  const width = widths.reduce<number>(
    (sum, each) => sum + Math.min(each ?? LEAST_REST_WIDTH, 20),
    SELECT_WIDTH,
  );
  const shape = {
    role: "presentation",
    class: "fleet-table",
    style: { minWidth: `${width}rem` },
  } as const;
  const columnWidths = (
    <colgroup>
      {canSelect && <col class="fleet-select" style={{ width: `${SELECT_WIDTH}rem` }} />}
      {columns.map(({ name }, at) => (
        <col key={name} style={widthOf(name, widths[at])} />
      ))}
    </colgroup>
  );
  return { shape, columnWidths };
}

/** Returns the width in rem for names with this number of characters. */
const nameWidth = (characters: number) => Math.max(8, 1.6 + characters * 0.62);

/** Returns the style of a column. Names have at most a fifth of the window, so that the reasons have room. */
function widthOf(name: FleetColumnName, width: number | undefined): { width?: string } {
  if (width === undefined) return {};
  return { width: name === "name" ? `min(${width}rem, max(13.5rem, 20vw))` : `${width}rem` };
}

/** Returns references for two boxes: each scrolls sideways with the other. */
function useScrolledTogether() {
  const head = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const [one, other] = [head.current, scroller.current];
    if (!one || !other) return undefined;
    const follow = (to: HTMLElement, from: HTMLElement) => () => {
      if (to.scrollLeft !== from.scrollLeft) to.scrollLeft = from.scrollLeft;
    };
    const [headFollows, rowsFollow] = [follow(one, other), follow(other, one)];
    other.addEventListener("scroll", headFollows, { passive: true });
    one.addEventListener("scroll", rowsFollow, { passive: true });
    return () => {
      other.removeEventListener("scroll", headFollows);
      one.removeEventListener("scroll", rowsFollow);
    };
  }, []);
  return { head, scroller };
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
