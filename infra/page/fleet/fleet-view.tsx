// Draws the fleet view: the counts by state, the search, and the table of machines with the problems above it.
import { useComputed } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { FLEET_STATES, type FleetState, stateText } from "../../../shared/fleet/state.ts";
import { type FleetSearch, readSearch, type SearchFault } from "../../../shared/fleet/search-language.ts";
import { type Result, success } from "../../../shared/result.ts";
import { hrefOf, withRest } from "../base/places.ts";
import { usePage } from "../page.ts";
import { lazyView } from "../parts/lazy-view.tsx";
import { Link } from "../parts/link.tsx";
import { StateSign } from "../parts/state-word.tsx";
import { type FleetQuery, fleetQueryOf, restOf } from "./fleet-query.ts";
import { MachineTable } from "./machine-table.tsx";
import { SearchField } from "./search-field.tsx";

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

const EVERY: FleetSearch = { filter: {}, parameters: {}, isRelative: false };
const MINUTE_MS = 60_000;

function Machines() {
  const { route } = usePage();
  const { rest } = route.value;
  const query = useMemo(() => fleetQueryOf(rest), [rest]);
  const read = useSearch(query.text);
  // While the typed search is invalid, the table uses the last valid search.
  const good = useRef({ text: "", search: EVERY });
  if (read.ok && good.current.search !== read.value) good.current = { text: query.text, search: read.value };
  const { text, search } = good.current;
  const shown: FleetQuery = useMemo(() => ({ ...query, text }), [query, text]);
  return (
    <MachineTable
      query={shown}
      search={search}
      filters={
        <>
          <CountsFilter />
          <SearchField query={query} isFaulty={!read.ok} />
        </>
      }
      fault={read.ok ? null : read.error}
    />
  );
}

/** Parses the text of the search, and again each minute if the text has a time such as `since:2h`. */
function useSearch(text: string): Result<FleetSearch, SearchFault> {
  const { clock } = usePage();
  const isRelative = useRef(false);
  const minute = useComputed(() => Math.floor(clock.value / MINUTE_MS));
  const read = useMemo(
    () => (text === "" ? success(EVERY) : readSearch(text, clock.peek())),
    [text, isRelative.current && minute.value],
  );
  isRelative.current = read.ok && read.value.isRelative;
  return read;
}

/** The states with a count. Machines that wait for an approval are not enrolled and have none. */
const STATES = FLEET_STATES.filter((state) => state !== "pending");

function CountsFilter() {
  const { live, route, go } = usePage();
  const query = fleetQueryOf(route.value.rest);
  const counts = live.counts.value;
  const total = STATES.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const show = (states: FleetQuery["states"]) =>
    go(withRest(route.value, restOf({ ...query, states })), "replace");
  return (
    <div class="counts" role="group" aria-label="Machines by state">
      <button
        type="button"
        class="counts-state"
        aria-pressed={query.states.size === 0}
        onClick={() => show(new Set())}
      >
        <span class="counts-number">{total.toLocaleString("en")}</span> all
      </button>
      {STATES.map((state) => (
        <StateToggle
          key={state}
          state={state}
          count={counts[state] ?? 0}
          isChosen={query.states.has(state)}
          onToggle={() => show(toggled(query.states, state))}
        />
      ))}
      <PendingCount />
    </div>
  );
}

function toggled(states: ReadonlySet<FleetState>, state: FleetState): ReadonlySet<FleetState> {
  const others = [...states].filter((each) => each !== state);
  return new Set(states.has(state) ? others : [...others, state]);
}

interface StateToggleProps {
  state: FleetState;
  count: number;
  isChosen: boolean;
  onToggle: () => void;
}

function StateToggle({ state, count, isChosen, onToggle }: StateToggleProps) {
  return (
    <button
      type="button"
      class={count === 0 ? "counts-state counts-none" : "counts-state"}
      aria-pressed={isChosen}
      onClick={onToggle}
    >
      <StateSign state={state} />
      <span class="counts-number">{count.toLocaleString("en")}</span> {stateText(state)}
    </button>
  );
}

/** Draws the number of pending machines as a link to the approvals view, which compares the two keys. */
function PendingCount() {
  const { live } = usePage();
  const count = live.pending.value.length;
  return (
    <Link
      href={hrefOf({ view: "approvals" })}
      class={count === 0 ? "counts-state counts-none" : "counts-state"}
      title="Machines that wait for an approval"
    >
      <StateSign state="pending" />
      <span class="counts-number">{count.toLocaleString("en")}</span> {stateText("pending")}
    </Link>
  );
}

/** The steps for a fleet without machines, seldom shown and so not in the page's first load. */
const NoMachines = lazyView(async () => (await import("./no-machines-steps.tsx")).NoMachinesSteps);
