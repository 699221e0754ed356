// Authorises requests: allows members of system:masters everything, and other users the requests that the store's
// RBAC objects allow. Mirrors rbac.RuleAllows, apis/rbac/v1 evaluation_helpers and
// registry/rbac/validation.DefaultRuleResolver.
import { quote } from "../../../../shared/go/strings.ts";
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import type { Status } from "../../../../shared/kubernetes/types.ts";
import { type ApiObject, fieldsOf, listOf, textOf } from "../object.ts";
import type { RequestInfo } from "../request-info.ts";
import { forbidden, forbiddenPath } from "../status.ts";
import type { Store } from "../store.ts";
import type { User } from "./authentication.ts";

/** Decides if a user may do a request. `reason` names the bound roles that do not exist, or is "". */
export type Authorizer = (user: User, attributes: Attributes) => { allowed: boolean; reason: string };

function errorsText(errors: readonly string[]): string {
  return errors.length === 1 ? errors.join("") : `[${errors.join(", ")}]`;
}

/** Returns the message of a 403. Mirrors responsewriters.forbiddenMessage. */
function forbiddenMessage(user: string, attributes: Attributes): string {
  const who = `User ${quote(user)} cannot ${attributes.verb}`;
  if ("path" in attributes) return `${who} path ${quote(attributes.path)}`;
  const { group, namespace, resource, subresource } = attributes;
  const full = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${quote(namespace)}`;
  return `${who} resource ${quote(full)} in API group ${quote(group)} ${where}`;
}

/** Returns the path of a URL, decoded for rules and error texts, or unchanged if it cannot be decoded. */
export function decodedPath({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return pathname;
  }
}

/** Returns the 403 for a request, or undefined if the request is allowed. */
export function refuseForbidden(decide: Authorizer, user: User, attributes: Attributes): Status | undefined {
  const { allowed, reason } = decide(user, attributes);
  if (allowed) return undefined;
  const message = forbiddenMessage(user.name, attributes);
  const why = reason === "" ? message : `${message}: ${reason}`;
  return "path" in attributes ? forbiddenPath(why) : forbidden(attributes, attributes.name, why);
}

/** Returns an error for impersonation, which is unsupported: the request would run with the caller's rights. */
export function refuseImpersonation(headers: Headers): Status | undefined {
  const isWanted = [...headers.keys()].some((name) => name.startsWith("impersonate-"));
  const users = { group: "", resource: "users" };
  return isWanted
    ? forbidden(users, headers.get("impersonate-user") ?? "", "impersonation is not supported")
    : undefined;
}

/** A rule of a stored Role or ClusterRole. */
interface PolicyRule {
  verbs: readonly string[] | null;
  apiGroups?: readonly string[];
  resources?: readonly string[];
  resourceNames?: readonly string[];
  nonResourceURLs?: readonly string[];
}

/** The attributes of a request for a resource, or the verb and path of any other request. */
export type Attributes = Omit<RequestInfo, "version"> | { verb: string; path: string };

/** Returns true if the list has "*" or one of these texts. */
function includes(list: readonly string[] | null | undefined, ...wanted: string[]): boolean {
  return ["*", ...wanted].some((each) => list?.includes(each));
}

/** Returns true if the path equals the rule's URL `owner`, or begins with its part before `*`. */
function urlCovers(owner: string, path: string): boolean {
  return owner === path || (owner.endsWith("*") && path.startsWith(owner.replace(/\*+$/, "")));
}

/** Returns true if the rule allows a request with these attributes. Mirrors rbac.RuleAllows. */
function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  const { apiGroups, resources, resourceNames, nonResourceURLs = [] } = rule;
  if (!includes(rule.verbs, attributes.verb)) return false;
  if ("path" in attributes) return nonResourceURLs.some((url) => urlCovers(url, attributes.path));
  const { group, resource, subresource, name } = attributes;
  const wanted = subresource === "" ? [resource] : [`${resource}/${subresource}`, `*/${subresource}`];
  return (
    includes(apiGroups, group) &&
    includes(resources, ...wanted) &&
    (resourceNames === undefined || resourceNames.includes(name))
  );
}

export const rbacGroup = "rbac.authorization.k8s.io";

interface Grants {
  rules: readonly PolicyRule[];
  /** The error texts for bindings whose role does not exist. */
  errors: readonly string[];
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

/** Returns the rules of a binding's role, or an error text if the role does not exist. */
function rulesOf(store: Store, binding: ApiObject): PolicyRule[] | string {
  const ref = fieldsOf(binding["roleRef"]);
  const name = textOf(ref["name"]);
  const isRole = ref["kind"] === "Role";
  const resource = isRole ? `roles.${rbacGroup}` : `clusterroles.${rbacGroup}`;
  const role = store.get({ resource, namespace: isRole ? (binding.metadata.namespace ?? "") : "", name });
  // The rules have their type, because each write is decoded into its Go type.
  if (role) return (role["rules"] ?? []) as PolicyRule[];
  return `${isRole ? "role" : "clusterrole"}.${rbacGroup} ${quote(name)} not found`;
}

/** Reads all rights of a user: the cluster-wide ones, and those in `namespace` unless it is "". */
function readGrants(store: Store, user: User, namespace: string): Grants {
  const inNamespace = namespace === "" ? [] : store.list(`rolebindings.${rbacGroup}`, namespace);
  const rules: PolicyRule[] = [];
  const errors = new Set<string>();
  for (const binding of [...store.list(`clusterrolebindings.${rbacGroup}`), ...inNamespace]) {
    const home = binding.metadata.namespace ?? "";
    const subjects = listOf(binding["subjects"]).map(fieldsOf);
    if (!subjects.some((subject) => subjectApplies(user, subject, home))) continue;
    const found = rulesOf(store, binding);
    if (typeof found === "string") errors.add(found);
    else rules.push(...found);
  }
  return { rules, errors: [...errors] };
}

/** The limit of cached pairs of user and namespace, because access reviews may contain many invented names. */
const maxRemembered = 1_000;

/** Returns a function that decides like rbac.RBACAuthorizer.Authorize, and allows system:masters everything. */
export function createAuthorizer(store: Store): Authorizer {
  const remembered = new Map<string, Grants>();
  store.subscribe(({ resource }) => {
    if (resource.endsWith(rbacGroup)) remembered.clear();
  });

  function grantsOf(user: User, namespace: string): Grants {
    const key = [namespace, user.name, ...user.groups].join("\n");
    const known = remembered.get(key);
    if (known) return known;
    if (remembered.size >= maxRemembered) remembered.clear();
    const grants = readGrants(store, user, namespace);
    remembered.set(key, grants);
    return grants;
  }

  return (user, attributes) => {
    if (user.groups.includes("system:masters")) return { allowed: true, reason: "" };
    const { rules, errors } = grantsOf(user, "path" in attributes ? "" : attributes.namespace);
    if (rules.some((rule) => ruleAllows(rule, attributes))) return { allowed: true, reason: "" };
    return { allowed: false, reason: errors.length > 0 ? `RBAC: ${errorsText(errors)}` : "" };
  };
}
