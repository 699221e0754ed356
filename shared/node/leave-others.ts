// Takes back what setters have changed of labels and annotations that somebody else has set: a value that another field
// manager wrote stays, until that one removes it. An apiserver that does not say who owns a field knows of nobody else.
import { fieldOwners } from "../kubernetes/managed-fields.ts";
import type { Node } from "../kubernetes/types.ts";
import { FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION } from "../setters/fact-labels.ts";
import { unlist } from "../setters/listed.ts";
import type { DraftNode } from "../setters/setter.ts";
import { HOSTNAME_LABEL } from "../kubernetes/labels.ts";
import { FACT_CONDITIONS_ANNOTATION } from "../setters/fact-conditions.ts";
import { FACT_RESOURCES_ANNOTATION } from "../setters/fact-resources.ts";
import { ROLES_ANNOTATION } from "./own-labels.ts";
import {
  DEPLOYMENT_LABEL,
  EXCLUDE_DISRUPTION_LABEL,
  isKubelet,
  MACHINE_LABEL,
  MOVED_LABELS,
  movedTo,
  OWNER_ANNOTATION,
  PLATFORM_LABELS,
  QUEUE_LABEL,
  QUEUE_REGION,
} from "./ownership.ts";
import { TOKEN_LABELS_ANNOTATION } from "./token-labels.ts";

/** Parts of a Node that can have one value each. */
export const KEYED_PARTS = { label: "labels", annotation: "annotations" } as const;
export type KeyedPart = keyof typeof KEYED_PARTS;

/** The annotations that list by their keys which labels are ours. */
export const LABEL_LISTS = [FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION, TOKEN_LABELS_ANNOTATION];

/** Which of them another writer's value does not stay in, as docs/cluster.md lists them. */
const ALWAYS_OURS: Readonly<Record<KeyedPart, ReadonlySet<string>>> = {
  label: new Set([
    MACHINE_LABEL,
    DEPLOYMENT_LABEL,
    EXCLUDE_DISRUPTION_LABEL,
    ...Object.keys(MOVED_LABELS),
    HOSTNAME_LABEL,
    ...PLATFORM_LABELS.flatMap((own) => MOVED_LABELS[own]),
  ]),
  annotation: new Set([
    OWNER_ANNOTATION,
    ROLES_ANNOTATION,
    FACT_CONDITIONS_ANNOTATION,
    FACT_RESOURCES_ANNOTATION,
    ...LABEL_LISTS,
  ]),
};

/** By part, `label example.com/rack`: the field manager whose value it has. */
export type OthersParts = Record<string, string>;

/** `original`: as the apiserver has it; `fieldManager`: this deployment's. Returns what stays as others have set it. */
export function leaveOthers(original: Node, node: DraftNode, fieldManager: string): OthersParts {
  const left: OthersParts = {};
  for (const part of ["label", "annotation"] as const) {
    const keys = othersKeys(original, node, part, fieldManager);
    if (keys.size === 0) continue;
    const field = KEYED_PARTS[part];
    const was: Record<string, string> = original.metadata?.[field] ?? {};
    const values: Record<string, string> = { ...node.metadata[field] };
    for (const [key, manager] of keys) {
      values[key] = was[key] ?? "";
      left[`${part} ${key}`] = manager;
    }
    node.metadata[field] = values;
    // A list names what is rollcall's.
    if (part === "label") for (const list of LABEL_LISTS) unlist(node, list, [...keys.keys()]);
  }
  return left;
}

/** The keys that are changed although they are somebody else's, and whose. */
function othersKeys(
  original: Node,
  node: DraftNode,
  part: KeyedPart,
  fieldManager: string,
): Map<string, string> {
  const field = KEYED_PARTS[part];
  const [was = {}, is = {}] = [original.metadata?.[field], node.metadata[field]];
  const found = new Map<string, string>();
  if (was === is) return found;
  for (const key of Object.keys(was)) {
    if (was[key] === is[key]) continue;
    // A bystander goes without it, unless another writer wants it there. A kubelet that wrote it is gone.
    const isAway = part === "label" && movedTo(key) !== undefined && isBystanders(key, is[key]);
    if (!isAway && ALWAYS_OURS[part].has(key)) continue;
    const owners = fieldOwners(original.metadata, ["f:metadata", `f:${field}`, `f:${key}`]);
    const other = owners.find((owner) => owner !== fieldManager && !(isAway && isKubelet(owner)));
    if (other !== undefined) found.set(key, other);
  }
  return found;
}

/** Has a bystander this under a kubelet's key: nothing, or the region that is its queue? */
function isBystanders(key: string, value: string | undefined): boolean {
  return value === undefined || (key === QUEUE_LABEL && value === QUEUE_REGION);
}
