// Which versions of the shim are out there, beside the Worker's. Pure.
import { versionKey } from "./sort-keys.ts";

/** By SemVer's order; what is no version is never behind. */
export function isBehind(version: string, other: string): boolean {
  const [key, otherKey] = [versionKey(version), versionKey(other)];
  return key !== "" && otherKey !== "" && key < otherKey;
}
