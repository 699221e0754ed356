// What the apiserver does to Nodes beyond the generic: defaults, and the not-ready taint.
import { isJsonObject, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { type ApiObject, fieldsOf, listOf } from "../object.ts";

/** SetDefaults_NodeStatus: allocatable is the capacity unless the client sent it, even empty. */
function normaliseStatus(status: JsonObject, sent: JsonObject): JsonObject {
  const { capacity, allocatable } = status;
  const isSaid = allocatable !== undefined || isJsonObject(fieldsOf(sent["status"])["allocatable"]);
  return isSaid || capacity === undefined ? status : { ...status, allocatable: capacity };
}

/** The conversion to the internal type, which has podCIDRs only, and back. */
function normaliseSpec(spec: JsonObject): JsonObject {
  const { podCIDR, podCIDRs, ...rest } = spec;
  if (podCIDR === undefined && podCIDRs === undefined) return spec;
  const list = podCIDR === undefined || listOf(podCIDRs)[0] === podCIDR ? listOf(podCIDRs) : [podCIDR];
  return { ...rest, ...(list[0] && { podCIDR: list[0] }), podCIDRs: list };
}

/** Defaults; the same object when it needs none. */
export function normaliseNode(node: ApiObject, sent: JsonObject): ApiObject {
  const [spec, status] = [fieldsOf(node["spec"]), fieldsOf(node["status"])];
  const [newSpec, newStatus] = [normaliseSpec(spec), normaliseStatus(status, sent)];
  return newSpec === spec && newStatus === status ? node : { ...node, spec: newSpec, status: newStatus };
}

const notReadyTaint = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

/** Admission plugin TaintNodesByCondition */
export function prepareNodeForCreate(node: ApiObject): ApiObject {
  const spec = fieldsOf(node["spec"]);
  const taints = listOf(spec["taints"]).map(fieldsOf);
  const isTainted = taints.some(
    ({ key, effect }) => key === notReadyTaint.key && effect === notReadyTaint.effect,
  );
  return isTainted ? node : { ...node, spec: { ...spec, taints: [...taints, notReadyTaint] } };
}
