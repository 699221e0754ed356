// Sets operating system and architecture.
import { setNodeInfo } from "./node-info.ts";
import type { Setter } from "./setter.ts";

/** Returns the setter of OS and architecture by Go's names: `linux`, `amd64` (upstream nodestatus.GoRuntime). */
export function goRuntime(goos: string, goarch: string): Setter {
  return (node) => {
    setNodeInfo(node, { operatingSystem: goos, architecture: goarch });
    return null;
  };
}
