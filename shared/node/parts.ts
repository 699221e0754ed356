// Decides which value a label or annotation gets if rollcall and another writer want different values:
//
//   part                                       another writer has set it            another writer has removed it
//   ALWAYS_OURS                                restored                             restored
//   a kubelet's label, gone from a bystander   removed again if a kubelet set it,   as wanted
//                                              left otherwise
//   every other label or annotation            left until that writer removes it    restored
//
// PUT_BACK_LIMITS limits how often a part is "restored" or "removed again". If the apiserver records no field managers,
// no other writer is recognized.
import { ownValue } from "../kubernetes/json.ts";
import { HOSTNAME_LABEL } from "../kubernetes/labels.ts";
import { fieldOwners } from "../kubernetes/managed-fields.ts";
import { isRoleLabel } from "../kubernetes/roles.ts";
import type { Node } from "../kubernetes/types.ts";
import { isRollcallLabel } from "../protocol/drop-ins.ts";
import { FACT_CONDITIONS_ANNOTATION } from "../setters/fact-conditions.ts";
import { FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION } from "../setters/fact-labels.ts";
import { FACT_RESOURCES_ANNOTATION } from "../setters/fact-resources.ts";
import { listedIn, unlist } from "../setters/listed.ts";
import { PROVIDED_NODE_IP_ANNOTATION } from "../setters/provided-node-ip.ts";
import type { DraftNode } from "../setters/setter.ts";
import {
  ATTACH_DETACH_ANNOTATION,
  CLOUD_LABELS,
  KEEP_TERMINATED_POD_VOLUMES_ANNOTATION,
} from "./initial-node.ts";
import { ROLES_ANNOTATION, TOKEN_LABELS_ANNOTATION } from "./own-labels.ts";
import {
  RULE_ANNOTATIONS_ANNOTATION,
  RULE_LABELS_ANNOTATION,
  RULE_RESOURCES_ANNOTATION,
} from "./rule-parts.ts";
import {
  DEPLOYMENT_LABEL,
  EXCLUDE_DISRUPTION_LABEL,
  isKubelet,
  MACHINE_LABEL,
  MOVED_LABELS,
  movedTo,
  NO_LOAD_BALANCER_LABEL,
  OWNER_ANNOTATION,
  PLATFORM_LABELS,
  QUEUE_LABEL,
  QUEUE_REGION,
} from "./ownership.ts";

const KEYED_PARTS = { label: "labels", annotation: "annotations" } as const;
type KeyedPart = keyof typeof KEYED_PARTS;

/** The annotations that list the keys of rollcall's labels. */
export const LABEL_LISTS = [
  FACT_LABELS_ANNOTATION,
  NODE_LABELS_ANNOTATION,
  TOKEN_LABELS_ANNOTATION,
  RULE_LABELS_ANNOTATION,
];
/** The annotations that list the keys of rollcall's labels and annotations. */
const LISTS: Readonly<Record<KeyedPart, readonly string[]>> = {
  label: LABEL_LISTS,
  annotation: [RULE_ANNOTATIONS_ANNOTATION],
};

/** The keys of labels and annotations that always belong to rollcall. docs/cluster.md lists them. */
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
    RULE_ANNOTATIONS_ANNOTATION,
    RULE_RESOURCES_ANNOTATION,
    ...LABEL_LISTS,
  ]),
};

/** Further keys that rollcall sets, and whose values other writers may keep. */
const CONTESTED_KEYS: Readonly<Record<KeyedPart, readonly string[]>> = {
  label: [...CLOUD_LABELS, NO_LOAD_BALANCER_LABEL],
  annotation: [ATTACH_DETACH_ANNOTATION, KEEP_TERMINATED_POD_VOLUMES_ANNOTATION, PROVIDED_NODE_IP_ANNOTATION],
};

/**
 * Returns the Node's labels or annotations whose keys rollcall sets, by their names or by LISTS. A list lacks a key whose
 * value another writer keeps.
 */
export function ownParts(node: Node, part: KeyedPart): [key: string, value: string][] {
  const listed = LISTS[part].flatMap((list) => listedIn(node, list));
  const keys = new Set([...ALWAYS_OURS[part], ...CONTESTED_KEYS[part], ...listed]);
  const isOwn = (key: string) => keys.has(key) || isRollcallLabel(key) || isRoleLabel(key);
  return Object.entries(node.metadata?.[KEYED_PARTS[part]] ?? {}).filter(([key]) => isOwn(key));
}

/** The field manager whose value is kept, by part: `label example.com/rack`. */
export type OthersParts = Record<string, string>;

/** Restores in `node` the parts that other writers may keep. Returns these parts with their field managers. */
export function leaveOthers(
  original: Node, // the Node in the apiserver
  node: DraftNode,
  fieldManager: string, // the field manager of this deployment
): OthersParts {
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
    // The keys are removed from the lists, because the lists contain only what rollcall sets.
    for (const list of LISTS[part]) unlist(node, list, [...keys.keys()]);
  }
  return left;
}

