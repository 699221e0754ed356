// The Go type of every kind that the apiserver reads. Data only.
import { accessTypes } from "./access-types.ts";
import { coreTypes } from "./core-types.ts";
import { eventTypes } from "./event-types.ts";
import { compileStruct, type GoStruct, type StructTables } from "./go-type.ts";
import { nodeTypes } from "./node-types.ts";
import { reviewTypes } from "./review-types.ts";

const sources: [group: string, tables: StructTables, ...kinds: string[]][] = [
  ["", nodeTypes, "Node"],
  ["", eventTypes, "Event"],
  ["", coreTypes, "Namespace", "ServiceAccount", "ConfigMap", "Secret", "Pod"],
  ["coordination.k8s.io", coreTypes, "Lease"],
  ["rbac.authorization.k8s.io", accessTypes, "ClusterRoleBinding", "ClusterRole", "RoleBinding", "Role"],
  [
    "admissionregistration.k8s.io",
    accessTypes,
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
  ],
  [
    "authorization.k8s.io",
    reviewTypes,
    "LocalSubjectAccessReview",
    "SelfSubjectAccessReview",
    "SelfSubjectRulesReview",
    "SubjectAccessReview",
  ],
  ["authentication.k8s.io", reviewTypes, "SelfSubjectReview", "TokenReview", "TokenRequest"],
];

function typesOf([group, tables, ...kinds]: (typeof sources)[number]): [string, GoStruct][] {
  return kinds.map((kind) => [`${group}/${kind}`, compileStruct(`v1.${kind}`, tables)]);
}

const goTypes = new Map<string, GoStruct>([
  ...sources.flatMap(typesOf),
  ["events.k8s.io/Event", compileStruct("events/v1.Event", eventTypes)],
]);

export function findGoType({ group, kind }: { group: string; kind: string }): GoStruct | undefined {
  return goTypes.get(`${group}/${kind}`);
}

/** The Go type of a kind; throws for one that has none, which a row of the resource table must have. */
export function goTypeOf({ group, kind }: { group: string; kind: string }): GoStruct {
  const type = findGoType({ group, kind });
  if (!type) throw new Error(`no Go type for ${group}/${kind}`);
  return type;
}
