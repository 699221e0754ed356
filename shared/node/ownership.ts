// Which Nodes a deployment may write, how they are marked, and how a deployment adopts a Node that an operator offers.
import type { JsonObject } from "../kubernetes/json.ts";
import { HOSTNAME_LABEL, OWN_HOSTNAME_LABEL } from "../kubernetes/labels.ts";
import type { Node, Taint } from "../kubernetes/types.ts";

/** The deployment that created or adopted the Node. */
export const OWNER_ANNOTATION = "rollcall.dev/owner";
/** On every Node of rollcall, with an empty value: selectors and affinities recognize a Node without a kubelet by it. */
export const MACHINE_LABEL = "rollcall.dev/machine";
/** A copy of the owner for selectors, which do not read annotations. The annotation decides about ownership. */
export const DEPLOYMENT_LABEL = "rollcall.dev/deployment";
/** Keeps a load balancer from sending traffic to a machine without a kubelet. */
export const NO_LOAD_BALANCER_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers";
/** The Node was created unschedulable because of NODE_UNSCHEDULABLE. An operator may uncordon it for good. */
export const CORDONED_ANNOTATION = "rollcall.dev/unschedulable";
/** Keeps pods from a machine without a kubelet. */
export const FACTS_ONLY_TAINT: Taint = { key: "rollcall.dev/facts-only", effect: "NoSchedule" };
/** The node controller does not count such a Node among those that are not Ready (nodelifecycle, DisruptionMode). */
export const EXCLUDE_DISRUPTION_LABEL = "node.kubernetes.io/exclude-disruption";
/**
 * The node controller evicts at a rate per zone, and reads this label first (nodetopology.GetZoneKey). Bystanders have a
 * region and so a queue of their own: silent machines do not delay the eviction from other Nodes.
 */
export const QUEUE_LABEL = "failure-domain.beta.kubernetes.io/region";
export const QUEUE_REGION = "rollcall.dev";

/** The kubelet's labels whose value a bystander's label has, by the bystander's label. The preferred one comes first. */
export const OS_LABEL = "rollcall.dev/os";
export const MOVED_LABELS = {
  [OWN_HOSTNAME_LABEL]: [HOSTNAME_LABEL],
  [OS_LABEL]: ["kubernetes.io/os", "beta.kubernetes.io/os"],
  "rollcall.dev/arch": ["kubernetes.io/arch", "beta.kubernetes.io/arch"],
  "rollcall.dev/zone": ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"],
  "rollcall.dev/region": ["topology.kubernetes.io/region", QUEUE_LABEL],
} as const satisfies Record<string, readonly string[]>;
/** The keys of MOVED_LABELS that follow from the platform. */
export const PLATFORM_LABELS = [OS_LABEL, "rollcall.dev/arch"] as const;

/** Returns a bystander's key for a kubelet's label; undefined if the label keeps its key. */
export function movedTo(key: string): string | undefined {
  return Object.entries<readonly string[]>(MOVED_LABELS).find(([, keys]) => keys.includes(key))?.[0];
}

/** The field managers of kubelets, by the names of their programs. */
export const isKubelet = (manager: string): boolean => ["kubelet", "k3s", "kubelite"].includes(manager);

/** Returns why this deployment may not write the Node; null if it may. */
export function ownershipFault(existing: Node, deployment: string): string | null {
  const owner = existing.metadata?.annotations?.[OWNER_ANNOTATION];
  if (owner === deployment) return null;
  return owner === undefined
    ? "a Node of this name exists that is not rollcall's"
    : `the Node belongs to ${owner}`;
}

/** An operator sets it to the deployment that should own the Node; adoption removes it. */
const ADOPT_ANNOTATION = "rollcall.dev/adopt";

export function isOfferedTo(node: Node, deployment: string): boolean {
  return node.metadata?.annotations?.[ADOPT_ANNOTATION] === deployment;
}

/**
 * Returns the strategic merge patch that makes the Node this deployment's. Its uid and resourceVersion make it fail for a
 * changed Node, since it replaces the whole list of taints. It removes the kubelet's labels that a bystander goes without.
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
