// Keeps what rules result in within the grant of the machine's join token. No machine decides about rules, but the features
// that they match are a machine's own word.
import type { RuleParts, RulesResult } from "../features/rules-result.ts";
import { isRoleLabel } from "../kubernetes/roles.ts";
import type { Taint } from "../kubernetes/types.ts";
import { NO_PARTS } from "../node/rule-parts.ts";
import { isRollcallLabel } from "../protocol/drop-ins.ts";
import type { Grant } from "../protocol/join-tokens.ts";
import { FEATURE_PREFIX } from "./feature-labels.ts";
import { isAllowed } from "./within-grant.ts";

type Texts = Readonly<Record<string, string>>;
type RuleGrant = Pick<Grant, "labels" | "taints" | "mayLabel" | "mayFeature" | "mayResource" | "mayTaint">;

/** The parts within the grant, and what it does not allow: `label example.com/rack`. */
export interface GrantedParts {
  parts: RuleParts;
  leftOut: readonly string[];
}

const known = new WeakMap<RulesResult, { grant: RuleGrant; granted: GrantedParts }>();

/** Returns the parts that the grant allows. Results and grants must never change. */
export function withinRules(result: RulesResult | undefined, grant: RuleGrant): GrantedParts {
  if (!result) return { parts: NO_PARTS, leftOut: [] };
  const before = known.get(result);
  if (before?.grant === grant) return before.granted;
  const granted = bounded(result, grant);
  known.set(result, { grant, granted });
  return granted;
}

function bounded({ labels, annotations, resources, taints }: RuleParts, grant: RuleGrant): GrantedParts {
  const leftOut: string[] = [];
  const mayHave = (kind: string, key: string, allowed: readonly string[] | undefined): boolean => {
    const feature = key.startsWith(FEATURE_PREFIX) ? key.slice(FEATURE_PREFIX.length) : key;
    const isGranted = isAllowed(allowed, key) || isAllowed(grant.mayFeature ?? [], feature);
    if (isGranted && !isRoleLabel(key) && !isRollcallLabel(key)) return true;
    leftOut.push(`${kind} ${key}`);
    return false;
  };
  const some = (
    kind: string,
    from: Texts,
    allowed: readonly string[] | undefined,
    given: Texts = {},
  ): Texts =>
    Object.fromEntries(
      // What the join token gives takes precedence, so that no rule can change it.
      Object.entries(from).filter(([key]) => !Object.hasOwn(given, key) && mayHave(kind, key, allowed)),
    );
  const isGiven = (taint: Taint) =>
    (grant.taints ?? []).some(({ key, effect }) => key === taint.key && effect === taint.effect);
  const parts = {
    labels: some("label", labels, grant.mayLabel, grant.labels),
    annotations: some("annotation", annotations, grant.mayLabel),
    resources: some("resource", resources, grant.mayResource),
    taints: taints.filter((taint) => !isGiven(taint) && mayHave("taint", taint.key, grant.mayTaint)),
  };
  return { parts, leftOut };
}
