// Whether somebody's rules cover others', rule by atomic rule, and how what is missing reads. Mirrors component-helpers'
// rbac/validation.Covers and registry/rbac/validation.CompactRules. Knows no user.
import { quotedList } from "../go-quoted.ts";
import { type PolicyRule, urlCovers } from "./rules.ts";

const nothing: PolicyRule = {
  verbs: [],
  apiGroups: [],
  resources: [],
  resourceNames: [],
  nonResourceURLs: [],
};

/** validation.BreakdownRule: equivalent rules with one group, resource, name and verb each. */
function breakDown(rule: PolicyRule): PolicyRule[] {
  const names = rule.resourceNames.length > 0 ? rule.resourceNames.map((name) => [name]) : [[]];
  const ofResources = rule.apiGroups.flatMap((group) =>
    rule.resources.flatMap((resource) =>
      rule.verbs.flatMap((verb) =>
        names.map((resourceNames) => ({
          ...nothing,
          verbs: [verb],
          apiGroups: [group],
          resources: [resource],
          resourceNames,
        })),
      ),
    ),
  );
  const ofPaths = rule.nonResourceURLs.flatMap((url) =>
    rule.verbs.map((verb) => ({ ...nothing, verbs: [verb], nonResourceURLs: [url] })),
  );
  return [...ofResources, ...ofPaths];
}

function hasAll(owned: readonly string[], wanted: readonly string[]): boolean {
  return owned.includes("*") || wanted.every((each) => owned.includes(each));
}

function resourceCovered(owned: readonly string[], resource: string): boolean {
  if (owned.includes("*") || owned.includes(resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && owned.includes(`*${resource.slice(slash)}`);
}

/** validation.ruleCovers; `wanted` is atomic. A `*` among names or paths is only a name. */
function ruleCovers(owner: PolicyRule, wanted: PolicyRule): boolean {
  return (
    hasAll(owner.verbs, wanted.verbs) &&
    hasAll(owner.apiGroups, wanted.apiGroups) &&
    wanted.resources.every((resource) => resourceCovered(owner.resources, resource)) &&
    wanted.nonResourceURLs.every((url) => owner.nonResourceURLs.some((owned) => urlCovers(owned, url))) &&
    (owner.resourceNames.length === 0 ||
      (wanted.resourceNames.length > 0 &&
        wanted.resourceNames.every((name) => owner.resourceNames.includes(name))))
  );
}

/** The atomic rules among `wanted` that no rule of `owned` covers. */
export function uncoveredRules(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(breakDown).filter((atom) => !owned.some((owner) => ruleCovers(owner, atom)));
}

/** rbacv1helpers.CompactString */
function compactText(rule: PolicyRule): string {
  const parts = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ] as const;
  const present = parts.filter(([, values]) => values.length > 0);
  return `{${present.map(([name, values]) => `${name}:${quotedList(values)}`).join(", ")}}`;
}

/** The rules as lines of text, those that differ only by verb in one (CompactRules), sorted. */
export function describeRules(atoms: readonly PolicyRule[]): string[] {
  const merged = new Map<string, PolicyRule>();
  const lines: string[] = [];
  for (const atom of atoms) {
    const key = JSON.stringify([atom.apiGroups, atom.resources, atom.resourceNames]);
    const known = merged.get(key);
    if (atom.nonResourceURLs.length > 0) lines.push(compactText(atom));
    else merged.set(key, known ? { ...known, verbs: [...known.verbs, ...atom.verbs] } : atom);
  }
  lines.push(...[...merged.values()].map(compactText));
  return [...new Set(lines)].sort();
}
