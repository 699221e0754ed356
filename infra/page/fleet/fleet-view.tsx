// The fleet: what needs somebody, how many machines are in which state, and all of them in a table.
import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { failure, type Result, success } from "../../../shared/result.ts";
import { usePage } from "../page.ts";
import { CountsFilter } from "./counts-filter.tsx";
import { type FleetQuery, fleetQueryOf } from "./fleet-query.ts";
import { MachineTable } from "./machine-table.tsx";
import { NeedsSomebody } from "./needs-somebody.tsx";
import { NoMachines } from "./no-machines.tsx";
import { SearchField } from "./search-field.tsx";
import type { FleetSearch, SearchFault } from "./search-terms.ts";

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
  const read = useRead(query.text);
  // While what is typed cannot be read, the last search that could be stays.
  const good = useRef({ text: "", search: EVERY });
  if (read?.ok && good.current.text !== query.text) good.current = { text: query.text, search: read.value };
  const { text, search } = good.current;
  const shown: FleetQuery = useMemo(() => ({ ...query, text }), [query, text]);
  return (
    <div class="fleet">
      <NeedsSomebody />
      <CountsFilter />
      {read === null && good.current.text === "" ? (
        // All machines would be there for a moment, and then not.
        <p class="quiet">Loading the search …</p>
      ) : (
        <MachineTable
          query={shown}
          search={search}
          field={<SearchField query={query} isFaulty={read?.ok === false} />}
          fault={read?.ok === false ? read.error : null}
        />
      )}
    </div>
  );
}

type SearchReader = (text: string) => Result<FleetSearch, SearchFault>;
const NO_TERMS: ReturnType<SearchReader> = success(EVERY);

/** What reads searches is loaded once the rows are there: without a search they need none. null: it is not there yet. */
function useRead(text: string): ReturnType<SearchReader> | null {
  const [reader, setReader] = useState<{ read: SearchReader } | null>(null);
  useEffect(() => {
    import("./search-terms.ts").then(
      ({ readSearch }) => setReader({ read: readSearch }),
      () => setReader({ read: () => failure(NOT_LOADED) }),
    );
  }, []);
  return useMemo(() => (text === "" ? NO_TERMS : (reader?.read(text) ?? null)), [text, reader]);
}

const NOT_LOADED: SearchFault = { term: "this search", expected: "it cannot be read: load the page anew" };
