// Which rules a user has: bindings and roles of the store → rules, remembered per user until an RBAC object changes.
// Mirrors registry/rbac/validation.DefaultRuleResolver.
import { quote } from "../../../../shared/go/strings.ts";
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import type { User } from "../authentication.ts";
import { type ApiObject, fieldsOf, listOf, textOf } from "../object.ts";
import type { Store } from "../store.ts";
import { type PolicyRule, policyRules } from "./rules.ts";

export const rbacGroup = "rbac.authorization.k8s.io";

/** A rule, and the binding through which a user has it, as reasons name it. */
export interface GrantedRule {
  rule: PolicyRule;
  source: string;
}

export interface Grants {
  rules: readonly GrantedRule[];
  /** Roles that bindings refer to and that are not there. */
  errors: readonly string[];
}

export interface RoleRef {
  kind: string;
  name: string;
}

export interface RuleResolver {
  /** All that a user may do: cluster-wide, and in a namespace when there is one. */
  grantsOf: (user: User, namespace: string) => Grants;
  /** A role's rules; undefined when there is no such role. `namespace` is the binding's. */
  rulesOf: (ref: RoleRef, namespace: string) => PolicyRule[] | undefined;
}

function subjectApplies(user: User, subject: JsonObject, namespace: string): boolean {
  const name = textOf(subject["name"]);
  switch (subject["kind"]) {
    case "User":
      return user.name === name;
    case "Group":
      return user.groups.includes(name);
    case "ServiceAccount": {
      const home = textOf(subject["namespace"]) || namespace;
      return home !== "" && user.name === `system:serviceaccount:${home}:${name}`;
    }
    default:
      return false;
  }
}

/** Upstream prints name before namespace. */
function describeSubject(subject: JsonObject, namespace: string): string {
  const name = textOf(subject["name"]);
  if (subject["kind"] !== "ServiceAccount") return `${textOf(subject["kind"])} ${quote(name)}`;
  return `ServiceAccount ${quote(`${name}/${textOf(subject["namespace"]) || namespace}`)}`;
}

function describeBinding(binding: ApiObject, ref: RoleRef, subject: JsonObject): string {
  const { name = "", namespace = "" } = binding.metadata;
  const own = namespace === "" ? name : `${name}/${namespace}`;
  const kind = namespace === "" ? "ClusterRoleBinding" : "RoleBinding";
  const role = `${ref.kind} ${quote(ref.name)}`;
  return `${kind} ${quote(own)} of ${role} to ${describeSubject(subject, namespace)}`;
}

function missingRole(ref: RoleRef): string {
  const resource = ref.kind === "Role" ? "role" : "clusterrole";
  return `${resource}.${rbacGroup} ${quote(ref.name)} not found`;
}

export function roleRefOf(binding: ApiObject): RoleRef {
  const { kind, name } = fieldsOf(binding["roleRef"]);
  return { kind: textOf(kind), name: textOf(name) };
}

/** The users of one cluster are few; whoever makes up names must not fill the memory. */
const maxRemembered = 1_000;

export function createRuleResolver(store: Store): RuleResolver {
  const remembered = new Map<string, Grants>();
  store.subscribe(({ resource }) => {
    if (resource.endsWith(rbacGroup)) remembered.clear();
  });

  function rulesOf(ref: RoleRef, namespace: string): PolicyRule[] | undefined {
    const isRole = ref.kind === "Role";
    const resource = isRole ? `roles.${rbacGroup}` : `clusterroles.${rbacGroup}`;
    const role = store.get({ resource, namespace: isRole ? namespace : "", name: ref.name });
    return role && policyRules(role["rules"]);
  }

  function resolve(user: User, namespace: string): Grants {
    const inNamespace = namespace === "" ? [] : store.list(`rolebindings.${rbacGroup}`, namespace);
    const bindings = [...store.list(`clusterrolebindings.${rbacGroup}`), ...inNamespace];
    const rules: GrantedRule[] = [];
    const errors = new Set<string>();
    for (const binding of bindings) {
      const home = binding.metadata.namespace ?? "";
      const subject = listOf(binding["subjects"])
        .map(fieldsOf)
        .find((each) => subjectApplies(user, each, home));
      if (!subject) continue;
      const ref = roleRefOf(binding);
      const found = rulesOf(ref, home);
      if (!found) errors.add(missingRole(ref));
      const source = describeBinding(binding, ref, subject);
      rules.push(...(found ?? []).map((rule) => ({ rule, source })));
    }
    return { rules, errors: [...errors] };
  }

  function grantsOf(user: User, namespace: string): Grants {
    const key = [namespace, user.name, ...user.groups].join("\n");
    const known = remembered.get(key);
    if (known) return known;
    if (remembered.size >= maxRemembered) remembered.clear();
    const grants = resolve(user, namespace);
    remembered.set(key, grants);
    return grants;
  }

  return { grantsOf, rulesOf };
}
