// What tracking the fields of each served type needs: their schema, an object that was never written, and which fields
// a path does not write. Data only.
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import { decodeObject } from "../kinds/decode.ts";
import { goTypeOf } from "../kinds/go-types.ts";
import { apiVersionOf, type ResourceType } from "../resource-type.ts";
import { resourceTypes } from "../resources.ts";
import { compileFieldSchema, type MapFields } from "./schema.ts";
import { emptySet, type FieldSet, fieldSet } from "./set.ts";

export interface TrackedType {
  schema: MapFields;
  /** The Go type's zero value on the wire: without defaults. */
  zero: JsonObject;
}

function trackedType(type: ResourceType): TrackedType {
  const goType = goTypeOf(type);
  const decoded = decodeObject({}, goType);
  const zero = { kind: type.kind, apiVersion: apiVersionOf(type), ...(decoded.ok && decoded.value.object) };
  return { schema: compileFieldSchema(goType), zero };
}

const trackedTypes = new Map(resourceTypes.map((type) => [type, trackedType(type)]));

export function trackedTypeOf(type: ResourceType): TrackedType {
  return trackedTypes.get(type) ?? trackedType(type);
}

const status = fieldSet(["status"]);
const spec = fieldSet(["spec"]);

/** Strategies' GetResetFields: what a write through the path does not reach. */
export function resetFields(type: ResourceType, subresource: string): FieldSet {
  if (!type.subresources?.some(({ name }) => name === "status")) return emptySet;
  return subresource === "status" ? spec : status;
}
