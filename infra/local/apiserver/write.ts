// What every write is made of: its surroundings, where its object is, and the object's own form. Stores nothing: see
// create.ts, update.ts and delete.ts.
import type { Json, JsonObject } from "../../../shared/kubernetes/json.ts";
import type { ObjectMeta } from "../../../shared/kubernetes/types.ts";
import type { FieldManager } from "./fields/managers.ts";
import { decodeObject, type DecodeOptions } from "./kinds/decode.ts";
import { goTypeOf } from "./kinds/go-types.ts";
import { type ApiObject, asJson, fieldsOf } from "./object.ts";
import type { ResourceType } from "./resource-type.ts";
import { storedResource } from "./storage.ts";
import type { ObjectKey, Store } from "./store.ts";
import type { After } from "./timer.ts";

/** What writes need from the world. */
export interface Surroundings {
  store: Store;
  /** Typically `() => new Date()`. */
  now: () => Date;
  /** Typically `crypto.randomUUID`. */
  uuid: () => string;
  /** Typically `Math.random`. */
  random: () => number;
  /** Typically `afterTimeout`. */
  after: After;
}

/** One write of one object through one path. */
export interface Write {
  type: ResourceType;
  namespace: string;
  name: string;
  subresource: string;
  writer: FieldManager;
  dryRun: boolean;
  /** Tells the client something besides the answer (a Warning header). */
  warn?: (text: string) => void;
}

export interface Written {
  object: ApiObject;
  created: boolean;
}

/** The key under which etcd would have the object; conflicts name it. */
export function storageKey({ resource, namespace, name }: ObjectKey): string {
  const [plural = ""] = resource.split(".");
  const folder = plural === "nodes" ? "minions" : plural;
  return ["/registry", folder, ...(namespace === "" ? [] : [namespace]), name].join("/");
}

export function keyOf(type: ResourceType, namespace: string, name: string): ObjectKey {
  return { resource: storedResource(type), namespace: type.namespaced ? namespace : "", name };
}

/** metav1.Time: RFC 3339 with seconds. */
export function timeOf(now: Date): string {
  return `${now.toISOString().slice(0, 19)}Z`;
}

export function apiVersionOf({ group, version }: Pick<ResourceType, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}

export type DecodedBody = { object: ApiObject; strict: string[] } | { error: string };

function isEmptyList(value: Json | undefined): boolean {
  return Array.isArray(value) && value.length === 0;
}

/**
 * The Go type's form of a body; its kind and apiVersion are the type's, whatever it says. Until it is stored Go tells
 * an empty list from none, which matters for managedFields (it resets them) and for who owns a role's rules.
 */
function inForm(type: ResourceType, fields: JsonObject, body: JsonObject): ApiObject {
  const { kind: _, apiVersion: __, ...rest } = fields;
  const decoded: ObjectMeta = fieldsOf(rest["metadata"]);
  const resets = isEmptyList(fieldsOf(body["metadata"])["managedFields"]);
  const metadata = resets ? { ...decoded, managedFields: [] } : decoded;
  const rules = rest["rules"] === null && isEmptyList(body["rules"]) && { rules: [] };
  return { kind: type.kind, apiVersion: apiVersionOf(type), ...rest, metadata, ...rules };
}

/** A body or a patch's result in the kind's own form with its defaults, or why it does not fit. */
export function decode(type: ResourceType, body: JsonObject, options?: DecodeOptions): DecodedBody {
  const decoded = decodeObject(body, goTypeOf(type), options);
  if ("error" in decoded) return decoded;
  const object = inForm(type, decoded.object, body);
  const defaulted = type.normalise?.(object, body) ?? object;
  if (defaulted === object) return { object, strict: decoded.strict };
  // Once more, since defaults come in any order.
  const ordered = decodeObject(asJson(defaulted), goTypeOf(type));
  return "error" in ordered
    ? ordered
    : { object: inForm(type, ordered.object, body), strict: decoded.strict };
}
