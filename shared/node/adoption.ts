// How an operator offers a Node to a deployment, and the patch by which the deployment adopts it. Sends nothing.
import type { JsonObject } from "../kubernetes/json.ts";
import type { Node } from "../kubernetes/types.ts";
import { FACTS_ONLY_TAINT, movedTo, OWNER_ANNOTATION } from "./ownership.ts";

/** An operator sets it to the deployment that shall own the Node; adoption removes it. */
const ADOPT_ANNOTATION = "rollcall.dev/adopt";

export function isOfferedTo(node: Node, deployment: string): boolean {
  return node.metadata?.annotations?.[ADOPT_ANNOTATION] === deployment;
}

/**
 * The strategic merge patch that makes the Node this deployment's. It has uid and resourceVersion, so that it applies
 * to the Node as it was read alone: a patch replaces the list of taints as a whole. A bystander's labels go with it,
 * whichever writer has set them.
 */
export function adoptionPatch(node: Node, deployment: string, withoutFactsOnlyTaint: boolean): JsonObject {
  const { uid = "", resourceVersion = "" } = node.metadata ?? {};
  const annotations = { [ADOPT_ANNOTATION]: null, [OWNER_ANNOTATION]: deployment };
  const metadata = { uid, resourceVersion, annotations };
  const taints = node.spec?.taints ?? [];
  const isTainted = taints.some(
    ({ key, effect }) => key === FACTS_ONLY_TAINT.key && effect === FACTS_ONLY_TAINT.effect,
  );
  if (withoutFactsOnlyTaint && !isTainted) return { metadata };
  const away = Object.keys(node.metadata?.labels ?? {}).filter((key) => movedTo(key) !== undefined);
  const labels = Object.fromEntries(away.map((key) => [key, null]));
  const patch = { metadata: { ...metadata, ...(away.length > 0 && { labels }) } };
  if (isTainted) return patch;
  return { ...patch, spec: { taints: [...taints, FACTS_ONLY_TAINT].map((taint) => ({ ...taint })) } };
}
