// The yardstick of decisions: a JSON round trip of the Node that is decided about. It grows with the Node as they do.
import type { Node } from "../../../shared/kubernetes/types.ts";
import type { Operation } from "./side-by-side.ts";

export function nodeRoundTrip(node: Node): Operation<Node> {
  return { prepare: () => node, operate: (node): unknown => JSON.parse(JSON.stringify(node)) };
}
