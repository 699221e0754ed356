// Sets annotations from a machine's configuration, which controllers read.
import type { Setter } from "./setter.ts";

/** Returns a setter that adds each annotation if its value in `wanted` is true, and removes it otherwise. */
export function factAnnotations(wanted: Readonly<Record<string, boolean>>): Setter {
  const entries = Object.entries(wanted);
  return (node) => {
    const { annotations = {} } = node.metadata;
    const changed = entries.filter(([key, isWanted]) => annotations[key] !== (isWanted ? "true" : undefined));
    if (changed.length === 0) return null;
    const next = { ...annotations };
    for (const [key, isWanted] of changed) {
      if (isWanted) next[key] = "true";
      else delete next[key];
    }
    node.metadata.annotations = next;
    return null;
  };
}
