// Makes one attempt to register a Node, and computes the next delay. Mirrors upstream's tryRegisterWithAPIServer.
import { type ApiError, isAlreadyExists, isForbidden } from "../kubernetes/api-error.ts";
import type { NodeClient } from "../kubernetes/client.ts";
import { createNodeStatusPatch } from "../kubernetes/patch/node-status-patch.ts";
import { quantitiesEqual } from "../kubernetes/quantity/parse.ts";
import { isExtendedResourceName, isHugePageResourceName } from "../kubernetes/resource-names.ts";
import type { Node, ResourceList } from "../kubernetes/types.ts";
import { failure, type Result, success } from "../result.ts";
import type { DraftNode } from "../setters/setter.ts";
import { ATTACH_DETACH_ANNOTATION } from "./initial-node.ts";
import { draftOf } from "./update-node.ts";

/** The delay before the first attempt (upstream registerWithAPIServer). */
export const FIRST_REGISTRATION_DELAY_MS = 100;
const MAX_REGISTRATION_DELAY_MS = 7_000;

/** Returns the delay after a failed attempt: 200 ms, 400 ms, … up to 7 s. */
export function nextRegistrationDelayMs(previousDelayMs: number): number {
  return Math.min(previousDelayMs * 2, MAX_REGISTRATION_DELAY_MS);
}

/** Returns the existing Node to reconcile if the machine may write it. Upstream takes every Node. */
type Claim = (existing: Node) => Promise<Result<Node, RegistrationFailure>>;
/** Restores the parts of an existing Node that the machine may not change. Upstream lets a kubelet change all parts. */
type Bound = (existing: Node, node: DraftNode) => void;

export type Registration = Result<RegisteredNode, RegistrationFailure>;

export interface RegisteredNode {
  outcome: "created" | "found";
  /** The Node that the apiserver returned. */
  node: Node;
}

export type RegistrationFailure =
  | { reason: "not ours"; message: string }
  | { reason: "request failed"; step: "create" | "get" | "reconcile"; error: ApiError };

/** Creates the Node. Reconciles an existing Node, also if the apiserver forbids the creation (tryRegisterWithAPIServer). */
export async function tryRegister(
  client: NodeClient,
  initial: Node,
  claim: Claim,
  shouldResetExtendedResources: () => boolean, // called only if the Node exists
  bound: Bound = () => undefined,
): Promise<Registration> {
  const creation = await client.createNode(initial);
  if (creation.ok) return success({ outcome: "created", node: creation.value });
  const mayExist = isAlreadyExists(creation.error) || isForbidden(creation.error);
  if (!mayExist) return failed("create", creation.error);

  return registerExisting(client, initial, claim, shouldResetExtendedResources, bound);
}

/** Reconciles an existing Node, and never creates one. A missing Node fails at the step `get`. */
export async function registerExisting(
  client: NodeClient,
  initial: Node,
  claim: Claim,
  shouldResetExtendedResources: () => boolean,
  bound: Bound = () => undefined,
): Promise<Registration> {
  const found = await client.getNode(initial.metadata?.name ?? "");
  if (!found.ok) return failed("get", found.error);
  const claimed = await claim(found.value);
  if (!claimed.ok) return claimed;
  return reconcile(client, initial, claimed.value, { shouldReset: shouldResetExtendedResources(), bound });
}

async function reconcile(
  client: NodeClient,
  initial: Node,
  existing: Node,
  { shouldReset, bound }: { shouldReset: boolean; bound: Bound },
): Promise<Registration> {
  const { node, requiresUpdate } = reconcileExistingNode(initial, existing, shouldReset);
  if (!requiresUpdate) return success({ outcome: "found", node: existing });
  bound(existing, node);
  const patch = createNodeStatusPatch(existing, node);
  if (!patch.ok) return failed("reconcile", { kind: "unanswered", message: patch.error });
  const updated = await client.patchNodeStatus(existing, patch.value);
  if (!updated.ok) return failed("reconcile", updated.error);
  return success({ outcome: "found", node: updated.value });
}

function failed(step: "create" | "get" | "reconcile", error: ApiError): Registration {
  return failure({ reason: "request failed", step, error });
}

/** The labels that a registration updates on an existing Node. */
const DEFAULT_LABELS = [
  "kubernetes.io/hostname",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "node.kubernetes.io/instance-type",
  "beta.kubernetes.io/instance-type",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "node.kubernetes.io/windows-build",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
];

