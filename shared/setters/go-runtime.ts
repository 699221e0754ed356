// Setter: operating system and architecture.
import { setNodeInfo } from "./node-info.ts";
import type { Setter } from "./setter.ts";

/** Upstream nodestatus.GoRuntime; the names are Go's: `linux`, `amd64`. */
export function goRuntime(goos: string, goarch: string): Setter {
  return (node) => {
    setNodeInfo(node, { operatingSystem: goos, architecture: goarch });
    return null;
  };
}
