// Takes back what setters have changed of labels and annotations that somebody else has set: a value that another field
// manager wrote stays, until that one removes it. An apiserver that does not say who owns a field knows of nobody else.
import { HOSTNAME_LABEL } from "../kubernetes/labels.ts";
import { fieldOwners } from "../kubernetes/managed-fields.ts";
import type { Node } from "../kubernetes/types.ts";
import { FACT_CONDITIONS_ANNOTATION } from "../setters/fact-conditions.ts";
import { FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION } from "../setters/fact-labels.ts";
import { FACT_RESOURCES_ANNOTATION } from "../setters/fact-resources.ts";
import { listedIn, unlist } from "../setters/listed.ts";
import type { DraftNode } from "../setters/setter.ts";
import { ROLES_ANNOTATION, TOKEN_LABELS_ANNOTATION } from "./own-labels.ts";
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

/** Parts of a Node that can have one value each. */
const KEYED_PARTS = { label: "labels", annotation: "annotations" } as const;
type KeyedPart = keyof typeof KEYED_PARTS;

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

// Labels and annotations of ours that somebody undoes again and again: put back twice at once, from the third time within
// ten minutes on once an hour. Nobody wins against an admission webhook, and a fleet must not try with every report. The
// same holds for a kubelet's labels, which a bystander goes without, and which another writer sets again.

const PUT_BACK_LIMITS = {
  /** So often it is put back at once, */
  atOnce: 2,
  /** within this time. A part that stands for so long is forgotten here. */
  withinMs: 600_000,
  /** Then it is put back so often, as long as somebody undoes it. */
  everyMs: 3_600_000,
} as const;

/** What was written of one part, and how often that was to put it back. Times are in milliseconds since 1970. */
interface Written {
  /** null: the part was removed. */
  value: string | null;
  atMs: number;
  /** The last times when it was put back, `atOnce` of them at most. */
  putBackMs: readonly number[];
  /** The apiserver's answer to the last write had it undone already. */
  isUndoneByAnswer?: true;
  /** Present once it is put back hourly: who undoes it, in words. */
  by?: string;
}

/** By part: `label example.com/rack`. */
export type WrittenParts = Readonly<Record<string, Written>>;

/** A part that a decision wants written. */
interface WantedPart {
  part: string;
  kind: KeyedPart;
  key: string;
  /** null: the part is to be removed. */
  value: string | null;
  /** It was as it is wanted before. */
  isPutBack: boolean;
}

export interface HeldBack {
  /** What is known of earlier writes, as far as it still counts: to be kept. */
  written: WrittenParts;
  /** What goes into the patch: for `afterWrite`, once that has succeeded. */
  wanted: readonly WantedPart[];
}

interface SeenNode {
  /** As the apiserver has it. */
  original: Node;
  /** The Node as it was known before `original` was read; the same where somebody has sent that along. */
  lastKnown: Node;
  /** Under which this deployment writes. */
  fieldManager: string;
  nowMs: number;
}

/** Takes out of `node` what is not to be put back yet. With nothing to keep and nothing to write it costs nothing. */
export function holdBack(node: DraftNode, before: WrittenParts, seen: SeenNode): HeldBack {
  const written: Record<string, Written> = {};
  const wanted: WantedPart[] = [];
  const all = changes(node, seen, before);
  if (all.length === 0 && Object.keys(before).length === 0) return { written: before, wanted };
  for (const [part, known] of Object.entries(before))
    if (isStanding(part, known, node, seen)) written[part] = known;
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

/** What is known once `wanted` is written. `answer`: the Node as the apiserver has it after that. */
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

/** What has to outlive an eviction: the parts that somebody has undone. */
export function putBackParts(written: WrittenParts): WrittenParts {
  return Object.fromEntries(
    Object.entries(written).filter(
      ([, { putBackMs, isUndoneByAnswer }]) => putBackMs.length > 0 || isUndoneByAnswer,
    ),
  );
}

/** For people: `label example.com/rack (undone by kubelet)`; empty: nothing is put back hourly only. */
export function hourlyParts(written: WrittenParts): string[] {
  return Object.entries(written).flatMap(([part, { by, value }]) =>
    by === undefined ? [] : `${value === null ? "no " : ""}${part} (${by})`,
  );
}

/** What the decision sets to another value than the apiserver has. */
function changes(node: DraftNode, { original, lastKnown }: SeenNode, before: WrittenParts): WantedPart[] {
  return (["label", "annotation"] as const).flatMap((kind) => {
    const field = KEYED_PARTS[kind];
    const [was, is] = [original.metadata?.[field], node.metadata[field]];
    if (was === is) return [];
    const listed = kind === "label" ? LABEL_LISTS.flatMap((list) => listedIn(original, list)) : [];
    // Of what is removed, a bystander goes without these for good. Other labels are removed once.
    const gone = Object.keys(was ?? {}).filter(
      (key) => is?.[key] === undefined && movedTo(key) !== undefined,
    );
    const wanted: [string, string | null][] = Object.entries(is ?? {});
    if (kind === "label") for (const key of gone) wanted.push([key, null]);
    return wanted.flatMap(([key, value]) => {
      if (was?.[key] === value) return [];
      const part = `${kind} ${key}`;
      const isKnown = before[part]?.value === value || valueOf(lastKnown, kind, key) === value;
      const isMissing = value !== null && was?.[key] === undefined;
      const isPutBack = isKnown || (isMissing && listed.includes(key));
      return { part, kind, key, value, isPutBack };
    });
  });
}

/** Is it as it was written, and not for long enough to forget that somebody undid it? */
function isStanding(part: string, known: Written, node: DraftNode, { original, nowMs }: SeenNode): boolean {
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

/** A clock that was put back ends every wait. */
function isWithin(sinceMs: number, nowMs: number, withinMs: number): boolean {
  return nowMs >= sinceMs && nowMs - sinceMs <= withinMs;
}

/** Who has another value there is known. Who removes a key leaves no name, unless it is gone in the answer already. */
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
    : `removed by somebody whose name the apiserver does not keep${hint}`;
}

function leaveAsItIs(node: DraftNode, { kind, key }: WantedPart, original: Node): void {
  const field = KEYED_PARTS[kind];
  const { [key]: _, ...others } = node.metadata[field] ?? {};
  const was = valueOf(original, kind, key);
  node.metadata[field] = was === null ? others : { ...others, [key]: was };
}

/** null: the Node does not have it. */
function valueOf(node: Node, kind: KeyedPart, key: string): string | null {
  return node.metadata?.[KEYED_PARTS[kind]]?.[key] ?? null;
}
