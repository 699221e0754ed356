// One attempt to register a Node, and when to make the next one. Waits for nothing but the apiserver.
import { type ApiError, isAlreadyExists, isForbidden } from "../kubernetes/api-error.ts";
import type { NodeClient } from "../kubernetes/client.ts";
import { createNodeStatusPatch } from "../kubernetes/patch/node-status-patch.ts";
import type { Node } from "../kubernetes/types.ts";
import { reconcileExistingNode } from "./reconcile.ts";
import type { DraftNode } from "../setters/setter.ts";
import { failure, type Result, success } from "../result.ts";

/** Upstream registerWithAPIServer: it also waits this long before the first attempt. */
export const FIRST_REGISTRATION_DELAY_MS = 100;
const MAX_REGISTRATION_DELAY_MS = 7_000;

/** How long to wait after a failed attempt, given the wait before it: 200 ms, 400 ms, … at most 7 s. */
export function nextRegistrationDelayMs(previousDelayMs: number): number {
  return Math.min(previousDelayMs * 2, MAX_REGISTRATION_DELAY_MS);
}

/** Puts back what of an existing Node is not the machine's to change. */
type Bound = (existing: Node, node: DraftNode) => void;

export type Registration = Result<RegisteredNode, RegistrationFailure>;

export interface RegisteredNode {
  outcome: "created" | "found";
  /** As the apiserver has it now. */
  node: Node;
}

export type RegistrationFailure =
  | { reason: "not ours"; message: string }
  | { reason: "request failed"; step: "create" | "get" | "reconcile"; error: ApiError };

/**
 * Upstream tryRegisterWithAPIServer: creates the Node, or reconciles the one that exists. A client that may not create
 * Nodes may still find one.
 */
export async function tryRegister(
  client: NodeClient,
  initial: Node,
  ownershipFault: (existing: Node) => string | null, // why it is not ours to write; upstream takes every Node
  shouldResetExtendedResources: () => boolean, // asked for an existing Node only
  bound: Bound = () => undefined, // as upstream
): Promise<Registration> {
  const creation = await client.createNode(initial);
  if (creation.ok) return success({ outcome: "created", node: creation.value });
  const mayExist = isAlreadyExists(creation.error) || isForbidden(creation.error);
  if (!mayExist) return failed("create", creation.error);

  return registerExisting(client, initial, ownershipFault, shouldResetExtendedResources, bound);
}

/** The same without creating the Node: a missing one fails at the step `get`. */
export async function registerExisting(
  client: NodeClient,
  initial: Node,
  ownershipFault: (existing: Node) => string | null, // as above
  shouldResetExtendedResources: () => boolean,
  bound: Bound = () => undefined,
): Promise<Registration> {
  const found = await client.getNode(initial.metadata?.name ?? "");
  if (!found.ok) return failed("get", found.error);
  const message = ownershipFault(found.value);
  if (message !== null) return failure({ reason: "not ours", message });
  return reconcile(client, initial, found.value, { shouldReset: shouldResetExtendedResources(), bound });
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
