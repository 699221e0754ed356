// Compares the views of a fleet that operators get in different places, machine by machine. Sends no request.
import type { FleetState } from "../../../shared/fleet/state.ts";

/** One machine as one place shows it. A field that the place does not show is absent. */
export interface ShownMachine {
  state?: FleetState;
  /** The status of the Ready condition. null if there is no Node. */
  ready?: string | null;
  hasMemoryPressure?: boolean;
}

/** The machines as one place shows them, by name. */
export type FleetView = ReadonlyMap<string, ShownMachine>;

/** The possible statuses of the Ready condition in each state. null means that the Node may be missing. */
const READY_IN: Record<FleetState, readonly (string | null)[]> = {
  ready: ["True"],
  "not-ready": ["False", "Unknown"],
  // The node controller marks a silent machine's Node as Unknown a little later, or the Node may never have
  // existed.
  silent: ["Unknown", null],
  "cluster-unreachable": ["True", "False", "Unknown", null],
  // A blocked machine's Node keeps its last status until the node controller marks it.
  blocked: ["True", "False", "Unknown", null],
  // A pending machine has no Node of its own; another machine may have the Node that it waits for.
  pending: ["True", "False", "Unknown", null],
  revoked: ["True", "False", "Unknown", null],
};

/** Returns a line for each machine and place whose view differs from the first place's, or from the cluster's. */
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

/** Counts the machines in each state. */
export function countStates(view: FleetView): Partial<Record<FleetState, number>> {
  const counts: Partial<Record<FleetState, number>> = {};
  for (const { state } of view.values()) if (state) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}
