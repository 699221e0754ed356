// Which taints a Node's conditions call for, and lists of taints after a change. Mirrors nodelifecycle's
// doNoScheduleTaintingPass and pkg/util/taints. Writes nothing.
import type { Taint } from "../../../../shared/kubernetes/types.ts";
import type { NodeView } from "./node-view.ts";

const prefix = "node.kubernetes.io";

export const unreachable: Taint = { key: `${prefix}/unreachable`, effect: "NoExecute" };
export const notReady: Taint = { key: `${prefix}/not-ready`, effect: "NoExecute" };

/** Condition type → status → the taint's key. */
const taintKeys: Record<string, Record<string, string>> = {
  Ready: { False: `${prefix}/not-ready`, Unknown: `${prefix}/unreachable` },
  MemoryPressure: { True: `${prefix}/memory-pressure` },
  DiskPressure: { True: `${prefix}/disk-pressure` },
  NetworkUnavailable: { True: `${prefix}/network-unavailable` },
  PIDPressure: { True: `${prefix}/pid-pressure` },
};
const unschedulableKey = `${prefix}/unschedulable`;
const managedKeys = new Set([unschedulableKey, ...Object.values(taintKeys).flatMap(Object.values)]);

export interface TaintChange {
  add: Taint[];
  remove: Taint[];
}

function isSame(left: Taint, right: Taint): boolean {
  return left.key === right.key && left.effect === right.effect;
}

export function hasTaint(taints: readonly Taint[], wanted: Taint): boolean {
  return taints.some((taint) => isSame(taint, wanted));
}

/** The NoSchedule taints that are missing, and those that nothing calls for any more; undefined when all is well. */
export function noScheduleChange({ conditions, unschedulable, taints }: NodeView): TaintChange | undefined {
  const keys = conditions.flatMap(({ type, status }) => taintKeys[type]?.[status] ?? []);
  if (unschedulable) keys.push(unschedulableKey);
  const wanted = keys.map((key) => ({ key, effect: "NoSchedule" }));
  const present = taints.filter(({ key, effect }) => effect === "NoSchedule" && managedKeys.has(key));
  const add = wanted.filter((taint) => !hasTaint(present, taint));
  const remove = present.filter((taint) => !hasTaint(wanted, taint));
  return add.length + remove.length > 0 ? { add, remove } : undefined;
}

/** The taints after a change: what is there already keeps its place (AddOrUpdateTaint, RemoveTaint). */
export function changedTaints(taints: readonly Taint[], { add, remove }: TaintChange): Taint[] {
  const updated = taints.map((taint) => add.find((each) => isSame(each, taint)) ?? taint);
  const appended = add.filter((each) => !hasTaint(taints, each));
  return [...updated, ...appended].filter((taint) => !hasTaint(remove, taint));
}

/** Labels that came before the stable ones and follow them (reconcileNodeLabels). */
const followers = [
  ["kubernetes.io/os", "beta.kubernetes.io/os"],
  ["kubernetes.io/arch", "beta.kubernetes.io/arch"],
] as const;

/** The labels that have to be set; undefined when there are none. */
export function labelsToFollow(labels: NodeView["labels"]): Record<string, string> | undefined {
  const missing = followers.flatMap(([stable, beta]) => {
    const value = labels[stable];
    return value !== undefined && labels[beta] !== value ? [[beta, value] as const] : [];
  });
  return missing.length > 0 ? Object.fromEntries(missing) : undefined;
}
