// The taints that a machine and its join token say, beside those of a Node that exists: its spec is frozen, so that they
// count for a new Node alone. Changes nothing.
import type { Node, Taint } from "../kubernetes/types.ts";
import type { DraftNode } from "../setters/setter.ts";
import { isSameTaint } from "./initial-node.ts";
import { FACTS_ONLY_TAINT } from "./ownership.ts";

export interface SaidTaints {
  /** At the last registration. */
  taints: readonly Taint[];
  /** Said before that, and on the Node still. */
  formerTaints?: readonly Taint[];
}

/** `found`: the Node that was there already; null: it was created with them. `notice`: for people, where they differ. */
export function saidTaints(
  before: Partial<SaidTaints> | undefined,
  said: readonly Taint[],
  found: Node | null,
): { taints: SaidTaints; notice: string | null } {
  const { taints: known, formerTaints = [] } = before ?? {};
  if (found === null || known === undefined) return { taints: { taints: said }, notice: null };
  const ofNode = found.spec?.taints ?? [];
  const added = without(without(said, known), ofNode);
  const former = [...formerTaints, ...known].filter(
    (taint) => isAmong(taint, ofNode) && !said.some((each) => isSameTaint(each, taint)),
  );
  const removed = former.filter((taint) => isAmong(taint, known));
  const parts = [
    ...(added.length > 0 ? [`it does not get ${texts(added)}`] : []),
    ...(removed.length > 0 ? [`it keeps ${texts(removed)}`] : []),
  ];
  return {
    taints: { taints: said, ...(former.length > 0 && { formerTaints: former }) },
    notice: parts.length === 0 ? null : `the taints of the Node stay: ${parts.join(", ")}`,
  };
}

/** All that machine and token have said of a Node since it was created: what of it is not others'. */
export function everSaid({ taints = [], formerTaints = [] }: Partial<SaidTaints> = {}): Taint[] {
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

// What others have set on a Node that is created again: cordon and taints. Labels and annotations go with the Node.

/** Controllers set and remove them as conditions are; of the node lifecycle controller and its admission. */
const OF_CONDITIONS: ReadonlySet<string> = new Set([
  "node.kubernetes.io/not-ready",
  "node.kubernetes.io/unreachable",
  "node.kubernetes.io/memory-pressure",
  "node.kubernetes.io/disk-pressure",
  "node.kubernetes.io/pid-pressure",
  "node.kubernetes.io/network-unavailable",
  "node.cloudprovider.kubernetes.io/shutdown",
]);

/** Do controllers set and remove it as a condition is? */
export const isOfCondition = ({ key }: Taint): boolean => OF_CONDITIONS.has(key);

/**
 * Adds to `node`, which is about to be created, what the Node before it had when it was last seen. `ours`: what machine and
 * token have said of that one.
 */
export function keepOthersMarks(node: DraftNode, { spec = {} }: Node, ours: readonly Taint[]): void {
  const own = node.spec.taints ?? [];
  // Whether a new Node has this one, its machine and its join token say.
  const decided = [...own, ...ours, FACTS_ONLY_TAINT];
  const others = (spec.taints ?? []).filter(
    (taint) => !isOfCondition(taint) && !decided.some((each) => isSameTaint(each, taint)),
  );
  if (others.length > 0) node.spec.taints = [...own, ...others];
  if (spec.unschedulable) node.spec.unschedulable = true;
}
