// Simulates an apiserver with lists and watches of Nodes, a registry and notified node objects, around the watch of
// worker/cluster. The clock belongs to the test; `evict` deletes the memory.
import type { ApiError, ApiResult } from "../../../shared/kubernetes/api-error.ts";
import type { Node, NodeList } from "../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../shared/result.ts";
import { ABSENT, type NodeRows, UNSURE, type WatchedNode } from "../../../worker/cluster/watched-nodes.ts";
import { NodeWatch, type ListPage, type WatchDependencies } from "../../../worker/cluster/node-watch.ts";
import { Notices } from "../../../worker/cluster/notices.ts";
import { virtualTime } from "./virtual-time.ts";
import type { NodeChange, WatchEnd } from "../../../worker/kube/watch-stream.ts";

export const OURS = "rollcall.rollcall";
export const UNREACHABLE: ApiError = { kind: "unanswered", message: "connection refused" };
export const refusal = (code: number, reason: string): ApiError => ({
  kind: "status",
  status: { code, reason, message: reason },
});

/** Returns a Node as this deployment has created it. */
export function ourNode(name: string, more: Partial<Node> = {}): Node {
  const { metadata, ...others } = more;
  return {
    metadata: { name, uid: `uid of ${name}`, managedFields: [{ manager: OURS }], ...metadata },
    status: { conditions: [{ type: "Ready", status: "True" }] },
    ...others,
  };
}

/** The length of a step of time. An alarm that is set during a step rings at the end of that step at the latest. */
const STEP_MS = 100;

interface Watching {
  request: Parameters<WatchDependencies["watch"]>[0];
  end: (end: WatchEnd) => void;
}

type Notified = { name: string; node: Node | null; atMs: number };

