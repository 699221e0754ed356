// The fleet: what needs somebody, how many machines are in which state, and all of them in a table.
import { useComputed } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { usePage } from "../page.ts";
import { CountsFilter } from "./counts-filter.tsx";
import { type FleetQuery, fleetQueryOf } from "./fleet-query.ts";
import { MachineTable } from "./machine-table.tsx";
import { NeedsSomebody } from "./needs-somebody.tsx";
import { NoMachines } from "./no-machines.tsx";
import { SearchField } from "./search-field.tsx";
import { type FleetSearch, readSearch } from "./search-terms.ts";

export function FleetView() {
  const { live } = usePage();
  const isEmpty = useComputed(() => {
    void live.revision.value;
    return live.machines().size === 0 && live.pending.value.length === 0;
  });
  return (
    <>
      <h1 class="visually-hidden">Fleet</h1>
      {!live.isKnown.value ? (
        <p class="quiet">Loading the fleet …</p>
      ) : isEmpty.value ? (
        <NoMachines />
      ) : (
        <Machines />
      )}
    </>
  );
}

const EVERY: FleetSearch = { filter: {}, parameters: {} };

function Machines() {
  const { route } = usePage();
  const { rest } = route.value;
  const query = useMemo(() => fleetQueryOf(rest), [rest]);
  const read = useMemo(() => readSearch(query.text), [query.text]);
  // While what is typed cannot be read, the last search that could be stays.
  const good = useRef({ text: "", search: EVERY });
  if (read.ok && good.current.text !== query.text) good.current = { text: query.text, search: read.value };
  const { text, search } = good.current;
  const shown: FleetQuery = useMemo(() => ({ ...query, text }), [query, text]);
  return (
    <div class="fleet">
      <NeedsSomebody />
      <CountsFilter />
      <MachineTable
        query={shown}
        search={search}
        field={<SearchField query={query} isFaulty={!read.ok} />}
        fault={read.ok ? null : read.error}
      />
    </div>
  );
}
