// The table of what of a Node is rollcall's, for docs/cluster.md: which source reports it, and what happens to it if another
// writer removes or changes it, or if it is no longer reported. test/stories/owned-parts.test.ts asserts each row.
import { DROP_INS_CONDITION, isDropInLabel } from "../../shared/protocol/drop-ins.ts";
import { isInventoryLabel } from "../../shared/protocol/inventory.ts";
import { isRoleLabel } from "../../shared/kubernetes/roles.ts";
import { FACT_CONDITIONS_ANNOTATION } from "../../shared/setters/fact-conditions.ts";
import { FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION } from "../../shared/setters/fact-labels.ts";
import { FACT_RESOURCES_ANNOTATION } from "../../shared/setters/fact-resources.ts";
import { PROVIDED_NODE_IP_ANNOTATION } from "../../shared/setters/provided-node-ip.ts";
import {
  ATTACH_DETACH_ANNOTATION,
  CLOUD_LABELS,
  EXTERNAL_CLOUD_TAINT,
  KEEP_TERMINATED_POD_VOLUMES_ANNOTATION,
  UNSCHEDULABLE_TAINT,
} from "../../shared/node/initial-node.ts";
import { ROLES_ANNOTATION, TOKEN_LABELS_ANNOTATION } from "../../shared/node/own-labels.ts";
import {
  CORDONED_ANNOTATION,
  DEPLOYMENT_LABEL,
  EXCLUDE_DISRUPTION_LABEL,
  FACTS_ONLY_TAINT,
  MACHINE_LABEL,
  NO_LOAD_BALANCER_LABEL,
  OWNER_ANNOTATION,
  QUEUE_LABEL,
  QUEUE_REGION,
} from "../../shared/node/ownership.ts";

export type PartKind = "label" | "annotation" | "taint" | "condition";

/** What becomes of a part that somebody else removes, that somebody else changes, and that is no longer said. */
interface Fate {
  removed: "put back" | "stays away" | "the Node is written no more";
  changed: "put back" | "stays theirs" | "the Node is written no more";
  unsaid: "goes" | "stays" | "always said";
}

export interface OwnedPart extends Fate {
  kind: PartKind;
  /** As the documents show it: a key or a type, with … for the rest of it. */
  name: string;
  /** Is it this one? */
  is: (key: string) => boolean;
  owner: "kubelet logic" | "machine" | "cloud" | "drop-in" | "token" | "operator" | "rollcall";
  /** By which something says that it is there, and what its value is. */
  saidBy: string;
}

const ALWAYS: Fate = { removed: "put back", changed: "put back", unsaid: "always said" };
const WHILE_SAID: Fate = { removed: "put back", changed: "stays theirs", unsaid: "goes" };
const LIST: Fate = { removed: "put back", changed: "put back", unsaid: "goes" };
const AT_CREATION: Fate = { removed: "stays away", changed: "stays theirs", unsaid: "stays" };
const OWNERSHIP: Fate = {
  removed: "the Node is written no more",
  changed: "the Node is written no more",
  unsaid: "always said",
};

const oneOf =
  (...keys: readonly string[]) =>
  (key: string) =>
    keys.includes(key);
const HOST_LABELS = [
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
];
/** A bystander's labels for the same. */
const BYSTANDERS = ["rollcall.dev/hostname", "rollcall.dev/os", "rollcall.dev/arch"];
const PLACES = ["rollcall.dev/zone", "rollcall.dev/region"];
const KUBELETS_CONDITIONS = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** A key is of the first row that it fits among those with a name of their own, else of any that takes every key. */
const ofKind =
  (kind: PartKind) =>
  (name: string, is: OwnedPart["is"], owner: OwnedPart["owner"], saidBy: string, fate: Fate): OwnedPart => ({
    kind,
    name,
    is,
    owner,
    saidBy,
    ...fate,
  });
const [label, annotation] = [ofKind("label"), ofKind("annotation")];
const [taint, condition] = [ofKind("taint"), ofKind("condition")];
const others = (kind: string) => `any other ${kind}`;

