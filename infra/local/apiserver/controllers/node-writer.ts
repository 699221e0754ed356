// Writes what the node controllers have decided. Decides nothing.
import type { NodeCondition } from "../../../../shared/kubernetes/types.ts";
import { fieldsOf } from "../object.ts";
import { timeOf } from "../write/write.ts";
import { changedTaints, type TaintChange } from "./node-taints.ts";
import type { NodeView } from "./node-view.ts";
import type { Seen } from "./seen-nodes.ts";
import type { World } from "./world.ts";

/** scheduler.NodeHealthUpdateRetry */
export const maxTries = 5;

export interface NodeWriter {
  /** SwapNodeControllerTaint, in one write. Like the others it resolves with whether it is done. */
  changeTaints: (name: string, change: TaintChange) => Promise<boolean>;
  setLabels: (name: string, labels: Record<string, string>) => Promise<boolean>;
  /** One attempt: after a conflict the caller decides again. */
  setConditions: (node: NodeView, conditions: NodeCondition[]) => Promise<boolean>;
}

/** What others write at the same time is not overwritten: it is tried again with what they have left. */
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
