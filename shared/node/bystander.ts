// The setters that run after a machine's own: rollcall's labels, and those of a bystander. A bystander is a Node that runs
// no pods, and that no program must count as one for pods. The kubelet's setters see a kubelet's labels; the apiserver
// has them under keys that no scheduler or controller reads.
import type { Grant } from "../protocol/join-tokens.ts";
import { PASSED_OVER_ROLE } from "../kubernetes/roles.ts";
import { permanentLabels } from "../setters/listed-labels.ts";
import { type NodeMarks, ownLabels, tokenLabels } from "./own-labels.ts";
import { HOSTNAME_LABEL } from "../kubernetes/labels.ts";
import { fieldOwners } from "../kubernetes/managed-fields.ts";
import type { Node, ResourceList } from "../kubernetes/types.ts";
import { listedIn } from "../setters/listed.ts";
import type { DraftNode, Setter } from "../setters/setter.ts";
import { isSameTaint } from "./initial-node.ts";
import { LABEL_LISTS } from "./parts.ts";
import {
  CORDONED_ANNOTATION,
  EXCLUDE_DISRUPTION_LABEL,
  FACTS_ONLY_TAINT,
  isKubelet,
  MOVED_LABELS,
  NO_LOAD_BALANCER_LABEL,
  OS_LABEL,
  PLATFORM_LABELS,
  QUEUE_LABEL,
  QUEUE_REGION,
} from "./ownership.ts";
import { isSameMap } from "./update-node.ts";

const [REGION_LABEL] = MOVED_LABELS["rollcall.dev/region"];

/**
 * Which labels a Node has. `kubelet`: a kubelet's, on Nodes for pods and on Nodes of an earlier Worker. `moved`: a
 * bystander's. `both`: for clusters whose selectors still use the kubelet's.
 */
export type NodeForm = "kubelet" | "both" | "moved";

type Labels = Readonly<Record<string, string>>;

/** Returns true if the Node runs no pods: it has the taint, or its join token does not let it go without. */
export function isBystander({ spec }: Pick<Node, "spec">, mayGoWithoutTaint: boolean): boolean {
  return !mayGoWithoutTaint || (spec?.taints?.some((taint) => isSameTaint(taint, FACTS_ONLY_TAINT)) ?? false);
}

/**
 * Returns the form of the Node in the apiserver; null if it has the labels of none. A kubelet's label that another writer
 * has set does not count. One label alone does not count either: a decision that waits for its turn would add the others.
 */
export function formOf(node: Node, fieldManager: string): NodeForm | null {
  const labels = node.metadata?.labels ?? {};
  const [os] = MOVED_LABELS[OS_LABEL];
  if (!isMarked(labels)) return labels[os] === undefined ? null : "kubelet";
  const isOurs = (key: string) =>
    labels[key] !== undefined &&
    fieldOwners(node.metadata, ["f:metadata", "f:labels", `f:${key}`]).every(
      (owner) => owner === fieldManager || isKubelet(owner),
    );
  return [HOSTNAME_LABEL, os].every(isOurs) ? "both" : "moved";
}

/** Setter: gives a bystander a kubelet's labels. Runs before all setters that read or write labels. */
export const asKubelets: Setter = (node) => {
  const { labels } = node.metadata;
  if (isMarked(labels)) node.metadata.labels = kubeletsLabels(node, labels);
  return null;
};

/** Returns the same Node with a kubelet's labels. */
export function kubeletsView(node: Node): Node {
  const { labels } = node.metadata ?? {};
  if (!isMarked(labels)) return node;
  return { ...node, metadata: { ...node.metadata, labels: kubeletsLabels(node, labels) } };
}

const isPlatform = (own: string) => PLATFORM_LABELS.some((each) => each === own);

/** A bystander has one of the two labels even if another writer has removed the other. */
function isMarked(labels: Labels | undefined): labels is Labels {
  return labels?.[OS_LABEL] !== undefined || labels?.[QUEUE_LABEL] === QUEUE_REGION;
}

