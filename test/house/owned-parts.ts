// Lists which parts of a Node belong to rollcall, for docs/cluster.md: each part's source, and the reaction if
// another writer removes or changes the part, or if no source sets it any more. test/stories/owned-parts.test.ts
// asserts each row.
import {
  MAINTENANCE_IN_PROGRESS,
  MAINTENANCE_PLANNED,
  SHUTDOWN_IN_PROGRESS,
} from "../../shared/kubernetes/lifecycle-conditions.ts";
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
  RULE_ANNOTATIONS_ANNOTATION,
  RULE_LABELS_ANNOTATION,
  RULE_RESOURCES_ANNOTATION,
} from "../../shared/node/rule-parts.ts";
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

/** The reaction if another writer removes or changes a part, and if its last source is gone. */
interface Fate {
  removed: "the Worker restores it" | "it stays removed" | "the Worker stops writing the Node";
  changed: "the Worker restores it" | "the new value stays" | "the Worker stops writing the Node";
  unset: "the Worker removes it" | "it stays" | "a source always sets it";
}

export interface OwnedPart extends Fate {
  kind: PartKind;
  /** The key or the type, as the documents show it. An … stands for the rest of the key. */
  name: string;
  /** Returns true if the key belongs to this row. */
  is: (key: string) => boolean;
  owner: "kubelet logic" | "machine" | "cloud" | "drop-in" | "token" | "operator" | "rollcall";
  /** The source that sets the part, and the part's value. */
  source: string;
}

