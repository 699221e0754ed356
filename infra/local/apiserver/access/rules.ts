// What one RBAC rule allows. Mirrors rbac.RuleAllows and apis/rbac/v1 evaluation_helpers; knows no binding and no user.
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import { fieldsOf, listOf } from "../object.ts";
import type { RequestInfo } from "../request-info.ts";

/** A rule of a Role or ClusterRole; an absent list is an empty one. */
export interface PolicyRule {
  verbs: readonly string[];
  apiGroups: readonly string[];
  resources: readonly string[];
  resourceNames: readonly string[];
  nonResourceURLs: readonly string[];
}

/** A resource request's attributes, or the verb and path of another one. */
export type Attributes = Omit<RequestInfo, "version"> | { verb: string; path: string };

function textsOf(value: unknown): string[] {
  return listOf(value).filter((item) => typeof item === "string");
}

/** The rules as a stored role has them. */
export function policyRules(rules: unknown): PolicyRule[] {
  return listOf(rules)
    .map(fieldsOf)
    .map((rule: JsonObject) => ({
      verbs: textsOf(rule["verbs"]),
      apiGroups: textsOf(rule["apiGroups"]),
      resources: textsOf(rule["resources"]),
      resourceNames: textsOf(rule["resourceNames"]),
      nonResourceURLs: textsOf(rule["nonResourceURLs"]),
    }));
}

function includesOrAll(list: readonly string[], wanted: string): boolean {
  return list.includes("*") || list.includes(wanted);
}

function resourceMatches(rule: PolicyRule, resource: string, subresource: string): boolean {
  if (subresource === "") return includesOrAll(rule.resources, resource);
  return (
    includesOrAll(rule.resources, `${resource}/${subresource}`) || rule.resources.includes(`*/${subresource}`)
  );
}

/** Whether `owner`, which may end with `*`, is or begins the path. */
function urlCovers(owner: string, path: string): boolean {
  return owner === path || (owner.endsWith("*") && path.startsWith(owner.replace(/\*+$/, "")));
}

/** rbac.RuleAllows */
export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!includesOrAll(rule.verbs, attributes.verb)) return false;
  if ("path" in attributes) return rule.nonResourceURLs.some((url) => urlCovers(url, attributes.path));
  return (
    includesOrAll(rule.apiGroups, attributes.group) &&
    resourceMatches(rule, attributes.resource, attributes.subresource) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(attributes.name))
  );
}
