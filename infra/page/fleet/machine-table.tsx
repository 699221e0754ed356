// All machines that match, in a table: its tools, what is said of it, and its rows.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { withRest } from "../base/route.ts";
import { usePage } from "../page.ts";
import { BulkBar } from "./bulk-bar.tsx";
import { columnsOf, columnsText, type FleetColumn } from "./columns.ts";
import { type FleetQuery, type FleetSort, restOf } from "./fleet-query.ts";
import { MachineRows } from "./machine-table-rows.tsx";
import { PagesLinks } from "./pages-links.tsx";
import type { FleetSearch, SearchFault } from "./search-terms.ts";
import { extended, NOTHING_SELECTED, type Selection, withNames, withoutGone } from "./selection.ts";
import { TableSaying } from "./table-saying.tsx";
import { TableTools } from "./table-tools.tsx";
import { useFleetRows } from "./use-fleet-rows.ts";
import { useHeld } from "./use-held.ts";

interface MachineTableProps {
  /** With the last search that could be read. */
  query: FleetQuery;
  search: FleetSearch;
  /** Of the search that is being typed; null: it can be read. */
  fault: SearchFault | null;
  field: ComponentChildren;
}

export function MachineTable({ query, search, fault, field }: MachineTableProps) {
  const isAdmin = usePage().session.isAdmin();
  const { columns, choose } = useColumns();
  const body = useRef<HTMLTableSectionElement>(null);
  const { matching, shown, settle } = useFleetRows(query, search, useHeld(body));
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
      <TableSaying matching={matching.length} fault={fault} onSettle={settle} />
      {isAdmin && <BulkBar selected={selected} matching={names} query={query} onDone={clear} />}
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

/** Whoever follows a link to some of the machines sees them, and not only what is above them. */
function useSeen({ text, states, outage }: FleetQuery) {
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    const isFiltered = text !== "" || states.size > 0 || outage !== null;
    const top = section.current?.getBoundingClientRect().top ?? 0;
    if (isFiltered && top > innerHeight * 0.75) section.current?.scrollIntoView();
  }, [text, states, outage]);
  return section;
}

/** Kept in this browser. */
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

/** Orders by it, and the other way round where that is so already. */
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

/** It lasts while the feed changes machines; those that leave the fleet leave it. */
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
