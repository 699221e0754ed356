// Computes what the machines of one join token cause together: the bytes of their Nodes, and the deliveries to a
// receiver. The limits follow docs/deploy.md, not the Worker's code.
import type { Node } from "../../../../shared/kubernetes/types.ts";
import { numberOfHostile, nameOfHostile } from "./names.ts";

const KIB = 1024;
/** The limits of a join token, and of a deployment: each has an amount at once, and an amount a minute. */
export const SHARED = {
  nodes: { atOnce: 200, aMinute: 120 },
  nodeBytes: { atOnce: 2048 * KIB, aMinute: 512 * KIB },
  deliveries: { atOnce: 24, aMinute: 4 },
} as const;

/** The Nodes of the machines with one join token. */
export interface TokenLoad {
  /** The start of the names of the token's machines. */
  names: string;
  nodes: number;
  /** The JSON bytes of the Nodes, without the apiserver's managedFields. */
  bytes: number;
}

export function loadsOf(nodes: ReadonlyMap<string, Node>): TokenLoad[] {
  const byToken = Map.groupBy(nodes, ([name]) => numberOfHostile(name));
  return [...byToken].map(([number, its]) => ({
    names: nameOfHostile(number),
    nodes: its.length,
    bytes: its.reduce((sum, [, node]) => sum + sizeOf(node), 0),
  }));
}

function sizeOf({ metadata, ...node }: Node): number {
  const { managedFields: _, ...rest } = metadata ?? {};
  return Buffer.byteLength(JSON.stringify({ metadata: rest, ...node }));
}

/** Returns the amount that a limit allows within these minutes. */
export function allowed({ atOnce, aMinute }: { atOnce: number; aMinute: number }, minutes: number): number {
  return atOnce + aMinute * minutes;
}
