// Nobody grants what he does not have: the check before a role or binding is written. Mirrors registry/rbac's
// policybased storages and escalation_check.
import { quote } from "../../../../shared/go/strings.ts";
import { type Json, jsonEqual } from "../../../../shared/kubernetes/json.ts";
import type { Status } from "../../../../shared/kubernetes/types.ts";
import type { User } from "../authentication.ts";
import { quotedList } from "../go-quoted.ts";
import { type ApiObject, asJson, fieldsOf, listOf } from "../object.ts";
import type { ResourceType } from "../resource-type.ts";
import { forbidden, notFound } from "../status.ts";
import { describeRules, uncoveredRules } from "./coverage.ts";
import { rbacGroup, roleRefOf, type RuleResolver } from "./resolver.ts";
import { type Attributes, type PolicyRule, policyRules } from "./rules.ts";

/** Who writes, and what he may. */
export interface Grantor {
  user: User;
  resolver: RuleResolver;
  isAllowed: (attributes: Attributes) => boolean;
}

/** One write: the object as it shall be, and as it is. */
export interface RbacWrite {
  type: ResourceType;
  /** Of the request; "" for what has none. */
  namespace: string;
  /** The name in the request's path; "" when creating. */
  name: string;
  next: ApiObject;
  current?: ApiObject;
}

const fullAuthority: PolicyRule[] = policyRules([
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
]);

/** rbac.IsOnlyMutatingGCFields: what a garbage collector changes needs no rights of its own. */
function changesOnlyCollection(next: ApiObject, current: ApiObject): boolean {
  const comparable = ({ metadata, ...rest }: ApiObject): Json => {
    const { ownerReferences: _, finalizers: __, managedFields: ___, ...others } = metadata;
    return asJson({ ...rest, kind: "", apiVersion: "", metadata: others });
  };
  return jsonEqual(comparable(next), comparable(current));
}

/** validation.ConfirmNoEscalation: the text of what is missing. */
function missingRights({ user, resolver }: Grantor, namespace: string, wanted: PolicyRule[]) {
  const { rules, errors } = resolver.grantsOf(user, namespace);
  const owned = rules.map(({ rule }) => rule);
  const missing = uncoveredRules(owned, wanted);
  if (missing.length === 0) return undefined;
  const who = `user ${quote(user.name)} (groups=${quotedList(user.groups)})`;
  const found = errors.length > 0 ? `; resolution errors: [${errors.join(", ")}]` : "";
  const lines = describeRules(missing).join("\n");
  return `${who} is attempting to grant RBAC permissions not currently held:\n${lines}${found}`;
}

function hasAggregation(role: ApiObject | undefined): boolean {
  return listOf(fieldsOf(role?.["aggregationRule"])["clusterRoleSelectors"]).length > 0;
}

function refuseRole(grantor: Grantor, { type, namespace, name, next, current }: RbacWrite) {
  const request = { group: rbacGroup, resource: type.resource, subresource: "", namespace, name };
  if (grantor.isAllowed({ ...request, verb: "escalate" })) return undefined;
  const missing = missingRights(grantor, namespace, policyRules(next["rules"]));
  if (missing !== undefined) return forbidden(type, next.metadata.name ?? "", missing);
  const aggregates = type.resource === "clusterroles" && (hasAggregation(next) || hasAggregation(current));
  if (!aggregates || missingRights(grantor, namespace, fullAuthority) === undefined) return undefined;
  const why = "must have cluster-admin privileges to use the aggregationRule";
  return forbidden(type, next.metadata.name ?? "", why);
}

function refuseBinding(grantor: Grantor, { type, namespace, next }: RbacWrite): Status | undefined {
  const ref = roleRefOf(next);
  const resource = ref.kind === "Role" ? "roles" : "clusterroles";
  const bind = { verb: "bind", group: rbacGroup, resource, subresource: "", namespace, name: ref.name };
  if (grantor.isAllowed(bind)) return undefined;
  const rules = grantor.resolver.rulesOf(ref, namespace);
  if (!rules) return notFound(type, ref.name);
  const missing = missingRights(grantor, namespace, rules);
  return missing === undefined ? undefined : forbidden(type, next.metadata.name ?? "", missing);
}

/** Why a user may not write this role or binding; undefined when he may, or when it is neither. */
export function refuseEscalation(grantor: Grantor, write: RbacWrite): Status | undefined {
  const { type, next, current } = write;
  if (type.group !== rbacGroup || grantor.user.groups.includes("system:masters")) return undefined;
  if (current && changesOnlyCollection(next, current)) return undefined;
  return type.resource.endsWith("bindings") ? refuseBinding(grantor, write) : refuseRole(grantor, write);
}
