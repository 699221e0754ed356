// The Go type of every kind that the apiserver reads. Data only.
import { accessTypes } from "./access-types.ts";
import { coreTypes } from "./core-types.ts";
import { eventTypes } from "./event-types.ts";
import { compileStruct, type GoStruct, type StructTables } from "./go-type.ts";
import { nodeTypes } from "./node-types.ts";

const sources: [tables: StructTables, ...kinds: string[]][] = [
  [nodeTypes, "Node"],
  [eventTypes, "Event"],
  [coreTypes, "Namespace", "ServiceAccount", "Secret", "Pod", "Lease"],
  [accessTypes, "ClusterRoleBinding", "ClusterRole", "RoleBinding", "Role"],
  [accessTypes, "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "SubjectAccessReview"],
];

const goTypes = new Map<string, GoStruct>(
  sources.flatMap(([tables, ...kinds]) =>
    kinds.map((kind): [string, GoStruct] => [kind, compileStruct(`v1.${kind}`, tables)]),
  ),
);

/** The Go type of a kind; throws for one that has none, which a row of the resource table must have. */
export function goTypeOf({ kind }: { kind: string }): GoStruct {
  const type = goTypes.get(kind);
  if (!type) throw new Error(`no Go type for ${kind}`);
  return type;
}
