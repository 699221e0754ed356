// Compares each watched Node with the Node that its machine's object knows, and queues a notice for each
// difference. A row for each Node stores the digests of both, so that an eviction loses no notice.
import { sha256 } from "@noble/hashes/sha2.js";
import { base64url } from "jose";
import { fieldOwners } from "../../shared/kubernetes/managed-fields.ts";
import type { Node, NodeCondition } from "../../shared/kubernetes/types.ts";
import { ownParts } from "../../shared/node/parts.ts";
import { fieldManagerOf } from "../kube/connect.ts";
import type { Row } from "../storage/query.ts";
import type { Change, Notices } from "./notices.ts";

/** The most Nodes that are watched. The machines' objects of further Nodes read their Nodes from the apiserver. */
export const MOST_NODES = 20_000;

interface SeenDependencies {
  deployment: string;
  rows: NodeRows;
  notices: Notices;
}

export class SeenNodes {
  readonly #with: SeenDependencies;
  /** The names of the Nodes beyond MOST_NODES. */
  readonly #beyond = new Set<string>();
  #hasNodeController = false;

  constructor(dependencies: SeenDependencies) {
    this.#with = dependencies;
    const { rows, notices } = dependencies;
    // The rows name the deleted Nodes that still need a notice. The first list queues the notices of existing Nodes.
    for (const name of rows.names()) if (rows.get(name)?.seen === ABSENT) notices.put(name, GONE);
  }

  get beyond(): number {
    return this.#beyond.size;
  }

  /** true once a node controller has written the taints of a watched Node, or its condition Ready. */
  get hasNodeController(): boolean {
    return this.#hasNodeController;
  }

