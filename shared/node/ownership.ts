// Which Nodes a deployment may write, and how they are marked. Writes nothing.
import type { JsonObject } from "../kubernetes/json.ts";
import { HOSTNAME_LABEL, OWN_HOSTNAME_LABEL } from "../kubernetes/labels.ts";
import type { Node, Taint } from "../kubernetes/types.ts";

/** Its value is the deployment that created or adopted the Node. */
export const OWNER_ANNOTATION = "rollcall.dev/owner";
/** Every Node of ours has it, with an empty value: selectors and affinities tell by it that no kubelet is there. */
export const MACHINE_LABEL = "rollcall.dev/machine";
/** The owner once more, since selectors do not read annotations. Whose Node it is, the annotation decides. */
export const DEPLOYMENT_LABEL = "rollcall.dev/deployment";
/** A machine without a kubelet must not be given traffic that a load balancer spreads over Nodes. */
export const NO_LOAD_BALANCER_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers";
/** NODE_UNSCHEDULABLE had the Node created unschedulable. An operator may uncordon it for good. */
export const CORDONED_ANNOTATION = "rollcall.dev/unschedulable";
/** A machine without a kubelet must not be given pods. */
export const FACTS_ONLY_TAINT: Taint = { key: "rollcall.dev/facts-only", effect: "NoSchedule" };
/** The node controller leaves such a Node out of the share of Nodes that are not Ready (nodelifecycle, DisruptionMode). */
export const EXCLUDE_DISRUPTION_LABEL = "node.kubernetes.io/exclude-disruption";
/**
 * The node controller evicts at a rate per zone, and reads this label first (nodetopology.GetZoneKey). A region of our own
 * is a queue of our own, so that silent machines do not delay the eviction from other Nodes.
 */
export const QUEUE_LABEL = "failure-domain.beta.kubernetes.io/region";
export const QUEUE_REGION = "rollcall.dev";

/** By a bystander's label: the kubelet's labels whose value it has, the preferred one first. */
export const OS_LABEL = "rollcall.dev/os";
export const MOVED_LABELS = {
  [OWN_HOSTNAME_LABEL]: [HOSTNAME_LABEL],
  [OS_LABEL]: ["kubernetes.io/os", "beta.kubernetes.io/os"],
  "rollcall.dev/arch": ["kubernetes.io/arch", "beta.kubernetes.io/arch"],
  "rollcall.dev/zone": ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"],
  "rollcall.dev/region": ["topology.kubernetes.io/region", QUEUE_LABEL],
} as const satisfies Record<string, readonly string[]>;
/** Those of MOVED_LABELS that follow from the platform. */
export const PLATFORM_LABELS = [OS_LABEL, "rollcall.dev/arch"] as const;

/** Returns a bystander's key for a kubelet's label; undefined if the label keeps its key. */
export function movedTo(key: string): string | undefined {
  return Object.entries<readonly string[]>(MOVED_LABELS).find(([, keys]) => keys.includes(key))?.[0];
}

/** The field managers of kubelets, by the names of their programs. */
export const isKubelet = (manager: string): boolean => ["kubelet", "k3s", "kubelite"].includes(manager);

/** Why this deployment may not write the Node; null: it may. */
export function ownershipFault(existing: Node, deployment: string): string | null {
  const owner = existing.metadata?.annotations?.[OWNER_ANNOTATION];
  if (owner === deployment) return null;
  return owner === undefined
    ? "a Node of this name exists that is not rollcall's"
    : `the Node belongs to ${owner}`;
}

// How an operator offers a Node to a deployment, and the patch by which the deployment adopts it. Sends nothing.

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
