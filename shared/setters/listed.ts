// Lists the keys that a setter has set, in an annotation of the Node. The setter can later remove the listed keys.
import type { Node } from "../kubernetes/types.ts";
import type { DraftNode } from "./setter.ts";

/** Returns the keys that `annotation` lists. */
export function listedIn(node: Node | undefined, annotation: string): string[] {
  return (node?.metadata?.annotations?.[annotation] ?? "").split(",").filter((key) => key !== "");
}

/** Lists `keys` in `annotation`. Returns the keys that are no longer listed. */
export function replaceListed(node: DraftNode, annotation: string, keys: readonly string[]): string[] {
  if (keys.length === 0 && node.metadata.annotations?.[annotation] === undefined) return [];
  const { [annotation]: listed = "", ...others } = node.metadata.annotations ?? {};
  const now = [...keys].sort().join(",");
  if (now === listed) return [];
  const kept = new Set(keys);
  node.metadata.annotations = now === "" ? others : { ...others, [annotation]: now };
  return listed.split(",").filter((key) => key !== "" && !kept.has(key));
}

/** Removes `keys` from `annotation`. The caller found that the setter must not set these keys. */
export function unlist(node: DraftNode, annotation: string, keys: readonly string[]): void {
  const { [annotation]: listed, ...others } = node.metadata.annotations ?? {};
  if (listed === undefined || keys.length === 0) return;
  const gone = new Set(keys);
  const left = listed.split(",").filter((key) => !gone.has(key));
  node.metadata.annotations = left.length === 0 ? others : { ...others, [annotation]: left.join(",") };
}
