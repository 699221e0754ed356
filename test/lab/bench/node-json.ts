// Measures the yardstick of decisions: a JSON round trip of the same Node. A larger Node makes both the decision
// and the round trip slower.
import type { Node } from "../../../shared/kubernetes/types.ts";
import type { Operation } from "./side-by-side.ts";

export function nodeRoundTrip(node: Node): Operation<Node> {
  return { prepare: () => node, operate: (node): unknown => JSON.parse(JSON.stringify(node)) };
}
