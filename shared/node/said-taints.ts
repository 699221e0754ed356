// The taints that a machine and its join token say, beside those of a Node that exists: its spec is frozen, so that they
// count for a new Node alone. Changes nothing.
import type { Node, Taint } from "../kubernetes/types.ts";
import { isSameTaint } from "./initial-node.ts";

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
