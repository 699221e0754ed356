// What field ownership needs of a type: the maps and lists that are owned as a whole, and the keys of the items of other
// lists. Compiled from the Go types.
import { isJsonObject, type Json, ownValue } from "../../../../shared/kubernetes/json.ts";
import { escapeHtml } from "../answers/answer.ts";
import type { GoStruct, GoType } from "../kinds/go-type.ts";

export type FieldSchema = ScalarFields | MapFields | ListFields;

interface ScalarFields {
  kind: "scalar";
}

/** A struct has named fields, a map has items of one kind. */
export interface MapFields {
  kind: "map";
  /** Owned as a whole. */
  atomic: boolean;
  fields: Map<string, FieldSchema>;
  item: FieldSchema | undefined;
}

/** An "atomic" list is owned as a whole. Items are identified by their value ("set"), or by one of their fields ("key"). */
export interface ListFields {
  kind: "list";
  merge: "atomic" | "set" | "key";
  /** The field that identifies an item; "" without one. */
  key: string;
  /** The default of that field; undefined if it is required. */
  keyDefault: string | undefined;
  item: FieldSchema;
}

/** Go types marked `+structType=atomic` (x-kubernetes-map-type: atomic). */
const atomicStructs = new Set([
  "LabelSelector",
  "LocalObjectReference",
  "MatchResources",
  "NamedRuleWithOperations",
  "ObjectReference",
  "OwnerReference",
  "ParamKind",
  "ParamRef",
  "RoleRef",
  "Subject",
  "Variable",
]);

/** Lists marked `+listType=set` ("") or `+listType=map` (their `+listMapKey`); all others are atomic. */
export const listKeys = new Map([
  ["NamespaceStatus.conditions", "type"],
  ["NodeSpec.podCIDRs", ""],
  ["NodeStatus.addresses", "type"],
  ["NodeStatus.conditions", "type"],
  ["ObjectMeta.finalizers", ""],
  ["ObjectMeta.ownerReferences", "uid"],
  ["ServiceAccount.secrets", "name"],
  ["ValidatingAdmissionPolicyBindingSpec.validationActions", ""],
  ["ValidatingAdmissionPolicySpec.matchConditions", "name"],
  ["ValidatingAdmissionPolicySpec.variables", "name"],
]);

/** In OpenAPI the default of a field without omitempty is its Go zero value. */
function keyDefault(item: GoType, key: string): string | undefined {
  const field = item.kind === "struct" ? item.fields.find(({ name }) => name === key) : undefined;
  return field && !field.omitEmpty ? "" : undefined;
}

function compileList(item: GoType, place: string): ListFields {
  const key = listKeys.get(place);
  const list = { kind: "list", item: compile(item, "") } as const;
  if (key === undefined) return { ...list, merge: "atomic", key: "", keyDefault: undefined };
  if (key === "") return { ...list, merge: "set", key, keyDefault: undefined };
  return { ...list, merge: "key", key, keyDefault: keyDefault(item, key) };
}

/** `place` is the struct and field that hold the value. */
function compile(type: GoType, place: string): FieldSchema {
  switch (type.kind) {
    case "struct":
      return compileFieldSchema(type);
    case "slice":
      return compileList(type.item, place);
    case "map":
      return { kind: "map", atomic: false, fields: new Map(), item: compile(type.item, "") };
    case "raw":
      return { kind: "map", atomic: false, fields: new Map(), item: undefined };
    default:
      return { kind: "scalar" };
  }
}

/** Makes the schema of a Go struct, as kube-openapi and its schemaconv do. */
export function compileFieldSchema(type: GoStruct): MapFields {
  const fields = type.fields.map((field): [string, FieldSchema] => [
    field.name,
    compile(field.type, `${type.shortName}.${field.name}`),
  ]);
  return { kind: "map", atomic: atomicStructs.has(type.shortName), fields: new Map(fields), item: undefined };
}

/** Returns true if a value's fields and items are owned only together with it. */
export function isLeaf(schema: FieldSchema): boolean {
  if (schema.kind === "list") return schema.merge === "atomic";
  return schema.kind === "scalar" || schema.atomic;
}

/** Returns the schema of a field or of a map's item; undefined if the type has no such field. */
export function fieldOf(schema: MapFields, name: string): FieldSchema | undefined {
  return schema.fields.get(name) ?? schema.item;
}

function scalarText(value: Json): string {
  return escapeHtml(JSON.stringify(value));
}

export function fieldElement(name: string): string {
  return `f:${name}`;
}

/** Returns the element of an item in a list that is not atomic; undefined if the item has no key. */
export function itemElement(list: ListFields, item: Json): string | undefined {
  if (list.merge === "set") return typeof item === "object" ? undefined : `v:${scalarText(item)}`;
  const value = isJsonObject(item) ? (ownValue(item, list.key) ?? list.keyDefault) : undefined;
  return value === undefined ? undefined : `k:{${JSON.stringify(list.key)}:${scalarText(value)}}`;
}
