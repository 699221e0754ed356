// Defines what create.ts, update.ts, delete.ts and patch.ts share: surroundings, keys, and decoding of objects.
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import type { ObjectMeta } from "../../../../shared/kubernetes/types.ts";
import { type Result, success } from "../../../../shared/result.ts";
import type { FieldManager } from "../fields/managers.ts";
import { decodeObject } from "../kinds/decode.ts";
import { goTypeOf } from "../kinds/go-types.ts";
import { type ApiObject, asJson, fieldsOf } from "../object.ts";
import { apiVersionOf, type ResourceType } from "../resource-type.ts";
import { qualifiedResource } from "../status.ts";
import type { ObjectKey, Store } from "../store.ts";
import type { After } from "../timer.ts";

/** The storage, clock, randomness and timers that the apiserver runs with. */
export interface Surroundings {
  store: Store;
  /** Returns the present time. Typically `wallClock`. */
  now: () => Date;
  /** Returns a random UUID. Typically `crypto.randomUUID`. */
  uuid: () => string;
  /** Returns a random number from 0 up to 1. Typically `Math.random`. */
  random: () => number;
  /** Calls a function after a delay. Typically `afterTimeout`. */
  after: After;
}

/** The target and the writer of one write to one object. */
export interface Write {
  type: ResourceType;
  namespace: string;
  name: string;
  subresource: string;
  writer: FieldManager;
  dryRun: boolean;
}

export interface Written {
  object: ApiObject;
  created: boolean;
}

/** Returns the key that the object would have in etcd, for the texts of conflicts. */
export function storageKey({ resource, namespace, name }: ObjectKey): string {
  const [plural = ""] = resource.split(".");
  const folder = plural === "nodes" ? "minions" : plural;
  return ["/registry", folder, ...(namespace === "" ? [] : [namespace]), name].join("/");
}

export function keyOf(type: ResourceType, namespace: string, name: string): ObjectKey {
  return { resource: qualifiedResource(type), namespace: type.namespaced ? namespace : "", name };
}

/** Returns RFC 3339 with whole seconds, like metav1.Time. */
export function timeOf(now: Date): string {
  return `${now.toISOString().slice(0, 19)}Z`;
}

export interface DecodedBody {
  object: ApiObject;
  /** The paths of fields that the kind does not have. */
  unknown: string[];
}

function formOf(type: ResourceType, body: JsonObject): Result<DecodedBody> {
  const decoded = decodeObject(body, goTypeOf(type));
  if (!decoded.ok) return decoded;
  const { kind: _, apiVersion: __, ...rest } = decoded.value.object;
  const metadata: ObjectMeta = fieldsOf(rest["metadata"]);
  const object = { kind: type.kind, apiVersion: apiVersionOf(type), ...rest, metadata };
  return success({ object, unknown: decoded.value.unknown });
}

/** Returns the object with its fields in Go's order. Throws if the object is not of the type. */
export function inFieldOrder(type: ResourceType, object: ApiObject): ApiObject {
  const ordered = formOf(type, asJson(object));
  if (!ordered.ok) throw new Error(`an object that was read cannot be read again: ${ordered.error}`);
  return ordered.value.object;
}

/**
 * Decodes a body, or the result of a patch, into the Go type of its kind, and sets defaults. The result has the
 * type's kind and apiVersion. Returns an error text if a field does not fit.
 */
export function decode(type: ResourceType, body: JsonObject): Result<DecodedBody> {
  const decoded = formOf(type, body);
  if (!decoded.ok) return decoded;
  const { object, unknown } = decoded.value;
  const defaulted = type.normalise?.(object, body) ?? object;
  return defaulted === object ? decoded : success({ object: inFieldOrder(type, defaulted), unknown });
}
