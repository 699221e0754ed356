// The Go type of every kind that the apiserver reads. Data only.
import { accessTypes } from "./access-types.ts";
import { coreTypes } from "./core-types.ts";
import { eventsGroup } from "./event-versions.ts";
import { eventTypes, eventsV1Types } from "./event-types.ts";
import { compileStruct, type GoStruct, type StructTables } from "./go-type.ts";
import { nodeTypes } from "./node-types.ts";

/** A kind that two groups have is given with its group for the one that is not core. */
const sources: [tables: StructTables, ...kinds: string[]][] = [
  [nodeTypes, "Node"],
  [eventTypes, "Event"],
  [eventsV1Types, `Event.${eventsGroup}`],
  [coreTypes, "Namespace", "ServiceAccount", "Secret", "ConfigMap", "Service", "Pod", "Lease"],
  [accessTypes, "ClusterRoleBinding", "ClusterRole", "RoleBinding", "Role"],
  [accessTypes, "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "SubjectAccessReview"],
];

const goTypes = new Map<string, GoStruct>(
  sources.flatMap(([tables, ...kinds]) =>
    kinds.map((kind): [string, GoStruct] => [kind, compileStruct(`v1.${kind.split(".")[0]}`, tables)]),
  ),
);

/** The Go type of a kind; throws for one that has none, which a row of the resource table must have. */
export function goTypeOf({ group, kind }: { group: string; kind: string }): GoStruct {
  const type = goTypes.get(`${kind}.${group}`) ?? goTypes.get(kind);
  if (!type) throw new Error(`no Go type for ${kind}`);
  return type;
}