export function watchedCluster({ page = 100 }: { page?: number } = {}) {
  const time = virtualTime(Date.UTC(2026, 0, 1));
  const nodes = new Map<string, Node>();
  const stored = new Map<string, WatchedNode>();
  let version = 100;
  let watching: Watching | undefined;
  let history: { version: number; change: NodeChange }[] = [];
  /**
   * The number of the object in memory, which rises with each eviction. A call of an evicted object has no effect.
   */
  let life = 0;

  const cluster = {
    nodes,
    stored,
    notified: [] as Notified[],
    notes: [] as string[],
    pages: [] as ListPage[],
    /** The versions and times of the watches that were opened. */
    watches: [] as { version: string; atMs: number }[],
    rowsWritten: 0,
    /** The stored time at which the watch was well, and the number of its writes. */
    wellAtMs: null as number | null,
    wellWritten: 0,
    registryAsked: 0,
    strangers: new Set<string>(),
    /**
     * The answers to the next lists, in order; undefined for the usual answer. `watchFaults` has the answers to
     * watches.
     */
    listFaults: [] as (ApiError | undefined)[],
    watchFaults: [] as (WatchEnd | undefined)[],
    /** Returns the result of a notice to this name. */
    notify: (_name: string): Promise<void> => Promise.resolve(),
    /** Runs after each page of a list. A test replaces it. */
    onPage: (_pages: number): void => undefined,
    /** The time of the alarm; null if no alarm is set. */
    alarmMs: null as number | null,
    watch: undefined as unknown as NodeWatch,
    notices: undefined as unknown as Notices,

    version: () => version,
    isWatching: () => watching !== undefined,
    /** Creates or changes a Node, as any writer does. */
    put(node: Node): Node {
      const name = node.metadata?.name ?? "";
      const type = nodes.has(name) ? "MODIFIED" : "ADDED";
      const saved = { ...node, metadata: { ...node.metadata, resourceVersion: String(++version) } };
      nodes.set(name, saved);
      cluster.happens({ type, object: saved, length: JSON.stringify(saved).length });
      return saved;
    },
    /** Changes the Node's labels as another writer does. */
    touch: (name: string, labels: Record<string, string>) => {
      const node = nodes.get(name) ?? ourNode(name);
      const managedFields = [{ manager: OURS }, { manager: "kubectl" }];
      return cluster.put({ ...node, metadata: { ...node.metadata, labels, managedFields } });
    },
    ready(name: string, status: "True" | "Unknown") {
      const node = nodes.get(name) ?? ourNode(name);
      const fieldsV1 = { "f:status": { "f:conditions": { 'k:{"type":"Ready"}': {} } } };
      const controller = { manager: "kube-controller-manager", fieldsV1 };
      const managedFields = [{ manager: OURS }, ...(status === "Unknown" ? [controller] : [])];
      cluster.put({
        ...node,
        metadata: { ...node.metadata, managedFields },
        status: { conditions: [{ type: "Ready", status }] },
      });
    },
    remove(name: string) {
      const node = nodes.get(name);
      if (!node) return;
      nodes.delete(name);
      const gone = { ...node, metadata: { ...node.metadata, resourceVersion: String(++version) } };
      cluster.happens({ type: "DELETED", object: gone, length: 100 });
    },
    /** Sends a bookmark as the apiserver does each minute, unless `isSilent` is true. */
    bookmark: () => cluster.happens({ type: "BOOKMARK", version: String(version), length: 100 }),
    isSilent: false,
    happens(change: NodeChange) {
      history.push({ version, change });
      watching?.request.onChange(change);
    },
    /** Restores etcd from a backup, so that versions go back. */
    restore(to: number) {
      version = to;
      history = [];
    },
    endWatch: (end: WatchEnd = { kind: "ended" }) => watching?.end(end),

    evict() {
      life++;
      watching = undefined;
      open();
      cluster.alarmMs = time.nowMs();
    },
    /** Sets a lost alarm again, as the cron trigger and calling objects do. */
    wake() {
      cluster.alarmMs ??= cluster.watch.dueMs();
    },
    nowMs: time.nowMs,
    pause: time.pause,
    every: (ms: number, ring: () => void) => time.every(ms, ring),
    /** Lets time pass. The alarm rings when it is due. */
    async pass(ms: number) {
      const untilMs = time.nowMs() + ms;
      for (;;) {
        if (cluster.alarmMs !== null && cluster.alarmMs <= time.nowMs()) ring();
        const leftMs = untilMs - time.nowMs();
        const alarmInMs = (cluster.alarmMs ?? Number.POSITIVE_INFINITY) - time.nowMs();
        await time.pass(Math.min(leftMs, Math.max(0, alarmInMs), STEP_MS));
        if (leftMs <= 0) return;
      }
    },
  };

  function ring(): void {
    const own = life;
    cluster.alarmMs = null;
    void cluster.watch.turn().then((nextMs) => {
      if (own === life && nextMs !== null) cluster.alarmMs = Math.min(nextMs, cluster.alarmMs ?? nextMs);
    });
  }

  function list({ limit, continue: token }: ListPage): ApiResult<NodeList> {
    cluster.pages.push({ limit, continue: token });
    const fault = cluster.listFaults.shift();
    if (fault) return failure(fault);
    const size = Math.min(limit, page);
    const [from = 0, of = version] = (token ?? "").split("@").filter(Boolean).map(Number);
    const items = [...nodes.values()].slice(from, from + size);
    const next = from + size < nodes.size ? `${from + size}@${of}` : "";
    const answer = { metadata: { resourceVersion: String(of), ...(next && { continue: next }) }, items };
    cluster.onPage(cluster.pages.length);
    return success(answer);
  }

  function watchFrom(request: Watching["request"]): Promise<WatchEnd> {
    cluster.watches.push({ version: request.version, atMs: time.nowMs() });
    const fault = cluster.watchFaults.shift();
    if (fault) return Promise.resolve(fault);
    return new Promise((resolve) => {
      const endMinutes = time.every(60_000, () => cluster.isSilent || cluster.bookmark());
      const own: Watching = {
        request,
        end: (end) => {
          endMinutes();
          if (watching === own) watching = undefined;
          resolve(end);
        },
      };
      watching = own;
      request.signal.addEventListener("abort", () => own.end({ kind: "ended" }));
      time.after(request.timeoutSeconds * 1000, () => own.end({ kind: "ended" }));
      request.onOpen();
      for (const past of history) {
        if (past.version > Number(request.version) && !request.signal.aborted) request.onChange(past.change);
      }
    });
  }

  function open(): void {
    const own = life;
    const isAlive = () => own === life;
    const rows = rowsOver(stored, () => void cluster.rowsWritten++);
    cluster.notices = new Notices({
      known: (some) => {
        cluster.registryAsked++;
        return Promise.resolve(some.filter((name) => !cluster.strangers.has(name)));
      },
      notify: async (name, node) => {
        if (!isAlive()) return new Promise(() => undefined);
        cluster.notified.push({ name, node, atMs: time.nowMs() });
        await cluster.notify(name);
        if (!isAlive()) await new Promise(() => undefined);
      },
      onSending: (name, seen) => isAlive() && rows.put(name, { seen, told: UNSURE }),
      onDone: (name, seen) => isAlive() && rows.put(name, { seen, told: seen }),
      timer: undefined,
      nowMs: time.nowMs,
      pause: time.pause,
      log: () => undefined,
    });
    cluster.watch = new NodeWatch({
      deployment: "rollcall",
      list: (asked) => (isAlive() ? Promise.resolve(list(asked)) : new Promise(() => undefined)),
      watch: (request) => (isAlive() ? watchFrom(request) : new Promise(() => undefined)),
      rows,
      well: {
        get: () => cluster.wellAtMs,
        put: (atMs) => {
          if (!isAlive() || atMs === cluster.wellAtMs) return;
          cluster.wellAtMs = atMs;
          cluster.wellWritten++;
        },
      },
      notices: cluster.notices,
      note: (text) => void cluster.notes.push(text),
      nowMs: time.nowMs,
      random: () => 1,
    });
  }

  open();
  cluster.alarmMs = time.nowMs();
  return cluster;
}

/** Returns rows like those of nodeRows, over a Map that outlives an eviction. */
function rowsOver(stored: Map<string, WatchedNode>, onWrite: () => void): NodeRows {
  return {
    get: (name) => stored.get(name),
    names: () => stored.keys(),
    size: () => stored.size,
    put(name, row) {
      const before = stored.get(name);
      if (before?.seen === row.seen && before.told === row.told) return;
      if (row.seen === ABSENT && row.told === ABSENT) {
        if (stored.delete(name)) onWrite();
        return;
      }
      stored.set(name, row);
      onWrite();
    },
  };
}
