// Handing a Node over to a deployment: how an operator offers it, and what of it changes then. Sends nothing.
import type { JsonObject } from "../kubernetes/json.ts";
import type { Node } from "../kubernetes/types.ts";
import { FACTS_ONLY_TAINT, OWNER_ANNOTATION } from "./ownership.ts";

/** Set by an operator, with the deployment that shall have the Node; gone once it does. */
const ADOPT_ANNOTATION = "rollcall.dev/adopt";

export function isOfferedTo(node: Node, deployment: string): boolean {
  return node.metadata?.annotations?.[ADOPT_ANNOTATION] === deployment;
}

/**
 * The strategic merge patch that makes the Node this deployment's. It holds for the Node as it was read alone: its
 * taints are a list that is replaced as a whole.
 */
export function adoptionPatch(node: Node, deployment: string, withoutFactsOnlyTaint: boolean): JsonObject {
  const { uid = "", resourceVersion = "" } = node.metadata ?? {};
  const annotations = { [ADOPT_ANNOTATION]: null, [OWNER_ANNOTATION]: deployment };
  const metadata = { uid, resourceVersion, annotations };
  const taints = node.spec?.taints ?? [];
  const isTainted = taints.some(
    ({ key, effect }) => key === FACTS_ONLY_TAINT.key && effect === FACTS_ONLY_TAINT.effect,
  );
  if (withoutFactsOnlyTaint || isTainted) return { metadata };
  return { metadata, spec: { taints: [...taints, FACTS_ONLY_TAINT].map((taint) => ({ ...taint })) } };
}
