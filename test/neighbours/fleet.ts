// Adds fleets of our Nodes to an experiment. A fleet has a number and a kind of Nodes, which are Ready, silent, or
// added and deleted.
import { setTimeout as wait } from "node:timers/promises";
import type { DraftNode } from "../../shared/setters/setter.ts";
import { forAll, nodeNamed, NODES } from "./kube.ts";
import type { Lab } from "./lab.ts";
import { type Kind, ourNode } from "./our-nodes.ts";

export type State = "ready" | "silent" | "coming and going";

export interface Fleet {
  count: number;
  kind: Kind;
  state: State;
}

export function fleetName({ count, kind, state }: Fleet): string {
  if (count === 0) return "without rollcall";
  return `${count.toLocaleString("en")} ${kind === "ours" ? "of ours" : `(${kind})`}, ${state}`;
}

/** The time between two changes of a fleet whose Nodes are deleted and added again. */
const FLUX_MS = 300;

/**
 * Creates the Nodes of a fleet and returns their names. From now on Ready Nodes renew their leases. `address`
 * replaces the address in the report.
 */
export async function join(lab: Lab, { count, kind, state }: Fleet, address?: string): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `edge-${index}`);
  const create = (name: string) => {
    const node = ourNode(name, kind, Date.now());
    if (address !== undefined) node.status.addresses = [{ type: "InternalIP", address }];
    return createNode(lab, node, state === "silent");
  };
  await forAll(names, create);
  if (state !== "silent") await lab.heartbeats.start(names);
  if (state === "coming and going" && count > 0)
    lab.during((signal) => comeAndGo(lab, names, create, signal));
  return names;
}

async function comeAndGo(
  lab: Lab,
  names: readonly string[],
  create: (name: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (let index = 0; !signal.aborted; index += 1) {
    const name = names[index % names.length]!;
    await lab.kube.remove(nodeNamed(name));
    await wait(FLUX_MS);
    await create(name);
  }
}

/**
 * Creates a Node. `isSilent`: with all marks that the node controller sets on a Node with an expired lease, except
 * NoExecute.
 */
async function createNode(lab: Lab, node: DraftNode, isSilent: boolean): Promise<void> {
  const conditions = (node.status.conditions ?? []).map((condition) => ({
    ...condition,
    status: "Unknown",
    reason: "NodeStatusUnknown",
    message: "Kubelet stopped posting node status.",
  }));
  const unreachable = { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" };
  await lab.kube.create(NODES, {
    apiVersion: "v1",
    kind: "Node",
    metadata: node.metadata,
    spec: { ...node.spec, ...(isSilent && { taints: [...(node.spec.taints ?? []), unreachable] }) },
    status: { ...node.status, ...(isSilent && { conditions }) },
  });
}
