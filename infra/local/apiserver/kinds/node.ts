// What the apiserver does to Nodes beyond the generic: defaults, and the not-ready taint.
import { isJsonObject, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { type ApiObject, fieldsOf, listOf, textOf } from "../object.ts";
import { parseCidr } from "./cidr.ts";

/** SetDefaults_NodeStatus: allocatable is the capacity when nobody says otherwise, be it nothing. */
function normaliseStatus(status: JsonObject, sent: JsonObject): JsonObject {
  const { capacity, allocatable, ...rest } = status;
  const isSaid = allocatable !== undefined || isJsonObject(fieldsOf(sent["status"])["allocatable"]);
  return isSaid || capacity === undefined ? status : { capacity, allocatable: capacity, ...rest };
}

/** The conversion to the internal type, which has podCIDRs only, and back. */
function normaliseSpec(spec: JsonObject): JsonObject {
  const { podCIDR, podCIDRs, ...rest } = spec;
  if (podCIDR === undefined && podCIDRs === undefined) return spec;
  const list = podCIDR === undefined || listOf(podCIDRs)[0] === podCIDR ? listOf(podCIDRs) : [podCIDR];
  return { ...(list[0] && { podCIDR: list[0] }), podCIDRs: list, ...rest };
}

/** Defaults; the same object when it needs none. */
export function normaliseNode(node: ApiObject, sent: JsonObject): ApiObject {
  const [spec, status] = [fieldsOf(node["spec"]), fieldsOf(node["status"])];
  const [newSpec, newStatus] = [normaliseSpec(spec), normaliseStatus(status, sent)];
  return newSpec === spec && newStatus === status ? node : { ...node, spec: newSpec, status: newStatus };
}

const notReadyTaint = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

/** spec.configSource and status.config are gone for good (dropDisabledFields). */
function withoutConfig(node: ApiObject): ApiObject {
  const { configSource, ...spec } = fieldsOf(node["spec"]);
  const { config, ...status } = fieldsOf(node["status"]);
  return configSource === undefined && config === undefined ? node : { ...node, spec, status };
}

/** Admission plugin TaintNodesByCondition, and what the strategy drops. */
export function prepareNodeForCreate(sent: ApiObject): ApiObject {
  const node = withoutConfig(sent);
  const spec = fieldsOf(node["spec"]);
  const taints = listOf(spec["taints"]).map(fieldsOf);
  const isTainted = taints.some(
    ({ key, effect }) => key === notReadyTaint.key && effect === notReadyTaint.effect,
  );
  return isTainted ? node : { ...node, spec: withTaints(spec, [...taints, notReadyTaint]) };
}

/** Fields stay in Go's order. */
function withTaints(spec: JsonObject, taints: JsonObject[]): JsonObject {
  const { podCIDR, podCIDRs, providerID, unschedulable, taints: _, ...rest } = spec;
  return {
    ...(podCIDR !== undefined && { podCIDR }),
    ...(podCIDRs !== undefined && { podCIDRs }),
    ...(providerID !== undefined && { providerID }),
    ...(unschedulable !== undefined && { unschedulable }),
    taints,
    ...rest,
  };
}

/** nodeStrategy.PrepareForUpdate and that of the status: no Node can have what withoutConfig takes away. */
export function prepareNodeForUpdate(next: ApiObject): ApiObject {
  return withoutConfig(next);
}

/** nodeWarnings; of CIDRs that are valid, only those of IPv6 can be written in another way than they should. */
export function warnOfNode(node: ApiObject): string[] {
  const spec = fieldsOf(node["spec"]);
  const external = "spec.externalID: this field is deprecated, and is unused by Kubernetes";
  const unusual = listOf(spec["podCIDRs"]).flatMap((value, index) => {
    const text = textOf(value);
    const cidr = parseCidr(text);
    if (cidr?.family !== 6 || cidr.canonical === text) return [];
    const canonical = `RFC 5952 canonical format ("${cidr.canonical}")`;
    return [`spec.podCIDRs[${index}]: IPv6 CIDR value "${text}" should be in ${canonical}`];
  });
  return [...(spec["externalID"] === undefined ? [] : [external]), ...unusual];
}

export function selectableNodeFields(node: ApiObject): Record<string, string> {
  return { "spec.unschedulable": String(fieldsOf(node["spec"])["unschedulable"] === true) };
}