function kubeletsLabels(node: Node, labels: Labels): Record<string, string> {
  const view = { ...labels };
  delete view[EXCLUDE_DISRUPTION_LABEL];
  if (view[QUEUE_LABEL] === QUEUE_REGION) delete view[QUEUE_LABEL];
  const listed = new Set(LABEL_LISTS.flatMap((list) => listedIn(node, list)));
  for (const [own, keys] of Object.entries(MOVED_LABELS)) {
    const value = view[own];
    if (value === undefined) continue;
    delete view[own];
    for (const key of keys) {
      // updateNode has already set the labels of the platform.
      if (isPlatform(own)) view[key] ??= value;
      // A zone and a region have two keys each; the lists name those that were reported.
      else if (keys.length === 1 || listed.has(key)) view[key] = value;
    }
  }
  return view;
}

/**
 * Setter: makes the Node a bystander, in this form. Runs after all setters of labels and resources. The apiserver would
 * make a missing allocatable amount equal to the capacity, so each is an explicit 0.
 */
export function bystander(
  mayGoWithoutTaint: boolean, // the machine's join token
  form: NodeForm,
  before?: Node, // as the apiserver has it; undefined: the Node is new
): Setter {
  return (node) => {
    const isPods = !isBystander(node, mayGoWithoutTaint);
    const labels = isPods ? node.metadata.labels : bystandersLabels(node.metadata.labels ?? {}, form);
    // Later steps compare the two objects by identity first.
    const was = before?.metadata?.labels;
    if (labels !== undefined) node.metadata.labels = was && isSameMap(was, labels) ? was : labels;
    if (!isPods) allocateNothing(node, form);
    return null;
  };
}

/** Makes a new bystander unschedulable, for programs that count schedulable Nodes. The node controller adds the taint. */
export function cordon(node: DraftNode): void {
  node.spec.unschedulable = true;
  node.metadata.annotations = { ...node.metadata.annotations, [CORDONED_ANNOTATION]: "true" };
}

function bystandersLabels(view: Labels, form: NodeForm): Record<string, string> {
  const labels = { ...view };
  if (form === "kubelet") return labels;
  // A cloud's controller copies QUEUE_REGION to the newer key. It is no machine's region.
  const isCopied = (key: string) => key === REGION_LABEL && view[key] === QUEUE_REGION;
  for (const [own, keys] of Object.entries(MOVED_LABELS)) {
    const key = keys.find((each) => view[each] !== undefined && !isCopied(each));
    if (key !== undefined) labels[own] = view[key] ?? "";
    if (form === "moved") for (const each of keys) delete labels[each];
  }
  labels[EXCLUDE_DISRUPTION_LABEL] = "";
  labels[QUEUE_LABEL] ??= QUEUE_REGION;
  return labels;
}

function allocateNothing({ status }: DraftNode, form: NodeForm): void {
  const { allocatable, capacity } = status;
  if (form === "kubelet") {
    if (allocatable?.["pods"] !== undefined) status.allocatable = { ...allocatable, pods: "0" };
    return;
  }
  const nothing: ResourceList = {};
  for (const name of Object.keys({ ...capacity, ...allocatable })) nothing[name] = "0";
  if (allocatable ?? capacity) status.allocatable = nothing;
}

interface OwnSources {
  enrolment: Grant;
  marks: NodeMarks;
}

/** Call them after withinGrant, whose limits hold for machines alone. */
export function ownSetters(
  { enrolment, marks }: OwnSources,
  fieldManager: string, // of this deployment
  form: NodeForm,
  before?: Node, // as the apiserver has it; undefined: the Node is new
): Setter[] {
  const mayGoWithoutTaint = enrolment.withoutFactsOnlyTaint;
  const roles = enrolment.roles ?? marks.roles;
  const rolesOf = (node: Node) =>
    marks.isPassedOver && isBystander(node, mayGoWithoutTaint) ? [...roles, PASSED_OVER_ROLE] : roles;
  return [
    tokenLabels(enrolment.labels ?? {}),
    permanentLabels({ [NO_LOAD_BALANCER_LABEL]: "true" }),
    (node) => ownLabels(marks.deployment, rolesOf(node), fieldManager)(node),
    bystander(mayGoWithoutTaint, form, before),
  ];
}
