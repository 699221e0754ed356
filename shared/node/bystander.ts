// Makes a machine's Node a bystander: a Node that runs no pods, and that no program must count as a Node for pods.
// The kubelet's setters work on a kubelet's labels; the apiserver stores the labels under keys that no scheduler or
// controller reads.
import type { Grant } from "../protocol/join-tokens.ts";
import { PASSED_OVER_ROLE } from "../kubernetes/roles.ts";
import { permanentLabels } from "../setters/listed-labels.ts";
import { type NodeMarks, ownLabels, tokenLabels } from "./own-labels.ts";
import { HOSTNAME_LABEL } from "../kubernetes/labels.ts";
import { fieldOwners, otherOwner } from "../kubernetes/managed-fields.ts";
import type { Node, ResourceList, Taint } from "../kubernetes/types.ts";
import { listedIn } from "../setters/listed.ts";
import type { DraftNode, Setter } from "../setters/setter.ts";
import { isSameTaint } from "./initial-node.ts";
import { LABEL_LISTS } from "./parts.ts";
import type { RuleParts } from "../features/rules-result.ts";
import { NO_PARTS, ruleSetters } from "./rule-parts.ts";
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
 * The kind of labels that a Node has. `kubelet`: a kubelet's, on Nodes for pods and on Nodes of an earlier Worker.
 * `moved`: a bystander's. `both`: for clusters whose selectors still use a kubelet's labels.
 */
export type NodeForm = "kubelet" | "both" | "moved";

type Labels = Readonly<Record<string, string>>;

/** The part of a Node that decides whether it runs pods. */
interface Tainted {
  spec?: { taints?: readonly Pick<Taint, "key" | "effect">[] };
}

/** Returns true if the Node runs no pods: it has FACTS_ONLY_TAINT, or its join token requires the taint. */
export function isBystander({ spec }: Tainted, mayGoWithoutTaint: boolean): boolean {
  return !mayGoWithoutTaint || (spec?.taints?.some((taint) => isSameTaint(taint, FACTS_ONLY_TAINT)) ?? false);
}

/**
 * Returns the form of the Node in the apiserver; null if it has neither kind of labels. A kubelet's label counts
 * only if no other writer has set it. `both` requires two labels: with one alone, the next decision would add all
 * others.
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

/** Replaces a bystander's labels by a kubelet's. This setter runs before all setters that read or write labels. */
export const asKubelets: Setter = (node) => {
  const { labels } = node.metadata;
  if (isMarked(labels)) node.metadata.labels = kubeletsLabels(node, labels);
  return null;
};

/** Returns the Node with a kubelet's labels; the same object if it is no bystander. */
export function kubeletsView(node: Node): Node {
  const { labels } = node.metadata ?? {};
  if (!isMarked(labels)) return node;
  return { ...node, metadata: { ...node.metadata, labels: kubeletsLabels(node, labels) } };
}

const isPlatform = (own: string) => PLATFORM_LABELS.some((each) => each === own);

/** Returns true if the labels are a bystander's. OS_LABEL or QUEUE_LABEL is enough, as a writer may remove one. */
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
      // updateNode may have set the platform's labels already, so an existing value stays.
      if (isPlatform(own)) view[key] ??= value;
      // A zone and a region each have two keys. The machine reported only the keys that a list annotation contains.
      else if (keys.length === 1 || listed.has(key)) view[key] = value;
    }
  }
  return view;
}

/**
 * Returns a setter that makes the Node a bystander with labels of this form. The setter runs after all setters of
 * labels and resources. Each allocatable amount is an explicit 0, because the apiserver replaces a missing amount
 * by the capacity.
 */
export function bystander(
  mayGoWithoutTaint: boolean, // false if the machine's join token requires FACTS_ONLY_TAINT
  form: NodeForm,
  before?: Node, // the Node in the apiserver; undefined if the Node is new
): Setter {
  return (node) => {
    const isPods = !isBystander(node, mayGoWithoutTaint);
    const labels = isPods ? node.metadata.labels : bystandersLabels(node.metadata.labels ?? {}, form);
    // Unchanged labels keep their object, because later steps first compare the two objects by identity.
    const was = before?.metadata?.labels;
    if (labels !== undefined) node.metadata.labels = was && isSameMap(was, labels) ? was : labels;
    if (!isPods) allocateNothing(node, form);
    return null;
  };
}

/** Makes a new bystander unschedulable, for programs that count schedulable Nodes. */
export function cordon(node: DraftNode): void {
  node.spec.unschedulable = true;
  node.metadata.annotations = { ...node.metadata.annotations, [CORDONED_ANNOTATION]: "true" };
}

function bystandersLabels(view: Labels, form: NodeForm): Record<string, string> {
  const labels = { ...view };
  if (form === "kubelet") return labels;
  // A cloud's controller copies QUEUE_REGION to the newer key. That copy is not the machine's region.
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

/** Returns the setters of a deployment's labels and of bystanders, to run after withinGrant, which limits machines. */
export function ownSetters(
  { enrolment, marks }: OwnSources,
  fieldManager: string, // the field manager of this deployment
  form: NodeForm,
  ofRules: RuleParts = NO_PARTS, // typically the result of withinRules
  before?: Node, // the Node in the apiserver; undefined if the Node is new
): Setter[] {
  const mayGoWithoutTaint = enrolment.withoutFactsOnlyTaint;
  const roles = enrolment.roles ?? marks.roles;
  const rolesOf = (node: Node) =>
    marks.isPassedOver && isBystander(node, mayGoWithoutTaint) ? [...roles, PASSED_OVER_ROLE] : roles;
  const isOthers = (resource: string) =>
    otherOwner(before?.metadata, ["f:status", "f:capacity", `f:${resource}`], fieldManager) !== null;
  return [
    ...ruleSetters(ofRules, isOthers),
    tokenLabels(enrolment.labels ?? {}),
    permanentLabels({ [NO_LOAD_BALANCER_LABEL]: "true" }),
    (node) => ownLabels(marks.deployment, rolesOf(node), fieldManager)(node),
    bystander(mayGoWithoutTaint, form, before),
  ];
}
