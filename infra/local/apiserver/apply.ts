// Server-side apply: the object that applying a configuration makes, with who owns what of it. Mirrors apimachinery's
// managedfields/internal (FieldManager.Apply and what it wraps) and handlers/patch.go's applyPatcher. Stores nothing.
import type { JsonObject } from "../../../shared/kubernetes/json.ts";
import type { Status } from "../../../shared/kubernetes/types.ts";
import { mergeConfiguration, type MergeResult } from "./fields/apply.ts";
import { applyConflict } from "./fields/conflicts.ts";
import { clientSideApplier, remainingConflicts, withLastApplied } from "./fields/last-applied.ts";
import { encodeManagers, type FieldManager, type Owned, readManagers } from "./fields/managers.ts";
import { trackedTypeOf } from "./fields/tracked-type.ts";
import { type FieldWrite, managersAfterUpdate, unwritten } from "./fields/update.ts";
import { configurationError } from "./fields/validate.ts";
import { type ApiObject, fieldsOf, type Outcome, textOf } from "./object.ts";
import type { ResourceType } from "./resource-type.ts";
import * as refuse from "./status.ts";
import { apiVersionOf, decode } from "./write.ts";

export interface Application {
  write: FieldWrite;
  /** Takes fields from others instead of conflicting with them. */
  force: boolean;
}

/** An error that upstream returns as it is, without a reason. */
function failed(message: string): { refused: Status } {
  return {
    refused: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, code: 500 },
  };
}

/** schema.GroupVersionKind.String of what an object says it is. */
function kindText(apiVersion: string, kind: string): string {
  return `${apiVersion.includes("/") ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
}

function objectText(type: ResourceType, metadata: JsonObject): string {
  const place = `${textOf(metadata["namespace"])}/${textOf(metadata["name"])}`;
  return `(${place}; ${kindText(apiVersionOf(type), type.kind)})`;
}

function refuseConfiguration(type: ResourceType, config: JsonObject): Status | undefined {
  const [apiVersion, kind] = [textOf(config["apiVersion"]), textOf(config["kind"])];
  if (apiVersion !== apiVersionOf(type) || kind !== type.kind) {
    return refuse.badRequest(`invalid object type: ${kindText(apiVersion, kind)}`);
  }
  const metadata = fieldsOf(config["metadata"]);
  if (Array.isArray(metadata["managedFields"])) {
    return refuse.badRequest("metadata.managedFields must be nil");
  }
  const error = configurationError(config, trackedTypeOf(type).schema);
  if (error === undefined) return undefined;
  return failed(`failed to create typed patch object ${objectText(type, metadata)}: ${error}`).refused;
}

/** skipNonAppliedManager: what was there before anybody applied belongs to one manager of its own. */
function managersBefore(write: FieldWrite, live: ApiObject): Owned[] {
  const managers = readManagers(live.metadata.managedFields ?? []);
  if (managers.length > 0) return managers;
  const writer: FieldManager = { ...write.writer, manager: "before-first-apply", operation: "Update" };
  return managersAfterUpdate({ ...write, writer }, [], live, unwritten(write.type)) ?? [];
}

/** lastAppliedManager: kubectl may take over what it applied itself, from the client. */
function merge(
  { write, force }: Application,
  managers: Owned[],
  live: ApiObject,
  config: JsonObject,
): MergeResult {
  const result = mergeConfiguration(write, managers, live, config, force);
  if (write.writer.manager !== clientSideApplier || !("conflicts" in result)) return result;
  const conflicts = remainingConflicts(result.conflicts, live, trackedTypeOf(write.type).schema);
  return conflicts.length > 0 ? { conflicts } : mergeConfiguration(write, managers, live, config, true);
}

/** The object that applying `config` over `live` (undefined: it is created) makes. */
export function applyConfiguration(
  application: Application,
  config: JsonObject,
  live: ApiObject | undefined,
): Outcome<ApiObject> {
  const { write } = application;
  const refused = refuseConfiguration(write.type, config);
  if (refused) return { refused };
  const base = live ?? unwritten(write.type);
  const result = merge(application, managersBefore(write, base), base, config);
  if ("conflicts" in result) return { refused: applyConflict(result.conflicts) };
  if ("error" in result) return failed(result.error);
  const { object: merged, managers } = result.merged;
  const decoded = decode(write.type, merged, { isUnstructured: true });
  if ("error" in decoded) {
    const what = objectText(write.type, fieldsOf(merged["metadata"]));
    const why = `unable to convert unstructured object to ${kindText(apiVersionOf(write.type), write.type.kind)}`;
    return failed(`failed to convert new object ${what} to proper version: ${why}: ${decoded.error}`);
  }
  const managedFields = encodeManagers(managers);
  const { managedFields: _, ...metadata } = decoded.object.metadata;
  const object = { ...decoded.object, metadata: { ...metadata, ...(managedFields && { managedFields }) } };
  const isClientSide = write.writer.manager === clientSideApplier;
  return { ok: isClientSide ? withLastApplied(object, config) : object };
}
