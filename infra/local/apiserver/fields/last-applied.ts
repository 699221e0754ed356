// The annotation of kubectl's client-side apply, and how applying on the server takes over from it. Mirrors apimachinery's
// managedfields/internal (lastapplied*.go).
import { isJsonObject, type Json, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { escapeHtml } from "../answer.ts";
import { type ApiObject, asJson, fieldsOf } from "../object.ts";
import { compareObjects } from "./compare.ts";
import type { Conflict } from "./conflicts.ts";
import { fieldsOfObject } from "./of-object.ts";
import type { MapFields } from "./schema.ts";
import { difference, emptySet, type FieldSet, isMember, self } from "./set.ts";
import { configurationError } from "./validate.ts";

/** Only the field manager of this name takes over. */
export const clientSideApplier = "kubectl";

const annotation = "kubectl.kubernetes.io/last-applied-configuration";
/** TotalAnnotationSizeLimitB */
const maxAnnotationBytes = 256 * 1024;

function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** allowedConflictsFromLastApplied: what was applied from the client and has not been changed by anybody since. */
function appliedFields(live: ApiObject, schema: MapFields): FieldSet {
  const applied = parse(live.metadata.annotations?.[annotation] ?? "");
  if (!isJsonObject(applied) || applied["apiVersion"] !== live.apiVersion) return emptySet;
  if (configurationError(applied, schema) !== undefined) return emptySet;
  const compared = compareObjects(applied, asJson(live), schema);
  if ("error" in compared) return emptySet;
  return difference(difference(fieldsOfObject(applied, schema), compared.changed), compared.removed);
}

function has(fields: FieldSet, path: readonly string[]): boolean {
  let node: FieldSet | undefined = fields;
  for (const element of path) node = element === self ? undefined : node?.[element];
  return isMember(node);
}

/** The conflicts that remain when those over fields of the last client-side apply are none. */
export function remainingConflicts(
  conflicts: readonly Conflict[],
  live: ApiObject,
  schema: MapFields,
): Conflict[] {
  const applied = appliedFields(live, schema);
  return conflicts.filter(({ path }) => !has(applied, path));
}

function withSortedKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, withSortedKeys(item ?? null)]));
}

/** The configuration as the annotation has it: without itself, keys in order. */
function annotationOf(config: JsonObject): string {
  const { annotations, ...metadata } = fieldsOf(config["metadata"]);
  const { [annotation]: _, ...others } = fieldsOf(annotations);
  const kept = isJsonObject(annotations) ? { ...metadata, annotations: others } : metadata;
  return `${escapeHtml(JSON.stringify(withSortedKeys({ ...config, metadata: kept })))}\n`;
}

/** lastAppliedUpdater: an object that carries the annotation gets the configuration that was applied now. */
export function withLastApplied(object: ApiObject, config: JsonObject): ApiObject {
  const { annotations = {} } = object.metadata;
  if (!annotations[annotation]) return object;
  const updated: Record<string, string> = { ...annotations, [annotation]: annotationOf(config) };
  const bytes = Object.entries(updated).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  if (bytes > maxAnnotationBytes) delete updated[annotation];
  return { ...object, metadata: { ...object.metadata, annotations: updated } };
}
