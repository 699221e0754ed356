// Which things of a Node a setter has set, so that they can go again: kept in an annotation of the Node itself. Knows
// nothing of what is listed.
import type { DraftNode } from "./setter.ts";

/** Remembers `keys` under `annotation`; returns those that were there before and are no longer. */
export function replaceListed(node: DraftNode, annotation: string, keys: readonly string[]): string[] {
  if (keys.length === 0 && node.metadata.annotations?.[annotation] === undefined) return [];
  const { [annotation]: listed = "", ...others } = node.metadata.annotations ?? {};
  const now = [...keys].sort().join(",");
  if (now === listed) return [];
  node.metadata.annotations = now === "" ? others : { ...others, [annotation]: now };
  return listed.split(",").filter((key) => key !== "" && !keys.includes(key));
}

/** Forgets `keys` under `annotation`: they were not set after all. */
export function unlist(node: DraftNode, annotation: string, keys: readonly string[]): void {
  const { [annotation]: listed, ...others } = node.metadata.annotations ?? {};
  if (listed === undefined || keys.length === 0) return;
  const left = listed.split(",").filter((key) => !keys.includes(key));
  node.metadata.annotations = left.length === 0 ? others : { ...others, [annotation]: left.join(",") };
}
