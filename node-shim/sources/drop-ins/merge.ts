// What all drop-ins say, put together. Of two that say the same thing the first by name counts, and the other has failed.
import { DROP_IN_LIMITS, type DropIn, type DropIns } from "../../../shared/protocol/drop-ins.ts";

/** What is known of one drop-in: what it said last, where it ever did, and what is wrong with it now. */
export interface Known {
  name: string;
  dropIn?: DropIn | undefined;
  error?: string | undefined;
}

/** In the order in which they are given. */
export function mergeDropIns(known: readonly Known[]): DropIns {
  const merged: DropIns = { resources: {}, labels: {}, conditions: [], working: 0, failures: [] };
  for (const { name, dropIn, error } of known) {
    const fault = (dropIn && add(merged, dropIn)) ?? error;
    if (fault === undefined) merged.working++;
    else merged.failures.push({ name: bounded(name, "nameLength"), error: bounded(fault, "messageLength") });
  }
  return merged;
}

/** Adds all of it, or nothing and says why. */
function add(merged: DropIns, { resources, labels, conditions }: DropIn): string | undefined {
  const taken =
    Object.keys(resources).find((name) => Object.hasOwn(merged.resources, name)) ??
    Object.keys(labels).find((key) => Object.hasOwn(merged.labels, key)) ??
    conditions.find(({ type }) => merged.conditions.some((other) => other.type === type))?.type;
  if (taken !== undefined) return `${taken} is another drop-in's already`;
  const sum = {
    resources: { ...merged.resources, ...resources },
    labels: { ...merged.labels, ...labels },
    conditions: [...merged.conditions, ...conditions],
  };
  for (const kind of ["resources", "labels", "conditions"] as const) {
    if (Object.keys(sum[kind]).length > DROP_IN_LIMITS[kind])
      return `more than ${DROP_IN_LIMITS[kind]} ${kind} of all drop-ins together`;
  }
  Object.assign(merged, sum);
  return undefined;
}

function bounded(text: string, limit: "nameLength" | "messageLength"): string {
  return text.slice(0, DROP_IN_LIMITS[limit]).toWellFormed();
}
