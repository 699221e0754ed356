// What owning fields has to know about a type: which maps and lists are owned as a whole, and what tells the items of the
// others apart. Compiled from the Go types; data and its compilation only.
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

/** Items of a list are told apart by nothing (it is owned as a whole), by their value or by a field of theirs. */
export interface ListFields {
  kind: "list";
  merge: "atomic" | "set" | "key";
  /** The field that identifies an item; "" when there is none. */
  key: string;
  /** What an item without that field has in it; undefined when it has to be there. */
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

/** OpenAPI gives a field that is always there its Go zero value as default. */
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

/** The schema of a Go struct as kube-openapi and its schemaconv make it. */
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

/** The schema of one field or item of a map; undefined when the type has no such field. */
export function fieldOf(schema: MapFields, name: string): FieldSchema | undefined {
  return schema.fields.get(name) ?? schema.item;
}

function scalarText(value: Json): string {
  return escapeHtml(JSON.stringify(value));
}

export function fieldElement(name: string): string {
  return `f:${name}`;
}

/** The element of an item of a list that is not atomic; undefined for one that nothing identifies. */
export function itemElement(list: ListFields, item: Json): string | undefined {
  if (list.merge === "set") return typeof item === "object" ? undefined : `v:${scalarText(item)}`;
  const value = isJsonObject(item) ? (ownValue(item, list.key) ?? list.keyDefault) : undefined;
  return value === undefined ? undefined : `k:{${JSON.stringify(list.key)}:${scalarText(value)}}`;
}
