// Compiles a Go type's parts for field ownership: maps and lists owned as a whole, and keys of items in other lists.
import { isJsonObject, type Json, ownValue } from "../../../../shared/kubernetes/json.ts";
import { escapeHtml } from "../answers/answer.ts";
import type { GoStruct, GoType } from "../kinds/go-type.ts";

export type FieldSchema = ScalarFields | MapFields | ListFields;

interface ScalarFields {
  kind: "scalar";
}

/** The schema of a struct, which has named fields, or of a map, which has items of one type. */
export interface MapFields {
  kind: "map";
  /** true if the struct or map is owned as a whole. */
  atomic: boolean;
  fields: Map<string, FieldSchema>;
  item: FieldSchema | undefined;
}

/** A list's schema. `atomic` is owned as a whole; items are known by their value (`set`) or a field (`key`). */
export interface ListFields {
  kind: "list";
  merge: "atomic" | "set" | "key";
  /** The name of the field that identifies an item, or "" for a list without such a field. */
  key: string;
  /** The default of the key field. undefined if the field is required. */
  keyDefault: string | undefined;
  item: FieldSchema;
}

/** The Go types marked `+structType=atomic` (x-kubernetes-map-type: atomic). */
const atomicStructs = new Set(
  (
    "LabelSelector LocalObjectReference MatchResources NamedRuleWithOperations ObjectReference OwnerReference " +
    "ParamKind ParamRef RoleRef Subject Variable"
  ).split(" "),
);

/** The lists marked `+listType=set` (value "") or `+listType=map` (value: `+listMapKey`). Others are atomic. */
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

/** Returns the default of a key field. In OpenAPI, a field without omitempty has its Go zero value as default. */
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

/** Makes the schema of a type. `place` is the struct and field that hold the value, like "NodeSpec.podCIDRs". */
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

/** Makes the schema of a Go struct. Mirrors kube-openapi and its schemaconv. */
export function compileFieldSchema(type: GoStruct): MapFields {
  const fields = type.fields.map((field): [string, FieldSchema] => [
    field.name,
    compile(field.type, `${type.shortName}.${field.name}`),
  ]);
  return { kind: "map", atomic: atomicStructs.has(type.shortName), fields: new Map(fields), item: undefined };
}

/** Returns true if a value is owned as a whole, so that its fields and items have no owners of their own. */
export function isLeaf(schema: FieldSchema): boolean {
  if (schema.kind === "list") return schema.merge === "atomic";
  return schema.kind === "scalar" || schema.atomic;
}

/** Returns the schema of a struct's field or a map's item, or undefined if the type has no such field. */
export function fieldOf(schema: MapFields, name: string): FieldSchema | undefined {
  return schema.fields.get(name) ?? schema.item;
}

function scalarText(value: Json): string {
  return escapeHtml(JSON.stringify(value));
}

export function fieldElement(name: string): string {
  return `f:${name}`;
}

/** Returns the path element of an item in a list that is not atomic, or undefined if the item has no key. */
export function itemElement(list: ListFields, item: Json): string | undefined {
  if (list.merge === "set") return typeof item === "object" ? undefined : `v:${scalarText(item)}`;
  const value = isJsonObject(item) ? (ownValue(item, list.key) ?? list.keyDefault) : undefined;
  return value === undefined ? undefined : `k:{${JSON.stringify(list.key)}:${scalarText(value)}}`;
}
