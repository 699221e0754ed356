// Acts on a Node as the Node Readiness Controller of kubernetes-sigs does: the same decisions, requests and bodies.
import type { Node, Taint } from "../../../shared/kubernetes/types.ts";

/** A NodeReadinessRule, with the fields that decide about a Node. */
export interface ReadinessRule {
  metadata: { name: string };
  spec: {
    nodeSelector: { matchLabels: Record<string, string> };
    conditions: { type: string; requiredStatus: string }[];
    taint: Taint;
    enforcementMode: "bootstrap-only" | "continuous";
  };
}

export interface NodeAccess {
  read: () => Promise<Node>;
  /** Sends a JSON merge patch of the Node. */
  patch: (body: object) => Promise<unknown>;
}

/** The annotation that ends a rule with `bootstrap-only`. */
export const completed = ({ metadata }: ReadinessRule) =>
  `readiness.k8s.io/bootstrap-completed-${metadata.name}`;

/** Evaluates the rule on a Node that its selector matches. An absent condition counts as Unknown. */
export async function reconcile(rule: ReadinessRule, { read, patch }: NodeAccess): Promise<void> {
  const { conditions, taint, enforcementMode } = rule.spec;
  const { metadata, spec, status } = await read();
  const isOnce = enforcementMode === "bootstrap-only";
  if (isOnce && metadata?.annotations?.[completed(rule)] !== undefined) return;
  const statusOf = (type: string) =>
    status?.conditions?.find((each) => each.type === type)?.status ?? "Unknown";
  const isReady = conditions.every(({ type, requiredStatus }) => statusOf(type) === requiredStatus);
  const taints = spec?.taints ?? [];
  const others = taints.filter(({ key, effect }) => key !== taint.key || effect !== taint.effect);
  const hasTaint = others.length < taints.length;
  if (isReady !== hasTaint) return;
  // The list replaces the whole list, so the version is a precondition.
  const { resourceVersion } = metadata ?? {};
  await patch({ metadata: { resourceVersion }, spec: { taints: isReady ? others : [...taints, taint] } });
  if (isReady && isOnce) await patch({ metadata: { annotations: { [completed(rule)]: "true" } } });
}