  /** Reports whether the Node exists, as far as the watch has seen. */
  has(name: string): boolean {
    return (this.#with.rows.get(name)?.seen ?? ABSENT) !== ABSENT;
  }

  /** Reports whether the Node exists, and the machine's object was notified of the Node's last change. */
  isKnown(name: string): boolean {
    return this.has(name) && !this.#with.notices.waits(name);
  }

  /**
   * Records a Node from a list or a watch event, and queues a notice if the machine's object needs one. `isAdded`:
   * the watch reports a new Node, which needs no notice if only rollcall has written the Node. `isRewound`: the
   * cluster was restored, and every object is notified.
   */
  see(node: Node, length: number, { isAdded = false, isRewound = false }): void {
    const { deployment, rows, notices } = this.#with;
    const name = node.metadata?.name ?? "";
    const row = rows.get(name);
    if (!row && rows.size() >= MOST_NODES) return void this.#beyond.add(name);
    this.#beyond.delete(name);
    this.#hasNodeController ||= isControlled(node);
    const seen = othersDigest(node, deployment);
    const isOurs = !row && isAdded && isOnlyOurs(node, deployment);
    const told = isOurs ? seen : isRewound ? UNSURE : this.#told(node, seen, row);
    // A row without the change is enough: after an eviction, the next list finds the change again.
    if (told === UNSURE || told === seen) rows.put(name, { seen, told });
    if (seen === told) notices.drop(name);
    // This state of the Node is newer, so its notice replaces a notice that waits already.
    else notices.put(name, { kind: isGivenUp(node) ? "unknown" : "changed", node, length, seen });
  }

  /** Returns the digest of the Node that the machine's object knows. Converts the digest of an earlier version. */
  #told(node: Node, seen: string, { told }: WatchedNode = NEVER_SEEN): string {
    if (told === seen || told === UNSURE) return told;
    return told === othersDigest(node, this.#with.deployment, true) ? seen : told;
  }

  /** Records that the Node was deleted, or has lost its deployment label. */
  gone(name: string): void {
    const { rows, notices } = this.#with;
    this.#beyond.delete(name);
    const row = rows.get(name);
    if (!row || row.seen === ABSENT) return;
    notices.put(name, GONE);
  }

  /** Records that every Node without a name in `names` is gone. */
  onlyThese(names: ReadonlySet<string>): void {
    for (const name of [...this.#with.rows.names(), ...this.#beyond]) if (!names.has(name)) this.gone(name);
  }
}

/** A row of the table watched_nodes. */
export interface WatchedNode {
  /** The othersDigest of the Node in the last notice that was sent; ABSENT if the Node does not exist. */
  seen: string;
  /** The digest of the Node that the machine's object was last notified of, or UNSURE. */
  told: string;
}

export const ABSENT = "";
/** The value of `told` while the machine's object has not confirmed the last notice. */
export const UNSURE = "?";
const NEVER_SEEN: WatchedNode = { seen: ABSENT, told: UNSURE };
const GONE: Change = { kind: "gone", node: null, length: 0, seen: ABSENT };

export type NodeRows = ReturnType<typeof nodeRows>;

export function nodeRows(sql: SqlStorage) {
  const stored = sql.exec<Row<WatchedNode & { name: string }>>("SELECT name, seen, told FROM watched_nodes");
  const rows = new Map([...stored].map(({ name, ...row }): [string, WatchedNode] => [name, row]));

  return {
    get: (name: string) => rows.get(name),
    /** Returns the names of existing Nodes, and of deleted Nodes whose machines' objects were not notified yet. */
    names: (): Iterable<string> => rows.keys(),
    size: () => rows.size,
    /** Stores the row of a Node, unless the stored row is equal. */
    put(name: string, row: WatchedNode): void {
      const before = rows.get(name);
      const isOver = row.seen === ABSENT && row.told === ABSENT;
      if (isOver) {
        if (before) sql.exec("DELETE FROM watched_nodes WHERE name = ?", name);
        rows.delete(name);
        return;
      }
      if (before?.seen === row.seen && before.told === row.told) return;
      const put = `INSERT INTO watched_nodes VALUES (?, ?, ?)
        ON CONFLICT (name) DO UPDATE SET seen = excluded.seen, told = excluded.told`;
      sql.exec(put, name, row.seen, row.told);
      rows.set(name, row);
    },
  };
}

/** The stored time at which the watch of the Nodes was well; null while the watch is not well. */
export type WellTime = ReturnType<typeof wellTime>;

export function wellTime(sql: SqlStorage) {
  let atMs = sql.exec<{ at_ms: number }>("SELECT at_ms FROM watch_well").toArray()[0]?.at_ms ?? null;

  return {
    get: () => atMs,
    /** Stores the time, unless the stored time is equal. */
    put(nextMs: number | null): void {
      if (nextMs === atMs) return;
      atMs = nextMs;
      if (nextMs === null) sql.exec("DELETE FROM watch_well");
      else sql.exec("INSERT OR REPLACE INTO watch_well VALUES (1, ?)", nextMs);
    },
  };
}

/** The length of a digest: two different texts have the same digest once in 2^96. */
const DIGEST_BYTES = 12;

/** Returns the digest of `othersParts`. */
export function othersDigest(...of: Parameters<typeof othersParts>): string {
  const text = new TextEncoder().encode(othersParts(...of));
  return base64url.encode(sha256(text).subarray(0, DIGEST_BYTES));
}

/**
 * Returns the parts of a Node that other writers may change and that a machine's object acts on, as a text to compare.
 * The text has neither heartbeat times nor rollcall's conditions. A write of rollcall to such a part changes the text.
 */
export function othersParts(
  node: Node,
  deployment: string,
  isFormer = false, // true for the text of an earlier version, which contained all labels and annotations
): string {
  const { metadata, spec, status } = node;
  // A status write learns all other labels, but a Node that was given up gets no status write.
  const labels =
    isFormer || isGivenUp(node) ? Object.entries(metadata?.labels ?? {}) : ownParts(node, "label");
  const annotations = isFormer ? Object.entries(metadata?.annotations ?? {}) : ownParts(node, "annotation");
  return JSON.stringify([
    metadata?.uid,
    metadata?.deletionTimestamp,
    sorted(labels),
    sorted(annotations),
    spec,
    sorted(Object.entries(status?.capacity ?? {})),
    sorted(Object.entries(status?.allocatable ?? {})),
    status?.addresses,
    status?.nodeInfo?.kubeletVersion,
    othersConditions(node, deployment),
  ]);
}

/** Reports whether only rollcall has written the Node; false if the apiserver records no managedFields. */
export function isOnlyOurs({ metadata }: Node, deployment: string): boolean {
  const entries = metadata?.managedFields ?? [];
  return entries.length > 0 && entries.every(({ manager }) => manager === fieldManagerOf(deployment));
}

/** Reports whether Ready is Unknown, which the node lifecycle controller sets once a lease has expired. */
export function isGivenUp({ status }: Node): boolean {
  return (status?.conditions ?? []).some((each) => each.type === "Ready" && each.status === "Unknown");
}

/**
 * The field managers of the node controller: the program's name. In k3s and MicroK8s one program contains all of
 * Kubernetes.
 */
const NODE_CONTROLLERS = new Set(["kube-controller-manager", "k3s", "kubelite"]);

/** Reports whether a node controller has written the Node's taints, or its condition Ready. */
export function isControlled({ metadata }: Node): boolean {
  const paths = [
    ["f:spec", "f:taints"],
    ["f:status", "f:conditions", 'k:{"type":"Ready"}'],
  ];
  return paths.some((path) => fieldOwners(metadata, path).some((owner) => NODE_CONTROLLERS.has(owner)));
}

/** Returns other writers' conditions without their times; all conditions if the apiserver records no managedFields. */
function othersConditions({ metadata, status }: Node, deployment: string) {
  const conditions = status?.conditions ?? [];
  const entries = metadata?.managedFields ?? [];
  const written = entries
    .filter(({ manager }) => manager !== fieldManagerOf(deployment))
    .map(({ fieldsV1 }) => conditionsIn(fieldsV1));
  const isOthers = ({ type }: NodeCondition) =>
    entries.length === 0 || written.some((keys) => keys.has(`k:{"type":${JSON.stringify(type)}}`));
  return conditions
    .filter(isOthers)
    .map(({ type, status: is, reason, message }) => [type, is, reason, message]);
}

/** Returns the keys of the conditions in a managedFields entry, in the form `k:{"type":"Ready"}`. */
function conditionsIn(fields: unknown): Set<string> {
  const { "f:status": status } = (fields ?? {}) as { "f:status"?: { "f:conditions"?: object } };
  return new Set(Object.keys(status?.["f:conditions"] ?? {}));
}

/** Sorts a map's entries, since the apiserver sends them in any order. */
function sorted(entries: [string, string][]): [string, string][] {
  return entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
}
