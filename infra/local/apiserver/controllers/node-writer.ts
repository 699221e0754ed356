// Writes the conditions, taints and labels that the node controllers decide on. Mirrors nodelifecycle.
import type { NodeCondition, Taint } from "../../../../shared/kubernetes/types.ts";
import { fieldsOf } from "../object.ts";
import { timeOf } from "../write/write.ts";
import type { NodeView, Seen } from "./node-view.ts";
import type { World } from "./world.ts";

/** The number of attempts to write a Node (scheduler.NodeHealthUpdateRetry). */
export const maxTries = 5;

export interface NodeWriter {
  /**
   * Changes the taints of a Node in one write (SwapNodeControllerTaint). This function and the next two resolve
   * with true if the write succeeded.
   */
  changeTaints: (name: string, change: TaintChange) => Promise<boolean>;
  setLabels: (name: string, labels: Record<string, string>) => Promise<boolean>;
  /** Writes the conditions once. After a conflict the caller decides again. */
  setConditions: (node: NodeView, conditions: NodeCondition[]) => Promise<boolean>;
}

/** Returns functions that write Nodes. After a conflict, taints and labels are computed from the changed Node. */
export function createNodeWriter({ store, send, now }: World, seen: Seen): NodeWriter {
  async function retried(name: string, write: (node: NodeView) => Promise<number>): Promise<boolean> {
    for (let tries = 0; tries < maxTries; tries++) {
      const node = seen.nodes.get(name);
      if (!node) return false;
      const code = await write(node);
      if (code < 300) return true;
      if (code !== 409) return false;
    }
    return false;
  }
  return {
    changeTaints: (name, { add, remove }) =>
      retried(name, async (node) => {
        const timeAdded = timeOf(now());
        const taints = changedTaints(node.taints, {
          add: add.map((taint) => ({ ...taint, timeAdded })),
          remove,
        });
        const metadata = { uid: node.uid, resourceVersion: node.resourceVersion };
        const body = { metadata, spec: { taints: taints.length > 0 ? taints : null } };
        return (await send({ method: "PATCH", path: `/api/v1/nodes/${name}`, body })).code;
      }),
    setLabels: (name, labels) =>
      retried(name, async () => {
        const body = { metadata: { labels } };
        return (await send({ method: "PATCH", path: `/api/v1/nodes/${name}`, body })).code;
      }),
    setConditions: async ({ name, uid }, conditions) => {
      const node = store.get({ resource: "nodes", namespace: "", name });
      if (node?.metadata.uid !== uid) return false;
      const body = { ...node, status: { ...fieldsOf(node["status"]), conditions } };
      return (await send({ method: "PUT", path: `/api/v1/nodes/${name}/status`, body })).code < 300;
    },
  };
}

const prefix = "node.kubernetes.io";

export const unreachable: Taint = { key: `${prefix}/unreachable`, effect: "NoExecute" };
export const notReady: Taint = { key: `${prefix}/not-ready`, effect: "NoExecute" };

/** The key of the taint for each condition type and status. */
const taintKeys: Record<string, Record<string, string>> = {
  Ready: { False: `${prefix}/not-ready`, Unknown: `${prefix}/unreachable` },
  MemoryPressure: { True: `${prefix}/memory-pressure` },
  DiskPressure: { True: `${prefix}/disk-pressure` },
  NetworkUnavailable: { True: `${prefix}/network-unavailable` },
  PIDPressure: { True: `${prefix}/pid-pressure` },
};
const unschedulableKey = `${prefix}/unschedulable`;
const managedKeys = new Set([unschedulableKey, ...Object.values(taintKeys).flatMap(Object.values)]);

interface TaintChange {
  add: Taint[];
  remove: Taint[];
}

function isSame(left: Taint, right: Taint): boolean {
  return left.key === right.key && left.effect === right.effect;
}

export function hasTaint(taints: readonly Taint[], wanted: Taint): boolean {
  return taints.some((taint) => isSame(taint, wanted));
}

/** Returns the NoSchedule taints to add and to remove, or undefined if nothing changes. */
export function noScheduleChange({ conditions, unschedulable, taints }: NodeView): TaintChange | undefined {
  const keys = conditions.flatMap(({ type, status }) => taintKeys[type]?.[status] ?? []);
  if (unschedulable) keys.push(unschedulableKey);
  const wanted = keys.map((key) => ({ key, effect: "NoSchedule" }));
  const present = taints.filter(({ key, effect }) => effect === "NoSchedule" && managedKeys.has(key));
  const add = wanted.filter((taint) => !hasTaint(present, taint));
  const remove = present.filter((taint) => !hasTaint(wanted, taint));
  return add.length + remove.length > 0 ? { add, remove } : undefined;
}

/** Returns the taints after a change. Existing taints keep their place. Mirrors AddOrUpdateTaint and RemoveTaint. */
function changedTaints(taints: readonly Taint[], { add, remove }: TaintChange): Taint[] {
  const updated = taints.map((taint) => add.find((each) => isSame(each, taint)) ?? taint);
  const appended = add.filter((each) => !hasTaint(taints, each));
  return [...updated, ...appended].filter((taint) => !hasTaint(remove, taint));
}

/** The stable labels, each with the beta label that has the same value (reconcileNodeLabels). */
const followers = [
  ["kubernetes.io/os", "beta.kubernetes.io/os"],
  ["kubernetes.io/arch", "beta.kubernetes.io/arch"],
] as const;

/** Returns the beta labels to set, or undefined if nothing changes. */
export function labelsToFollow(labels: NodeView["labels"]): Record<string, string> | undefined {
  const missing = followers.flatMap(([stable, beta]) => {
    const value = labels[stable];
    return value !== undefined && labels[beta] !== value ? [[beta, value] as const] : [];
  });
  return missing.length > 0 ? Object.fromEntries(missing) : undefined;
}
