// Compares what operators are shown of a fleet in different places, machine by machine. Asks nobody.
import type { FleetState } from "../../../shared/fleet/state.ts";

/** Of one machine, as one place shows it. A field that a place does not show is absent. */
export interface ShownMachine {
  state?: FleetState;
  /** Of Ready; null: there is no Node. */
  ready?: string | null;
  hasMemoryPressure?: boolean;
}

/** By name. */
export type FleetView = ReadonlyMap<string, ShownMachine>;

/** What the Ready condition may be in a state; null: there may be no Node. */
const READY_IN: Record<FleetState, readonly (string | null)[]> = {
  ready: ["True"],
  "not-ready": ["False", "Unknown"],
  // The node controller gives a Node up a little later, or the Node may never have been there.
  silent: ["Unknown", null],
  "cluster-unreachable": ["True", "False", "Unknown", null],
  // The Node stays as it was last, until the node controller gives it up.
  blocked: ["True", "False", "Unknown", null],
  // It has no Node of its own, and may wait for one that another machine has.
  pending: ["True", "False", "Unknown", null],
  revoked: ["True", "False", "Unknown", null],
};

/** A line for each machine and place that shows another thing than the first place, or than the cluster. */
export function disagreements(
  cluster: FleetView,
  places: readonly (readonly [place: string, view: FleetView])[],
): string[] {
  const names = new Set([...cluster.keys(), ...places.flatMap(([, view]) => [...view.keys()])]);
  return [...names].sort().flatMap((name) => machineDisagreements(name, cluster, places));
}

function machineDisagreements(
  name: string,
  cluster: FleetView,
  places: readonly (readonly [place: string, view: FleetView])[],
): string[] {
  const ready = cluster.get(name)?.ready ?? null;
  const [first] = places;
  const expected = first?.[1].get(name);
  return places.flatMap(([place, view]) => {
    const shown = view.get(name);
    if (!shown) return `${name}: ${place} does not show it`;
    const lines: string[] = [];
    if (shown.state !== expected?.state)
      lines.push(`${name}: ${place} says ${shown.state}, ${first?.[0]} ${expected?.state}`);
    if (shown.state !== undefined && !READY_IN[shown.state].includes(ready))
      lines.push(`${name}: ${place} says ${shown.state}, and the Node's Ready is ${ready ?? "not there"}`);
    const pressure = cluster.get(name)?.hasMemoryPressure ?? false;
    if (shown.hasMemoryPressure !== undefined && shown.hasMemoryPressure !== pressure)
      lines.push(`${name}: ${place} says memory pressure ${shown.hasMemoryPressure}, the Node ${pressure}`);
    return lines;
  });
}

/** How many machines are in each state. */
export function countStates(view: FleetView): Partial<Record<FleetState, number>> {
  const counts: Partial<Record<FleetState, number>> = {};
  for (const { state } of view.values()) if (state) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}
