// Records the marks that operators and agents have set on the machines' Nodes, and finds lost ones. Sets no mark
// itself.
import type { Node } from "../../../../shared/kubernetes/types.ts";
import type { SetByOthers } from "./beyond-grant.ts";

export type MarkKind = "label" | "annotation" | "taint" | "cordon" | "condition" | "resource";

export interface Mark {
  name: string;
  kind: MarkKind;
  /** The key of the label, taint or other part. "" for a cordon. */
  key: string;
  value: string;
}

/** A mark on one Node. A later Node with the same name never had the mark. */
export interface PlacedMark extends Mark {
  uid: string;
  resourceVersion: string;
}

export interface Marks {
  /** Notes that a mark may appear on a Node. Call `expect` before setting the mark. */
  expect: (mark: Mark) => void;
  /** Notes that a mark is set. `node` is the Node with the mark. */
  placed: (mark: Mark, node: Node) => void;
  /** Notes that a cordon was removed again, so that it does not count as lost. */
  lifted: (mark: Pick<Mark, "name" | "kind" | "key">) => void;
  of: (name: string) => SetByOthers;
  /** Returns the marks that a Node should have but lacks. */
  lostFrom: (node: Node) => PlacedMark[];
  count: () => number;
}

export function marksOnNodes(): Marks {
  const expected = new Map<string, Mark>();
  const found = new Map<string, PlacedMark>();
  const idOf = ({ name, kind, key }: Pick<Mark, "name" | "kind" | "key">) => `${name} ${kind} ${key}`;
  const keysOf = (name: string, kind: MarkKind) =>
    new Set(
      [...expected.values()].filter((mark) => mark.name === name && mark.kind === kind).map(({ key }) => key),
    );
  return {
    expect(mark) {
      expected.set(idOf(mark), mark);
      // While the order of two writes to one mark is unknown, the mark does not count as lost.
      found.delete(idOf(mark));
    },
    placed(mark, { metadata }) {
      const { uid = "", resourceVersion = "" } = metadata ?? {};
      found.set(idOf(mark), { ...mark, uid, resourceVersion });
    },
    lifted: (mark) => void found.delete(idOf(mark)),
    of: (name) => ({
      labels: keysOf(name, "label"),
      annotations: keysOf(name, "annotation"),
      taints: keysOf(name, "taint"),
      conditions: keysOf(name, "condition"),
      resources: keysOf(name, "resource"),
      isCordoned: keysOf(name, "cordon").size > 0,
    }),
    lostFrom(node) {
      const { name, uid, resourceVersion } = node.metadata ?? {};
      const isLater = (mark: PlacedMark) => Number(resourceVersion) >= Number(mark.resourceVersion);
      return [...found.values()].filter(
        (mark) => mark.name === name && mark.uid === uid && isLater(mark) && !isThere(node, mark),
      );
    },
    count: () => found.size,
  };
}

function isThere({ metadata, spec, status }: Node, { kind, key, value }: Mark): boolean {
  switch (kind) {
    case "label":
      return metadata?.labels?.[key] === value;
    case "annotation":
      return metadata?.annotations?.[key] === value;
    case "taint":
      return (spec?.taints ?? []).some((taint) => taint.key === key && taint.value === value);
    case "cordon":
      return spec?.unschedulable === true;
    case "condition":
      return (status?.conditions ?? []).some(({ type, message }) => type === key && message === value);
    default:
      return status?.capacity?.[key] === value;
  }
}

/** Returns the strategic merge patch that sets a mark, and its subresource. A list of taints is set as a whole. */
export function markingPatch(
  { kind, key, value }: Mark,
  { metadata, spec }: Node,
): { subresource: "" | "/status"; patch: object } {
  const same = { uid: metadata?.uid, resourceVersion: metadata?.resourceVersion };
  const at = new Date().toISOString().replace(/\.\d+/, "");
  switch (kind) {
    case "label":
      return { subresource: "", patch: { metadata: { ...same, labels: { [key]: value } } } };
    case "annotation":
      return { subresource: "", patch: { metadata: { ...same, annotations: { [key]: value } } } };
    case "cordon":
      return { subresource: "", patch: { metadata: same, spec: { unschedulable: true } } };
    case "taint": {
      const others = (spec?.taints ?? []).filter((taint) => taint.key !== key);
      const taints = [...others, { key, value, effect: "NoSchedule" }];
      return { subresource: "", patch: { metadata: same, spec: { taints } } };
    }
    case "condition": {
      const times = { lastHeartbeatTime: at, lastTransitionTime: at };
      const condition = { type: key, status: "True", reason: "Found", message: value, ...times };
      return { subresource: "/status", patch: { metadata: same, status: { conditions: [condition] } } };
    }
    default:
      return { subresource: "/status", patch: { metadata: same, status: { capacity: { [key]: value } } } };
  }
}
