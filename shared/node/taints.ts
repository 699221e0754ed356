// Compares the taints that a machine and its join token request with the taints of the Node. An existing Node keeps
// its taints, so changed requests apply only to a new Node. A Node that is created again keeps the taints of other
// writers.
import type { Node, Taint } from "../kubernetes/types.ts";
import type { DraftNode } from "../setters/setter.ts";
import { isSameTaint } from "./initial-node.ts";
import { FACTS_ONLY_TAINT } from "./ownership.ts";

export interface AskedTaints {
  /** The taints that were requested at the last registration. */
  taints: readonly Taint[];
  /** The taints that were requested earlier, and are still on the Node. */
  formerTaints?: readonly Taint[];
}

/** Returns the requested taints to store. Returns also a notice for people if the Node's taints differ. */
export function askedTaints(
  before: Partial<AskedTaints> | undefined,
  asked: readonly Taint[],
  found: Node | null, // the Node that existed; null if the Node was created with these taints
): { taints: AskedTaints; notice: string | null } {
  const { taints: known, formerTaints = [] } = before ?? {};
  if (found === null || known === undefined) return { taints: { taints: asked }, notice: null };
  const ofNode = found.spec?.taints ?? [];
  const added = without(without(asked, known), ofNode);
  const former = [...formerTaints, ...known].filter(
    (taint) => isAmong(taint, ofNode) && !asked.some((each) => isSameTaint(each, taint)),
  );
  const removed = former.filter((taint) => isAmong(taint, known));
  const parts = [
    ...(added.length > 0 ? [`it does not get ${texts(added)}`] : []),
    ...(removed.length > 0 ? [`it keeps ${texts(removed)}`] : []),
  ];
  return {
    taints: { taints: asked, ...(former.length > 0 && { formerTaints: former }) },
    notice: parts.length === 0 ? null : `the taints of the Node stay: ${parts.join(", ")}`,
  };
}

/** Returns all taints that machine and token have requested since the Node's creation; other writers set the rest. */
export function everAsked({ taints = [], formerTaints = [] }: Partial<AskedTaints> = {}): Taint[] {
  return [...taints, ...formerTaints];
}

function without(taints: readonly Taint[], others: readonly Taint[]): Taint[] {
  return taints.filter((taint) => !isAmong(taint, others));
}

function isAmong(taint: Taint, taints: readonly Taint[]): boolean {
  return taints.some((each) => isSameTaint(each, taint) && (each.value ?? "") === (taint.value ?? ""));
}

function texts(taints: readonly Taint[]): string {
  return taints.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ""}:${effect}`).join(", ");
}

/** The taints that the node lifecycle controller and its admission plugin set and remove together with a condition. */
const OF_CONDITIONS: ReadonlySet<string> = new Set([
  "node.kubernetes.io/not-ready",
  "node.kubernetes.io/unreachable",
  "node.kubernetes.io/memory-pressure",
  "node.kubernetes.io/disk-pressure",
  "node.kubernetes.io/pid-pressure",
  "node.kubernetes.io/network-unavailable",
  "node.cloudprovider.kubernetes.io/shutdown",
]);

export const isOfCondition = ({ key }: Taint): boolean => OF_CONDITIONS.has(key);

/**
 * Copies the cordon and the taints of the previous Node to `node`, which is about to be created. `ours` are the
 * taints that machine and token requested. Labels and annotations of other writers are lost.
 */
export function keepOthersMarks(node: DraftNode, { spec = {} }: Node, ours: readonly Taint[]): void {
  const own = node.spec.taints ?? [];
  // FACTS_ONLY_TAINT is not copied: machine and join token decide about it.
  const decided = [...own, ...ours, FACTS_ONLY_TAINT];
  const others = (spec.taints ?? []).filter(
    (taint) => !isOfCondition(taint) && !decided.some((each) => isSameTaint(each, taint)),
  );
  if (others.length > 0) node.spec.taints = [...own, ...others];
  if (spec.unschedulable) node.spec.unschedulable = true;
}
