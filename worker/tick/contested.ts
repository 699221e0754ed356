// Which writes of a status may touch what somebody else has set meanwhile: those go to the Node that was decided about, or
// conflict, so that the next try reads what is there and leaves it. The kubelet's own conditions are nobody else's.
import { isJsonObject, type Json, type JsonObject } from "../../shared/kubernetes/json.ts";

const OWN_CONDITIONS = new Set<unknown>(["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]);

/** `patch`: of a Node's status. */
export function isContestable({ metadata, status, spec }: JsonObject): boolean {
  const { labels, annotations } = objectOf(metadata);
  const { capacity, allocatable, addresses, conditions } = objectOf(status);
  if (labels ?? annotations ?? spec ?? capacity ?? allocatable ?? addresses) return true;
  return (
    Array.isArray(conditions) &&
    conditions.some((condition) => !OWN_CONDITIONS.has(objectOf(condition)["type"]))
  );
}

/** The patch with a precondition: the Node's version. Without one, as a kubelet's. */
export function ofVersion(patch: JsonObject, resourceVersion: string | undefined): JsonObject {
  if (resourceVersion === undefined) return patch;
  return { ...patch, metadata: { ...objectOf(patch["metadata"]), resourceVersion } };
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