export const OWNED_PARTS: readonly OwnedPart[] = [
  label(
    HOST_LABELS.join(", "),
    oneOf(...HOST_LABELS),
    "kubelet logic",
    "host name and platform, on a Node for pods",
    ALWAYS,
  ),
  label(`${QUEUE_LABEL}=${QUEUE_REGION}`, oneOf(QUEUE_LABEL), "rollcall", "each Node that runs no pods", {
    ...WHILE_SAID,
    unsaid: "always said",
  }),
  label(
    CLOUD_LABELS.join(", "),
    oneOf(...CLOUD_LABELS),
    "cloud",
    "the cloud's metadata, on a Node for pods",
    WHILE_SAID,
  ),
  label(BYSTANDERS.join(", "), oneOf(...BYSTANDERS), "kubelet logic", "host name and platform", ALWAYS),
  label(PLACES.join(", "), oneOf(...PLACES), "cloud", "the cloud's metadata, a token, the machine", LIST),
  label(
    EXCLUDE_DISRUPTION_LABEL,
    oneOf(EXCLUDE_DISRUPTION_LABEL),
    "rollcall",
    "each Node that runs no pods",
    ALWAYS,
  ),
  label("rollcall.dev/cpu-model, …", isInventoryLabel, "machine", "`--inventory-labels`", WHILE_SAID),
  label(others("label"), isDropInLabel, "machine", "`--node-labels`", WHILE_SAID),
  label(others("label"), isDropInLabel, "drop-in", "`labels` of a drop-in", WHILE_SAID),
  label(others("label"), isDropInLabel, "token", "`token create --label`", WHILE_SAID),
  label("node-role.kubernetes.io/…", isRoleLabel, "operator", "`NODE_ROLE`", WHILE_SAID),
  label("node-role.kubernetes.io/…", isRoleLabel, "token", "`token create --role`", WHILE_SAID),
  label(MACHINE_LABEL, oneOf(MACHINE_LABEL), "rollcall", "each Node has it", ALWAYS),
  label(DEPLOYMENT_LABEL, oneOf(DEPLOYMENT_LABEL), "operator", "`DEPLOYMENT`", ALWAYS),
  label(NO_LOAD_BALANCER_LABEL, oneOf(NO_LOAD_BALANCER_LABEL), "rollcall", "each Node has it", {
    ...WHILE_SAID,
    unsaid: "always said",
  }),
  annotation(OWNER_ANNOTATION, oneOf(OWNER_ANNOTATION), "operator", "`DEPLOYMENT`", OWNERSHIP),
  ...[
    FACT_LABELS_ANNOTATION,
    NODE_LABELS_ANNOTATION,
    FACT_CONDITIONS_ANNOTATION,
    FACT_RESOURCES_ANNOTATION,
    TOKEN_LABELS_ANNOTATION,
    ROLES_ANNOTATION,
  ].map((key) => annotation(key, oneOf(key), "rollcall", "what of the Node is listed there", LIST)),
  annotation(
    ATTACH_DETACH_ANNOTATION,
    oneOf(ATTACH_DETACH_ANNOTATION),
    "kubelet logic",
    "`enableControllerAttachDetach`",
    WHILE_SAID,
  ),
  annotation(
    KEEP_TERMINATED_POD_VOLUMES_ANNOTATION,
    oneOf(KEEP_TERMINATED_POD_VOLUMES_ANNOTATION),
    "kubelet logic",
    "`--keep-terminated-pod-volumes`",
    WHILE_SAID,
  ),
  annotation(
    PROVIDED_NODE_IP_ANNOTATION,
    oneOf(PROVIDED_NODE_IP_ANNOTATION),
    "kubelet logic",
    "`--node-ip`, with `--cloud-provider external`",
    WHILE_SAID,
  ),
  annotation(
    CORDONED_ANNOTATION,
    oneOf(CORDONED_ANNOTATION),
    "operator",
    "`NODE_UNSCHEDULABLE`",
    AT_CREATION,
  ),
  taint(
    FACTS_ONLY_TAINT.key,
    oneOf(FACTS_ONLY_TAINT.key),
    "rollcall",
    "the token does not allow to go without",
    AT_CREATION,
  ),
  taint(
    EXTERNAL_CLOUD_TAINT.key,
    oneOf(EXTERNAL_CLOUD_TAINT.key),
    "cloud",
    "`--cloud-provider external`",
    AT_CREATION,
  ),
  taint(
    UNSCHEDULABLE_TAINT.key,
    oneOf(UNSCHEDULABLE_TAINT.key),
    "machine",
    "`--register-schedulable=false`",
    AT_CREATION,
  ),
  taint(others("taint"), () => true, "machine", "`registerWithTaints`", AT_CREATION),
  taint(others("taint"), () => true, "token", "`token create --taint`", AT_CREATION),
  condition(
    KUBELETS_CONDITIONS.join(", "),
    oneOf(...KUBELETS_CONDITIONS),
    "kubelet logic",
    "the report",
    ALWAYS,
  ),
  condition(
    "NetworkUnavailable",
    oneOf("NetworkUnavailable"),
    "machine",
    "`--network-unavailable`",
    AT_CREATION,
  ),
  condition(DROP_INS_CONDITION, oneOf(DROP_INS_CONDITION), "drop-in", "how the drop-ins do", LIST),
  condition(others("condition"), () => true, "drop-in", "`conditions` of a drop-in", WHILE_SAID),
];

/** The rows that a label, annotation, taint or condition may be of; none: it is never rollcall's. */
export function rowsOf(kind: PartKind, key: string): OwnedPart[] {
  const rows = OWNED_PARTS.filter((part) => part.kind === kind && part.is(key));
  const named = rows.filter(({ name }) => name !== others(kind));
  return named.length > 0 ? named : rows;
}