/** Returns the keys whose values other writers keep, with their field managers. */
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
    const wanted = ownValue(is, key);
    if (was[key] === wanted) continue;
    const winners = othersWhoWin(part, key, wanted);
    if (winners === "none") continue;
    const owners = fieldOwners(original.metadata, ["f:metadata", `f:${field}`, `f:${key}`]);
    const other = owners.find((owner) => owner !== fieldManager && (winners === "all" || !isKubelet(owner)));
    if (other !== undefined) found.set(key, other);
  }
  return found;
}

/** Returns which other writers may keep the value that they have set. */
function othersWhoWin(
  part: KeyedPart,
  key: string,
  wanted: string | undefined,
): "none" | "all" | "all but kubelets" {
  // A bystander has no value under a kubelet's key, except QUEUE_REGION under QUEUE_LABEL.
  const isRemoved = wanted === undefined || (key === QUEUE_LABEL && wanted === QUEUE_REGION);
  if (part === "label" && isRemoved && movedTo(key) !== undefined) return "all but kubelets";
  return ALWAYS_OURS[part].has(key) ? "none" : "all";
}

/** The limits of repeated writes: an admission webhook may undo a part every time. */
const PUT_BACK_LIMITS = {
  /** The number of times that a part is restored without delay, within `withinMs`. */
  atOnce: 2,
  /** Milliseconds after which a part that stays unchanged is forgotten. */
  withinMs: 600_000,
  /** Milliseconds between later attempts to restore the part, while another writer still undoes it. */
  everyMs: 3_600_000,
} as const;

/** The last write of one part. Times are in milliseconds since 1970. */
interface Written {
  /** The written value; null if the part was removed. */
  value: string | null;
  atMs: number;
  /** The times at which the part was last restored, at most PUT_BACK_LIMITS.atOnce. */
  putBackMs: readonly number[];
  /** true if the apiserver's answer to the last write already had another value. */
  isUndoneByAnswer?: true;
  /** The writer that undoes the part, in words. Present once the part is restored only hourly. */
  by?: string;
}

/** The last write of each part, by part: `label example.com/rack`. */
export type WrittenParts = Readonly<Record<string, Written>>;

interface WantedPart {
  part: string;
  kind: KeyedPart;
  key: string;
  /** The wanted value; null if the part is to be removed. */
  value: string | null;
  /** true if an earlier write had already set this value. */
  isPutBack: boolean;
}

export interface HeldBack {
  /** The earlier writes that still count. The caller keeps them. */
  written: WrittenParts;
  /** The parts of the patch. The caller passes them to `afterWrite` once the patch has succeeded. */
  wanted: readonly WantedPart[];
}

interface SeenNode {
  /** The Node in the apiserver. */
  original: Node;
  /** The Node that was last known before `original` was read. */
  lastKnown: Node;
  /** This deployment's field manager. */
  fieldManager: string;
  nowMs: number;
}

/** Removes from `node` the parts that must not be restored yet. Returns earlier writes and the patch's parts. */
export function holdBack(node: DraftNode, before: WrittenParts, seen: SeenNode): HeldBack {
  const written: Record<string, Written> = {};
  const wanted: WantedPart[] = [];
  const all = changes(node, seen, before);
  if (all.length === 0 && Object.keys(before).length === 0) return { written: before, wanted };
  for (const [part, known] of Object.entries(before))
    if (isUnchanged(part, known, node, seen)) written[part] = known;
  for (const change of all) {
    const known = before[change.part];
    const isSame = known?.value === change.value;
    if (!isSame || !change.isPutBack) {
      wanted.push(change);
      continue;
    }
    written[change.part] = known;
    if (known.by === undefined && !isThirdTime(known, seen.nowMs)) wanted.push(change);
    else if (known.by !== undefined && isDue(known, seen.nowMs)) wanted.push(change);
    else {
      written[change.part] = { ...known, by: known.by ?? undoneBy(change, known, seen) };
      leaveAsItIs(node, change, seen.original);
    }
  }
  return { written, wanted };
}

/** Returns the writes to remember after `wanted` was written. `answer` is the Node that the apiserver returned. */
export function afterWrite(
  before: WrittenParts,
  wanted: readonly WantedPart[],
  answer: Node,
  nowMs: number,
): WrittenParts {
  if (wanted.length === 0) return before;
  const written: Record<string, Written> = { ...before };
  for (const { part, kind, key, value, isPutBack } of wanted) {
    const known = before[part];
    const { atOnce } = PUT_BACK_LIMITS;
    const isUndone = valueOf(answer, kind, key) !== value;
    written[part] = {
      value,
      atMs: nowMs,
      putBackMs: isPutBack ? [...(known?.putBackMs ?? []), nowMs].slice(-atOnce) : [],
      ...(isUndone && { isUndoneByAnswer: true }),
      ...(isPutBack && known?.by !== undefined && { by: known.by }),
    };
  }
  return written;
}

