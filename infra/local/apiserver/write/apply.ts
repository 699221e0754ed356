// Server-side apply: the object that applying a configuration makes, with who owns what of it. Mirrors apimachinery's
// managedfields/internal (FieldManager.Apply and what it wraps) and handlers/patch.go's applyPatcher. Stores nothing.
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import { failure, success } from "../../../../shared/result.ts";
import { encodeManagers, type FieldManager, type Owned, readManagers } from "../fields/managers.ts";
import { type FieldWrite, managersAfterUpdate, unwritten } from "../fields/managers-after-update.ts";
import { mergeConfiguration } from "../fields/merge-configuration.ts";
import { type ApiObject, type Outcome } from "../object.ts";
import { kindFault, strictError } from "./read-object.ts";
import * as refuse from "../status.ts";
import { decode } from "./write.ts";

/** skipNonAppliedManager: what was there before anybody applied belongs to one manager of its own. */
function managersBefore(write: FieldWrite, live: ApiObject): Owned[] {
  const managers = readManagers(live.metadata.managedFields ?? []);
  if (managers.length > 0) return managers;
  const writer: FieldManager = { ...write.writer, manager: "before-first-apply", operation: "Update" };
  return managersAfterUpdate({ ...write, writer }, [], live, unwritten(write.type)) ?? [];
}

/**
 * The object that applying `config` over `live` (undefined: it is created) makes. `force` takes fields from others, with
 * whom it would be in conflict else.
 */
export function applyConfiguration(
  write: FieldWrite,
  config: JsonObject,
  live: ApiObject | undefined,
  force: boolean,
): Outcome<ApiObject> {
  const { type } = write;
  const fault = kindFault(config, type);
  if (fault !== undefined) return failure(refuse.badRequest(fault));
  const fits = decode(type, config);
  if (!fits.ok) return failure(refuse.badRequest(fits.error));
  if (fits.value.unknown.length > 0) return failure(refuse.badRequest(strictError(fits.value.unknown)));
  if (fits.value.object.metadata.managedFields)
    return failure(refuse.badRequest("metadata.managedFields must be nil"));
  const base = live ?? unwritten(type);
  const merged = mergeConfiguration(write, managersBefore(write, base), base, config, force);
  if (!merged.ok) return failure(refuse.applyConflict(merged.error));
  const decoded = decode(type, merged.value.object);
  if (!decoded.ok) return failure(refuse.badRequest(decoded.error));
  const managedFields = encodeManagers(merged.value.managers);
  const { managedFields: _, ...metadata } = decoded.value.object.metadata;
  return success({
    ...decoded.value.object,
    metadata: { ...metadata, ...(managedFields && { managedFields }) },
  });
}
