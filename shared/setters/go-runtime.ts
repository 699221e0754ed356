// Sets operating system and architecture.
import { setNodeInfo } from "./node-info.ts";
import type { Setter } from "./setter.ts";

/** Returns the setter (upstream nodestatus.GoRuntime). The names are Go's: `linux`, `amd64`. */
export function goRuntime(goos: string, goarch: string): Setter {
  return (node) => {
    setNodeInfo(node, { operatingSystem: goos, architecture: goarch });
    return null;
  };
}
