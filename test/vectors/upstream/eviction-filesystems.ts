// Computes the thresholds of containerfs, the file system with the containers' writable layers. Operators do not
// set these thresholds.
import { type Signal, type Threshold, threshold } from "../../../shared/resources/eviction.ts";

/**
 * Adds thresholds like upstream's UpdateContainerFsThresholds. containerfs gets the thresholds of imagefs if the
 * runtime keeps images and containers together apart from nodefs, else those of nodefs. Configured thresholds of
 * containerfs are replaced.
 */
export function withContainerFsThresholds(
  thresholds: readonly Threshold[],
  dedicatedImageFs: boolean,
  splitContainerFs: boolean,
): Threshold[] {
  // Upstream adds no thresholds if only the containers have a file system of their own.
  if (splitContainerFs && !dedicatedImageFs) return [...thresholds];
  const model = dedicatedImageFs && !splitContainerFs ? "imagefs" : "nodefs";
  const replaced = new Set<Threshold | undefined>();
  const copied: Threshold[] = [];
  const copy = (from: Signal, signal: Signal, kind: "hard" | "soft") => {
    replaced.add(last(thresholds, signal, kind));
    const original = last(thresholds, from, kind);
    if (original) copied.push(threshold(kind, { ...original, signal }));
  };
  copy(`${model}.available`, "containerfs.available", "hard");
  copy(`${model}.available`, "containerfs.available", "soft");
  copy(`${model}.inodesFree`, "containerfs.inodesFree", "hard");
  copy(`${model}.inodesFree`, "containerfs.inodesFree", "soft");
  return [...thresholds.filter((own) => !replaced.has(own)), ...copied];
}

/**
 * Returns the last threshold of this signal and kind. A soft threshold without a grace period counts as a hard one.
 */
function last(
  thresholds: readonly Threshold[],
  signal: Signal,
  kind: "hard" | "soft",
): Threshold | undefined {
  return thresholds.findLast(
    (own) => own.signal === signal && (own.gracePeriodMs === 0) === (kind === "hard"),
  );
}
