// The counts by state, as filters of the table: one can choose several, and the URL has them.
import { FLEET_STATES, type FleetState } from "../../../shared/fleet/state.ts";
import { hrefOf, withRest } from "../base/route.ts";
import { usePage } from "../page.ts";
import { Link } from "../parts/link.tsx";
import { StateSign } from "../parts/state-word.tsx";
import { type FleetQuery, fleetQueryOf, restOf } from "./fleet-query.ts";

/** Of machines; who waits for an approval is none yet. */
const STATES = FLEET_STATES.filter((state) => state !== "pending");

export function CountsFilter() {
  const { live, route, go } = usePage();
  const query = fleetQueryOf(route.value.rest);
  const counts = live.counts.value;
  const total = STATES.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const show = (states: FleetQuery["states"]) =>
    go(withRest(route.value, restOf({ ...query, states, page: 1 })), "replace");
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
      <span class="counts-number">{count.toLocaleString("en")}</span> {state}
    </button>
  );
}

/** They are approved where one sees both keys: a link, not a filter. */
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
      <span class="counts-number">{count.toLocaleString("en")}</span> pending
    </Link>
  );
}
