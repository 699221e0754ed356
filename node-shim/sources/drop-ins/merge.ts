// Merges the output of all drop-ins. Where two set the same thing, the first by name counts, and the other one fails.
import { CUSTOM_LIMITS, DROP_IN_LIMITS } from "../../../shared/protocol/limits.ts";
import type { CustomFacts } from "../../../shared/protocol/custom.ts";
import type { DropIn, DropIns } from "../../../shared/protocol/drop-ins.ts";

/** What is known about one drop-in: its last output, if there was one, and its error, if it fails now. */
export interface Known {
  name: string;
  dropIn?: DropIn | undefined;
  error?: string | undefined;
}

export interface MergedDropIns extends DropIns {
  custom: CustomFacts;
}

/** What is limited over all drop-ins, and its name in a fault. */
const KINDS = [
  ["resources", DROP_IN_LIMITS.resources, "resources"],
  ["labels", DROP_IN_LIMITS.labels, "labels"],
  ["conditions", DROP_IN_LIMITS.conditions, "conditions"],
  ["custom", CUSTOM_LIMITS.entries, "custom facts"],
] as const;

/** In the order in which they are given. */
export function mergeDropIns(known: readonly Known[]): MergedDropIns {
  const merged: MergedDropIns = {
    resources: {},
    labels: {},
    conditions: [],
    custom: {},
    working: 0,
    failures: [],
  };
  for (const { name, dropIn, error } of known) {
    const fault = (dropIn && add(merged, dropIn)) ?? error;
    if (fault === undefined) merged.working++;
    else merged.failures.push({ name: bounded(name, "nameLength"), error: bounded(fault, "messageLength") });
  }
  return merged;
}

/** Adds all of it; or nothing, and returns why. */
function add(merged: MergedDropIns, { resources, labels, conditions, custom }: DropIn): string | undefined {
  const taken =
    Object.keys(resources).find((name) => Object.hasOwn(merged.resources, name)) ??
    Object.keys(labels).find((key) => Object.hasOwn(merged.labels, key)) ??
    conditions.find(({ type }) => merged.conditions.some((other) => other.type === type))?.type ??
    Object.keys(custom).find((name) => Object.hasOwn(merged.custom, name));
  if (taken !== undefined) return `${taken} is another drop-in's already`;
  const sum = {
    resources: { ...merged.resources, ...resources },
    labels: { ...merged.labels, ...labels },
    conditions: [...merged.conditions, ...conditions],
    custom: { ...merged.custom, ...custom },
  };
  for (const [kind, most, name] of KINDS) {
    if (Object.keys(sum[kind]).length > most) return `more than ${most} ${name} of all drop-ins together`;
  }
  Object.assign(merged, sum);
  return undefined;
}

function bounded(text: string, limit: "nameLength" | "messageLength"): string {
  return text.slice(0, DROP_IN_LIMITS[limit]).toWellFormed();
}
