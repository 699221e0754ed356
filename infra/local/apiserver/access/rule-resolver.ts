// Which rules a user has: bindings and roles of the store → rules, remembered per user until an RBAC object changes.
// Mirrors registry/rbac/validation.DefaultRuleResolver.
import { quote } from "../../../../shared/go/strings.ts";
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import type { User } from "./authentication.ts";
import { type ApiObject, fieldsOf, listOf, textOf } from "../object.ts";
import { type PolicyRule, policyRules } from "./rules.ts";
import type { Store } from "../store.ts";

export const rbacGroup = "rbac.authorization.k8s.io";

export interface Grants {
  rules: readonly PolicyRule[];
  /** Roles that bindings refer to and that are not there. */
  errors: readonly string[];
}

export interface RuleResolver {
  /** All that a user may do: cluster-wide, and in a namespace when there is one. */
  grantsOf: (user: Pick<User, "name" | "groups">, namespace: string) => Grants;
}

function subjectApplies(
  user: Pick<User, "name" | "groups">,
  subject: JsonObject,
  namespace: string,
): boolean {
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

/** A cluster has few users; made-up names must not fill the memory. */
const maxRemembered = 1_000;

export function createRuleResolver(store: Store): RuleResolver {
  const remembered = new Map<string, Grants>();
  store.subscribe(({ resource }) => {
    if (resource.endsWith(rbacGroup)) remembered.clear();
  });

  /** The rules of a binding's role, which is in the binding's own namespace, or in none; an error's text without one. */
  function rulesOf(binding: ApiObject): PolicyRule[] | string {
    const ref = fieldsOf(binding["roleRef"]);
    const name = textOf(ref["name"]);
    const isRole = ref["kind"] === "Role";
    const resource = isRole ? `roles.${rbacGroup}` : `clusterroles.${rbacGroup}`;
    const role = store.get({ resource, namespace: isRole ? (binding.metadata.namespace ?? "") : "", name });
    if (role) return policyRules(role["rules"]);
    return `${isRole ? "role" : "clusterrole"}.${rbacGroup} ${quote(name)} not found`;
  }

  function resolve(user: Pick<User, "name" | "groups">, namespace: string): Grants {
    const inNamespace = namespace === "" ? [] : store.list(`rolebindings.${rbacGroup}`, namespace);
    const rules: PolicyRule[] = [];
    const errors = new Set<string>();
    for (const binding of [...store.list(`clusterrolebindings.${rbacGroup}`), ...inNamespace]) {
      const home = binding.metadata.namespace ?? "";
      const subjects = listOf(binding["subjects"]).map(fieldsOf);
      if (!subjects.some((subject) => subjectApplies(user, subject, home))) continue;
      const found = rulesOf(binding);
      if (typeof found === "string") errors.add(found);
      else rules.push(...found);
    }
    return { rules, errors: [...errors] };
  }

  return {
    grantsOf: (user, namespace) => {
      const key = [namespace, user.name, ...user.groups].join("\n");
      const known = remembered.get(key);
      if (known) return known;
      if (remembered.size >= maxRemembered) remembered.clear();
      const grants = resolve(user, namespace);
      remembered.set(key, grants);
      return grants;
    },
  };
}
