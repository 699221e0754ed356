// What several checks read of objects: names, which Nodes are rollcall's, sums.
import type { V1Node, V1ObjectMeta } from "@kubernetes/client-node";
import { MACHINE_LABEL } from "../../../shared/node/ownership.ts";

/** `namespace/name`, or the name of an object without a namespace. */
export function objectName({
  metadata,
}: {
  metadata?: V1ObjectMeta | { name?: string; namespace?: string };
}): string {
  const { name = "", namespace } = metadata ?? {};
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Nodes that are not rollcall's. */
export function workers(nodes: readonly V1Node[]): V1Node[] {
  return nodes.filter((node) => !isMachine(node));
}

export function isMachine({ metadata }: V1Node): boolean {
  return metadata?.labels?.[MACHINE_LABEL] !== undefined;
}

export function isReady({ status }: V1Node): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
}

/** A count with its noun: `1 Node`, `3 Nodes`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
