// Decides which Nodes a deployment may write, names their marks, and makes the patch that adopts an offered Node.
import type { JsonObject } from "../kubernetes/json.ts";
import { HOSTNAME_LABEL, OWN_HOSTNAME_LABEL } from "../kubernetes/labels.ts";
import type { Node, Taint } from "../kubernetes/types.ts";

/** The annotation with the deployment that created or adopted the Node. */
export const OWNER_ANNOTATION = "rollcall.dev/owner";
/** The label of every Node of rollcall, with an empty value, by which selectors recognize a Node without a kubelet. */
export const MACHINE_LABEL = "rollcall.dev/machine";
/** The label with a copy of the owner, for selectors. Only the annotation decides about ownership. */
export const DEPLOYMENT_LABEL = "rollcall.dev/deployment";
/** The label of a lease that no gateway renews, with the deployment as value. The Worker lists these leases. */
export const UNWATCHED_LABEL = "rollcall.dev/unwatched";
/** The label that keeps a load balancer from sending traffic to a machine without a kubelet. */
export const NO_LOAD_BALANCER_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers";
/** The annotation of a Node created unschedulable (NODE_UNSCHEDULABLE), which stays schedulable once uncordoned. */
export const CORDONED_ANNOTATION = "rollcall.dev/unschedulable";
/** The taint that keeps pods from a machine without a kubelet. */
export const FACTS_ONLY_TAINT: Taint = { key: "rollcall.dev/facts-only", effect: "NoSchedule" };
/** The label of Nodes that the node controller leaves out of its count of Nodes that are not Ready. */
export const EXCLUDE_DISRUPTION_LABEL = "node.kubernetes.io/exclude-disruption";
/**
 * The label that gives bystanders an eviction queue of their own, so that silent machines do not delay the eviction
 * from other Nodes. The node controller limits evictions per zone, and reads this label first
 * (nodetopology.GetZoneKey).
 */
export const QUEUE_LABEL = "failure-domain.beta.kubernetes.io/region";
export const QUEUE_REGION = "rollcall.dev";

/** The bystander's label for the operating system, in place of the kubelet's labels (MOVED_LABELS). */
export const OS_LABEL = "rollcall.dev/os";
export const MOVED_LABELS = {
  [OWN_HOSTNAME_LABEL]: [HOSTNAME_LABEL],
  [OS_LABEL]: ["kubernetes.io/os", "beta.kubernetes.io/os"],
  "rollcall.dev/arch": ["kubernetes.io/arch", "beta.kubernetes.io/arch"],
  "rollcall.dev/zone": ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"],
  "rollcall.dev/region": ["topology.kubernetes.io/region", QUEUE_LABEL],
} as const satisfies Record<string, readonly string[]>;
/** The keys of MOVED_LABELS whose values follow from the platform. */
export const PLATFORM_LABELS = [OS_LABEL, "rollcall.dev/arch"] as const;

/** Returns a bystander's key for a kubelet's label; undefined if the label keeps its key. */
export function movedTo(key: string): string | undefined {
  return Object.entries<readonly string[]>(MOVED_LABELS).find(([, keys]) => keys.includes(key))?.[0];
}

/** Returns true if the field manager is a kubelet, by the name of its program. */
export const isKubelet = (manager: string): boolean => ["kubelet", "k3s", "kubelite"].includes(manager);

/** Returns the reason why this deployment may not write the Node; null if it may. */
export function ownershipFault(existing: Node, deployment: string): string | null {
  const owner = existing.metadata?.annotations?.[OWNER_ANNOTATION];
  if (owner === deployment) return null;
  return owner === undefined
    ? "a Node of this name exists that is not rollcall's"
    : `the Node belongs to ${owner}`;
}

/** The annotation with which an operator offers the Node to a deployment. Adoption removes it. */
const ADOPT_ANNOTATION = "rollcall.dev/adopt";

export function isOfferedTo(node: Node, deployment: string): boolean {
  return node.metadata?.annotations?.[ADOPT_ANNOTATION] === deployment;
}

/**
 * Returns the strategic merge patch that makes the Node belong to this deployment. The patch has the Node's uid and
 * resourceVersion, so that it fails if the Node has changed. The patch replaces the whole list of taints, and removes
 * the kubelet's labels that a bystander lacks.
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