/** Returns the parts that another writer has undone, which the node object stores to outlive an eviction. */
export function putBackParts(written: WrittenParts): WrittenParts {
  return Object.fromEntries(
    Object.entries(written).filter(
      ([, { putBackMs, isUndoneByAnswer }]) => putBackMs.length > 0 || isUndoneByAnswer,
    ),
  );
}

/** Returns the parts that are restored only hourly, for people: `label example.com/rack (undone by kubelet)`. */
export function hourlyParts(written: WrittenParts): string[] {
  return Object.entries(written).flatMap(([part, { by, value }]) =>
    by === undefined ? [] : `${value === null ? "no " : ""}${part} (${by})`,
  );
}

/** Returns the parts whose decided value differs from the value in the apiserver. */
function changes(node: DraftNode, { original, lastKnown }: SeenNode, before: WrittenParts): WantedPart[] {
  return (["label", "annotation"] as const).flatMap((kind) => {
    const field = KEYED_PARTS[kind];
    const [was, is] = [original.metadata?.[field], node.metadata[field]];
    if (was === is) return [];
    const listed = new Set(LISTS[kind].flatMap((list) => listedIn(original, list)));
    // A kubelet's label is removed whenever it appears: a bystander never has one. Other labels are removed once.
    const gone = Object.keys(was ?? {}).filter(
      (key) => is?.[key] === undefined && movedTo(key) !== undefined,
    );
    const wanted: [string, string | null][] = Object.entries(is ?? {});
    if (kind === "label") for (const key of gone) wanted.push([key, null]);
    return wanted.flatMap(([key, value]) => {
      if (was?.[key] === value) return [];
      const part = `${kind} ${key}`;
      const isKnown = before[part]?.value === value || valueOf(lastKnown, kind, key) === value;
      const isMissing = value !== null && valueOf(original, kind, key) === null;
      const isPutBack = isKnown || (isMissing && listed.has(key));
      return { part, kind, key, value, isPutBack };
    });
  });
}

/** Returns true if the part still has the written value, and the write is recent enough to count. */
function isUnchanged(part: string, known: Written, node: DraftNode, { original, nowMs }: SeenNode): boolean {
  const kind = part.startsWith("label ") ? "label" : "annotation";
  const key = part.slice(kind.length + 1);
  const isThere = [node, original].every((each) => valueOf(each, kind, key) === known.value);
  return isThere && isWithin(known.atMs, nowMs, PUT_BACK_LIMITS.withinMs);
}

function isThirdTime({ putBackMs }: Written, nowMs: number): boolean {
  const [first, ...more] = putBackMs;
  const { atOnce, withinMs } = PUT_BACK_LIMITS;
  return first !== undefined && more.length === atOnce - 1 && isWithin(first, nowMs, withinMs);
}

function isDue({ atMs }: Written, nowMs: number): boolean {
  return !isWithin(atMs, nowMs, PUT_BACK_LIMITS.everyMs - 1);
}

/** Returns true if `withinMs` has not passed since `sinceMs`; false if the clock was set back, to limit the wait. */
function isWithin(sinceMs: number, nowMs: number, withinMs: number): boolean {
  return nowMs >= sinceMs && nowMs - sinceMs <= withinMs;
}

/** Names the writer that undid a part, in words. The apiserver keeps no writer of a removed key. */
function undoneBy(
  { kind, key, value }: WantedPart,
  known: Written,
  { original, fieldManager }: SeenNode,
): string {
  const owners = fieldOwners(original.metadata, ["f:metadata", `f:${KEYED_PARTS[kind]}`, `f:${key}`]);
  const others = owners.filter((owner) => owner !== fieldManager);
  if (others.length > 0) return `undone by ${others.join(", ")}`;
  if (known.isUndoneByAnswer) return "undone on its way into the cluster, as admission webhooks do";
  const managers = (original.metadata?.managedFields ?? []).flatMap(({ manager = "" }) => manager);
  const writers = [...new Set(managers)].filter((manager) => manager !== "" && manager !== fieldManager);
  const hint = writers.length > 0 ? `; besides rollcall, ${writers.join(", ")} write this Node` : "";
  return value === null
    ? `set by a writer whose name the apiserver does not keep${hint}`
    : `removed by a writer whose name the apiserver does not keep${hint}`;
}

function leaveAsItIs(node: DraftNode, { kind, key }: WantedPart, original: Node): void {
  const field = KEYED_PARTS[kind];
  const { [key]: _, ...others } = node.metadata[field] ?? {};
  const was = valueOf(original, kind, key);
  node.metadata[field] = was === null ? others : { ...others, [key]: was };
}

/** Returns the part's value; null if the Node lacks the part. */
function valueOf(node: Node, kind: KeyedPart, key: string): string | null {
  return ownValue(node.metadata?.[KEYED_PARTS[kind]] ?? {}, key) ?? null;
}
