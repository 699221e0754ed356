// Plays the loop, with pauses, in which a kubelet registers. The recordings need it; the product has alarms in its
// place.
import type { NodeClient } from "../../shared/kubernetes/client.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import {
  FIRST_REGISTRATION_DELAY_MS,
  nextRegistrationDelayMs,
  type Registration,
  tryRegister,
} from "../../shared/node/registration.ts";
import { type Result, success } from "../../shared/result.ts";

/** Accepts every existing Node, as a kubelet adopts every Node of its name. */
export const mine = (existing: Node) => Promise.resolve(success(existing));

/** Returns the calls of a kubelet's startup latency tracker after an attempt to register. */
export const trackerCalls = (attempt: Registration): string[] =>
  attempt.ok && attempt.value.outcome === "created" ? ["registeredNew"] : [];

export function builtNode<T>(built: Result<{ node: T }>): T {
  if (!built.ok) throw new Error(`the initial Node cannot be built: ${built.error}`);
  return built.value.node;
}

/** Registers a Node like upstream's registerWithAPIServer, but records its pauses and does not sleep. */
export async function registerWithApiserver(
  client: NodeClient,
  buildNode: () => Node,
): Promise<{ sleepsMs: number[]; tracker: string[] }> {
  const sleepsMs: number[] = [];
  const tracker = ["attemptRegister"];
  for (let delayMs = FIRST_REGISTRATION_DELAY_MS; ; delayMs = nextRegistrationDelayMs(delayMs)) {
    sleepsMs.push(delayMs);
    const attempt = await tryRegister(client, buildNode(), mine, () => false);
    tracker.push(...trackerCalls(attempt));
    if (attempt.ok) return { sleepsMs, tracker };
  }
}