/** Runs all reconcile steps in upstream's order. Returns a changed copy, and true if upstream would send it. */
function reconcileExistingNode(
  initial: Node,
  existing: Node,
  shouldResetExtendedResources: boolean, // typically true if the Node was created again after the device plugins registered
): { node: DraftNode; requiresUpdate: boolean } {
  const node = draftOf(existing);
  const steps = [
    reconcileCMADAnnotation(initial, node),
    updateDefaultLabels(initial, node),
    reconcileExtendedResource(initial, node, shouldResetExtendedResources),
    reconcileHugePageResource(initial, node),
  ];
  return { node, requiresUpdate: steps.includes(true) };
}

/** Reconciles the attach and detach annotation. Like all steps below, changes `existing`; true if it must be sent. */
export function reconcileCMADAnnotation(initial: Node, existing: DraftNode): boolean {
  const wanted = initial.metadata?.annotations?.[ATTACH_DETACH_ANNOTATION];
  const { [ATTACH_DETACH_ANNOTATION]: found, ...others } = existing.metadata.annotations ?? {};
  if ((wanted ?? "") === (found ?? "")) return false;
  existing.metadata.annotations =
    wanted === undefined ? others : { ...others, [ATTACH_DETACH_ANNOTATION]: wanted };
  return true;
}

export function updateDefaultLabels(initial: Node, existing: DraftNode): boolean {
  const wanted = initial.metadata?.labels ?? {};
  const labels = { ...existing.metadata.labels };
  let needsUpdate = false;
  for (const label of DEFAULT_LABELS) {
    const value = wanted[label];
    if (value === undefined) continue;
    if ((labels[label] ?? "") !== value) needsUpdate = true;
    if (value === "") delete labels[label];
    else labels[label] = value;
  }
  existing.metadata.labels = labels;
  return needsUpdate;
}

/** Sets extended resources to 0 until their device plugins announce them again, if `shouldReset` is true. */
export function reconcileExtendedResource(initial: Node, existing: DraftNode, shouldReset: boolean): boolean {
  const requiresUpdate = updateDefaultResources(initial, existing);
  const names = Object.keys(existing.status.capacity ?? {}).filter(isExtendedResourceName);
  if (!shouldReset || names.length === 0) return requiresUpdate;
  const zeroes = Object.fromEntries(names.map((name) => [name, "0"]));
  existing.status.capacity = { ...existing.status.capacity, ...zeroes };
  existing.status.allocatable = { ...existing.status.allocatable, ...zeroes };
  return true;
}

/** Updates the resources of huge pages to the machine's page sizes. */
export function reconcileHugePageResource(initial: Node, existing: DraftNode): boolean {
  let requiresUpdate = updateDefaultResources(initial, existing);
  const wanted = initial.status?.capacity ?? {};
  const capacity = { ...existing.status.capacity };
  const allocatable = { ...existing.status.allocatable };
  for (const name of Object.keys(wanted).filter(isHugePageResourceName)) {
    const isNew = capacity[name] === undefined;
    if (setUnlessEqual(capacity, name, wanted[name], isNew)) requiresUpdate = true;
    if (setUnlessEqual(allocatable, name, initial.status?.allocatable?.[name], isNew)) requiresUpdate = true;
  }
  for (const name of Object.keys(capacity).filter(isHugePageResourceName)) {
    if (wanted[name] !== undefined) continue;
    delete capacity[name];
    delete allocatable[name];
    requiresUpdate = true;
  }
  existing.status.capacity = capacity;
  existing.status.allocatable = allocatable;
  return requiresUpdate;
}

/** Sets a quantity unless the amounts are equal (absent is 0), so that an equal quantity keeps its notation. */
function setUnlessEqual(
  list: ResourceList,
  name: string,
  quantity: string | undefined,
  isNew: boolean,
): boolean {
  if (!isNew && quantitiesEqual(list[name] ?? "0", quantity ?? "0")) return false;
  list[name] = quantity ?? "0";
  return true;
}

/** Copies capacity and allocatable resources of the new Node, each list only if the existing Node has none. */
export function updateDefaultResources(initial: Node, existing: DraftNode): boolean {
  let requiresUpdate = false;
  for (const list of ["capacity", "allocatable"] as const) {
    const wanted = initial.status?.[list];
    if (existing.status[list] || !wanted) continue;
    existing.status[list] = wanted;
    requiresUpdate = true;
  }
  return requiresUpdate;
}
