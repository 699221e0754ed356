// One attempt to register a Node, and when to make the next one. Waits for nothing but the apiserver.
import { type ApiError, isAlreadyExists, isForbidden } from "../kubernetes/api-error.ts";
import type { NodeClient } from "../kubernetes/client.ts";
import { createNodeStatusPatch } from "../kubernetes/patch/node-status-patch.ts";
import type { Node } from "../kubernetes/types.ts";
import { reconcileExistingNode } from "./reconcile.ts";

/** Upstream registerWithAPIServer: it also waits this long before the first attempt. */
export const FIRST_REGISTRATION_DELAY_MS = 100;
const MAX_REGISTRATION_DELAY_MS = 7_000;

/** How long to wait after a failed attempt, given the wait before it: 200 ms, 400 ms, … at most 7 s. */
export function nextRegistrationDelayMs(previousDelayMs: number): number {
  return Math.min(previousDelayMs * 2, MAX_REGISTRATION_DELAY_MS);
}

/**
 * `created` and `found` are success, with the Node as the apiserver has it now. `refused` carries `claim`'s reason,
 * `failed` the apiserver's error and at which step.
 */
export type RegistrationOutcome =
  | { outcome: "created"; node: Node }
  | { outcome: "found"; node: Node }
  | { outcome: "refused"; reason: string; node: Node }
  | { outcome: "failed"; step: "create" | "get" | "reconcile"; error: ApiError };

/**
 * Upstream tryRegisterWithAPIServer: creates the Node, or reconciles the one that exists. Whoever may not create
 * Nodes may still find one.
 */
export async function tryRegister(
  client: NodeClient,
  initial: Node,
  claim: (existing: Node) => string | null, // null: it is ours to write; else why not. Upstream takes every Node.
  shouldResetExtendedResources: () => boolean, // asked for an existing Node only
): Promise<RegistrationOutcome> {
  const creation = await client.createNode(initial);
  if (creation.ok) return { outcome: "created", node: creation.value };
  const mayExist = isAlreadyExists(creation.error) || isForbidden(creation.error);
  if (!mayExist) return { outcome: "failed", step: "create", error: creation.error };

  return registerExisting(client, initial, claim, shouldResetExtendedResources);
}

/** The same without creating the Node: a missing one fails at the step `get`. */
export async function registerExisting(
  client: NodeClient,
  initial: Node,
  claim: (existing: Node) => string | null, // as above
  shouldResetExtendedResources: () => boolean,
): Promise<RegistrationOutcome> {
  const found = await client.getNode(initial.metadata?.name ?? "");
  if (!found.ok) return { outcome: "failed", step: "get", error: found.error };
  const reason = claim(found.value);
  if (reason !== null) return { outcome: "refused", reason, node: found.value };
  return reconcile(client, initial, found.value, shouldResetExtendedResources());
}

async function reconcile(
  client: NodeClient,
  initial: Node,
  existing: Node,
  shouldResetExtendedResources: boolean,
): Promise<RegistrationOutcome> {
  const { node, requiresUpdate } = reconcileExistingNode(initial, existing, shouldResetExtendedResources);
  if (!requiresUpdate) return { outcome: "found", node: existing };
  const patch = createNodeStatusPatch(existing, node);
  if ("error" in patch) {
    return { outcome: "failed", step: "reconcile", error: { kind: "unanswered", message: patch.error } };
  }
  const updated = await client.patchNodeStatus(existing, patch.result);
  if (!updated.ok) return { outcome: "failed", step: "reconcile", error: updated.error };
  return { outcome: "found", node: updated.value };
}
