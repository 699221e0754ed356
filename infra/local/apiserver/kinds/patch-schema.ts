// Compiles from each kind's Go type how a strategic merge patch treats its fields.
import { nodeSchema } from "../../../../shared/kubernetes/patch/node-schema.ts";
import { eventSchema, leaseSchema } from "../../../../shared/kubernetes/patch/object-schemas.ts";
import * as schema from "../../../../shared/kubernetes/patch/schema.ts";
import { listKeys } from "../fields/schema.ts";
import type { ResourceType } from "../resource-type.ts";
import { resourceTypes } from "../resources.ts";
import { qualifiedResource } from "../status.ts";
import type { GoStruct, GoType } from "./go-type.ts";
import { goTypeOf } from "./go-types.ts";

/** The schemas of the kinds that the Worker patches. */
const shared: Readonly<Record<string, schema.StructSchema>> = {
  nodes: nodeSchema,
  events: eventSchema,
  "leases.coordination.k8s.io": leaseSchema,
};

const schemas = new Map(
  resourceTypes.map((type) => [type, shared[qualifiedResource(type)] ?? compileStruct(goTypeOf(type))]),
);

export function patchSchemaOf(type: ResourceType): schema.StructSchema {
  return schemas.get(type) ?? compileStruct(goTypeOf(type));
}

function compileStruct({ shortName, fields }: GoStruct): schema.StructSchema {
  const schemas = fields.map(({ name, type }) => [name, compile(type, `${shortName}.${name}`)]);
  return schema.struct(shortName, Object.fromEntries(schemas));
}

/** Makes the patch schema of a type. `place` is the struct and field that hold the value. */
function compile(type: GoType, place: string): schema.PatchSchema {
  switch (type.kind) {
    case "struct":
      return compileStruct(type);
    case "slice": {
      // Except for validationActions, the patch keys (`patchMergeKey`) equal server-side apply's keys (`listMapKey`).
      const key = place.endsWith(".validationActions") ? undefined : listKeys.get(place);
      if (key === undefined) return schema.atomicList;
      return type.item.kind === "struct" ? schema.keyedList(key, compileStruct(type.item)) : schema.setList;
    }
    case "map":
      return schema.map;
    default:
      return { kind: "scalar", absent: "never" };
  }
}
