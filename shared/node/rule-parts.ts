// Gives a Node what the deployment's feature rules result in: labels, annotations, extended resources and taints.
import type { RuleParts } from "../features/rules-result.ts";
import { isRoleLabel } from "../kubernetes/roles.ts";
import type { ResourceList, Taint } from "../kubernetes/types.ts";
import { isRollcallLabel } from "../protocol/drop-ins.ts";
import type { NodeChange } from "../protocol/rules.ts";
import { FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION } from "../setters/fact-labels.ts";
import { FACT_RESOURCES_ANNOTATION } from "../setters/fact-resources.ts";
import { listedLabels } from "../setters/listed-labels.ts";
import { listedIn, replaceListed } from "../setters/listed.ts";
import type { DraftNode, Setter } from "../setters/setter.ts";
import { TOKEN_LABELS_ANNOTATION } from "./own-labels.ts";

/** The annotations that list the parts of rules. A listed part is removed when no rule results in it any more. */
export const RULE_LABELS_ANNOTATION = "rollcall.dev/rule-labels";
export const RULE_ANNOTATIONS_ANNOTATION = "rollcall.dev/rule-annotations";
export const RULE_RESOURCES_ANNOTATION = "rollcall.dev/rule-resources";

type Texts = Readonly<Record<string, string>>;

export const NO_PARTS: RuleParts = { labels: {}, annotations: {}, resources: {}, taints: [] };

/**
 * Returns the setters of labels, annotations and resources. Run them after withinGrant and before the token's labels.
 * `isOthers`: whether another writer has set a resource, which then stays.
 */
export function ruleSetters(
  { labels, annotations, resources }: RuleParts,
  isOthers: (resource: string) => boolean,
): Setter[] {
  return [
    listedLabels({
      annotation: RULE_LABELS_ANNOTATION,
      wanted: labels,
      // The list may have been changed by another writer. A label in another list has another source.
      mayBeRemoved: (key, node) =>
        !isRoleLabel(key) &&
        !isRollcallLabel(key) &&
        ![FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION, TOKEN_LABELS_ANNOTATION].some((list) =>
          listedIn(node, list).includes(key),
        ),
    }),
    ruleAnnotations(annotations),
    ruleResources(resources, isOthers),
  ];
}

function ruleAnnotations(wanted: Texts): Setter {
  const entries = Object.entries(wanted);
  return (node) => {
    const gone = replaceListed(node, RULE_ANNOTATIONS_ANNOTATION, Object.keys(wanted));
    const { annotations = {} } = node.metadata;
    const isSet = entries.every(([key, value]) => annotations[key] === value);
    if (isSet && gone.length === 0) return null;
    const kept = Object.entries(annotations).filter(([key]) => !gone.includes(key) || isRollcallLabel(key));
    node.metadata.annotations = { ...Object.fromEntries(kept), ...wanted };
    return null;
  };
}

/** A resource that no rule results in any more is removed, as by nfd-master. The machine's own announcements stay. */
function ruleResources(asked: Texts, isOthers: (name: string) => boolean): Setter {
  const wanted = Object.fromEntries(Object.entries(asked).filter(([name]) => !isOthers(name)));
  const names = Object.keys(wanted);
  return (node) => {
    const gone = replaceListed(node, RULE_RESOURCES_ANNOTATION, names).filter(
      (name) =>
        name.includes("/") && !isOthers(name) && !listedIn(node, FACT_RESOURCES_ANNOTATION).includes(name),
    );
    if (names.length === 0 && gone.length === 0) return null;
    for (const list of ["capacity", "allocatable"] as const)
      node.status[list] = changed(node, list, wanted, gone);
    return null;
  };
}

function changed(
  { status }: DraftNode,
  list: "capacity" | "allocatable",
  wanted: Texts,
  gone: readonly string[],
): ResourceList {
  const kept = Object.entries(status[list] ?? {}).filter(([name]) => !gone.includes(name));
  return { ...Object.fromEntries(kept), ...wanted };
}

/**
 * Returns the Node's taints after the rules' taints changed from `before` to `wanted`; null if they stay. The taints of
 * other writers stay, also if they have the key and effect of a rule's taint. Another writer who has removed or changed
 * a rule's taint keeps that until the rules' result changes.
 */
export function taintsAfter(
  found: readonly Taint[],
  before: readonly Taint[],
  wanted: readonly Taint[],
): Taint[] | null {
  const isNew = (taint: Taint) => !before.some((each) => isEqual(each, taint));
  const isGone = (taint: Taint) =>
    before.some((each) => isEqual(each, taint)) && !wanted.some((each) => isEqual(each, taint));
  const kept = found.filter((taint) => !isGone(taint));
  const added = wanted.filter(
    (taint) => isNew(taint) && !kept.some(({ key, effect }) => key === taint.key && effect === taint.effect),
  );
  return added.length === 0 && kept.length === found.length ? null : [...kept, ...added];
}

const isEqual = (a: Taint, b: Taint) =>
  a.key === b.key && a.effect === b.effect && (a.value ?? "") === (b.value ?? "");

/** Returns what changes at a Node whose rules had resulted in `before` and now result in `after`. */
export function ruleChanges(before: RuleParts, after: RuleParts): NodeChange[] {
  const taintsOf = ({ taints }: RuleParts) =>
    Object.fromEntries(taints.map(({ key, effect, value = "" }) => [`${key}:${effect}`, value]));
  return [
    ...textChanges("label", before.labels, after.labels),
    ...textChanges("annotation", before.annotations, after.annotations),
    ...textChanges("resource", before.resources, after.resources),
    ...textChanges("taint", taintsOf(before), taintsOf(after)),
  ];
}

function textChanges(kind: string, before: Texts, after: Texts): NodeChange[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const of = (texts: Texts, key: string) => (Object.hasOwn(texts, key) ? (texts[key] ?? null) : null);
  return keys.flatMap((key) => {
    const change = { kind, key, before: of(before, key), after: of(after, key) };
    return change.before === change.after ? [] : [change];
  });
}