const ALWAYS: Fate = {
  removed: "the Worker restores it",
  changed: "the Worker restores it",
  unset: "a source always sets it",
};
const WHILE_SET: Fate = {
  removed: "the Worker restores it",
  changed: "the new value stays",
  unset: "the Worker removes it",
};
const LIST: Fate = {
  removed: "the Worker restores it",
  changed: "the Worker restores it",
  unset: "the Worker removes it",
};
const AT_CREATION: Fate = { removed: "it stays removed", changed: "the new value stays", unset: "it stays" };
const OWNERSHIP: Fate = {
  removed: "the Worker stops writing the Node",
  changed: "the Worker stops writing the Node",
  unset: "a source always sets it",
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
/** The labels of the Nodes without pods, in place of Kubernetes' own labels. */
const BYSTANDERS = ["rollcall.dev/hostname", "rollcall.dev/os", "rollcall.dev/arch"];
const PLACES = ["rollcall.dev/zone", "rollcall.dev/region"];
const KUBELETS_CONDITIONS = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/**
 * Returns a function that makes a row of this kind. A key belongs to the rows that name it, otherwise to the rows
 * for any other key.
 */
const ofKind =
  (kind: PartKind) =>
  (name: string, is: OwnedPart["is"], owner: OwnedPart["owner"], source: string, fate: Fate): OwnedPart => ({
    kind,
    name,
    is,
    owner,
    source,
    ...fate,
  });
const [label, annotation] = [ofKind("label"), ofKind("annotation")];
const [taint, condition] = [ofKind("taint"), ofKind("condition")];
const others = (kind: string) => `any other ${kind}`;
const RULES = "[rules](node-feature-discovery.md#rules)";

export const OWNED_PARTS: readonly OwnedPart[] = [
  label(
    HOST_LABELS.join(", "),
    oneOf(...HOST_LABELS),
    "kubelet logic",
    "the machine's host name and platform, on a Node for pods",
    ALWAYS,
  ),
  label(
    `${QUEUE_LABEL}=${QUEUE_REGION}`,
    oneOf(QUEUE_LABEL),
    "rollcall",
    "rollcall itself, on each Node without pods",
    {
      ...WHILE_SET,
      unset: "a source always sets it",
    },
  ),
  label(
    CLOUD_LABELS.join(", "),
    oneOf(...CLOUD_LABELS),
    "cloud",
    "the cloud's metadata, on a Node for pods",
    WHILE_SET,
  ),
  label(
    BYSTANDERS.join(", "),
    oneOf(...BYSTANDERS),
    "kubelet logic",
    "the machine's host name and platform",
    ALWAYS,
  ),
  label(
    PLACES.join(", "),
    oneOf(...PLACES),
    "cloud",
    "the cloud's metadata, a join token or the machine's configuration",
    LIST,
  ),
  label(
    EXCLUDE_DISRUPTION_LABEL,
    oneOf(EXCLUDE_DISRUPTION_LABEL),
    "rollcall",
    "rollcall itself, on each Node without pods",
    ALWAYS,
  ),
  label("rollcall.dev/cpu-model, …", isInventoryLabel, "machine", "`--inventory-labels`", WHILE_SET),
  label(others("label"), isDropInLabel, "machine", "`--node-labels`", WHILE_SET),
  label(others("label"), isDropInLabel, "drop-in", "`labels` of a drop-in", WHILE_SET),
  label(others("label"), isDropInLabel, "token", "`token create --label`", WHILE_SET),
  label(others("label"), isDropInLabel, "operator", RULES, WHILE_SET),
  label("node-role.kubernetes.io/…", isRoleLabel, "operator", "`NODE_ROLE`", WHILE_SET),
  label("node-role.kubernetes.io/…", isRoleLabel, "token", "`token create --role`", WHILE_SET),
  label(MACHINE_LABEL, oneOf(MACHINE_LABEL), "rollcall", "rollcall itself, on each Node", ALWAYS),
  label(DEPLOYMENT_LABEL, oneOf(DEPLOYMENT_LABEL), "operator", "`DEPLOYMENT`", ALWAYS),
  label(NO_LOAD_BALANCER_LABEL, oneOf(NO_LOAD_BALANCER_LABEL), "rollcall", "rollcall itself, on each Node", {
    ...WHILE_SET,
    unset: "a source always sets it",
  }),
  annotation(OWNER_ANNOTATION, oneOf(OWNER_ANNOTATION), "operator", "`DEPLOYMENT`", OWNERSHIP),
  ...[
    FACT_LABELS_ANNOTATION,
    NODE_LABELS_ANNOTATION,
    FACT_CONDITIONS_ANNOTATION,
    FACT_RESOURCES_ANNOTATION,
    TOKEN_LABELS_ANNOTATION,
    RULE_LABELS_ANNOTATION,
    RULE_ANNOTATIONS_ANNOTATION,
    RULE_RESOURCES_ANNOTATION,
    ROLES_ANNOTATION,
  ].map((key) =>
    annotation(key, oneOf(key), "rollcall", "the parts of the Node that the annotation lists", LIST),
  ),
  annotation(
    ATTACH_DETACH_ANNOTATION,
    oneOf(ATTACH_DETACH_ANNOTATION),
    "kubelet logic",
    "`enableControllerAttachDetach`",
    WHILE_SET,
  ),
  annotation(
    KEEP_TERMINATED_POD_VOLUMES_ANNOTATION,
    oneOf(KEEP_TERMINATED_POD_VOLUMES_ANNOTATION),
    "kubelet logic",
    "`--keep-terminated-pod-volumes`",
    WHILE_SET,
  ),
  annotation(
    PROVIDED_NODE_IP_ANNOTATION,
    oneOf(PROVIDED_NODE_IP_ANNOTATION),
    "kubelet logic",
    "`--node-ip`, with `--cloud-provider external`",
    WHILE_SET,
  ),
  annotation(others("annotation"), isDropInLabel, "operator", RULES, WHILE_SET),
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
    "every token without `--without-facts-only-taint`",
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
  taint(others("taint"), () => true, "operator", RULES, { ...AT_CREATION, unset: "the Worker removes it" }),
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
  condition(
    `${MAINTENANCE_PLANNED}, ${MAINTENANCE_IN_PROGRESS}`,
    oneOf(MAINTENANCE_PLANNED, MAINTENANCE_IN_PROGRESS),
    "operator",
    "`rollcall node maintenance`",
    { ...ALWAYS, unset: "it stays" },
  ),
  condition(
    SHUTDOWN_IN_PROGRESS,
    oneOf(SHUTDOWN_IN_PROGRESS),
    "machine",
    "an orderly shutdown of the machine",
    { ...ALWAYS, unset: "it stays" },
  ),
  condition(DROP_INS_CONDITION, oneOf(DROP_INS_CONDITION), "drop-in", "the state of the drop-ins", LIST),
  condition(others("condition"), () => true, "drop-in", "`conditions` of a drop-in", WHILE_SET),
];

/** Returns the rows of a label, annotation, taint or condition. [] if it never belongs to rollcall. */
export function rowsOf(kind: PartKind, key: string): OwnedPart[] {
  const rows = OWNED_PARTS.filter((part) => part.kind === kind && part.is(key));
  const named = rows.filter(({ name }) => name !== others(kind));
  return named.length > 0 ? named : rows;
}
