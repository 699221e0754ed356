// Sets the versions of kernel, OS image, container runtime and kubelet.
import { setNodeInfo } from "./node-info.ts";
import type { Setter } from "./setter.ts";
import type { Result } from "../result.ts";

export interface VersionInfo {
  kernelVersion: string;
  osImage: string;
}

/** Returns the setter of the versions (upstream nodestatus.VersionInfo). The kubelet's version is an argument. */
export function versionInfo(
  readVersionInfo: () => Result<VersionInfo>, // typically the facts' versions
  runtimeType: () => string | null, // typically the runtime's name by CRI Version; null before its first answer
  runtimeVersion: () => Result<string>, // typically the runtime's version by CRI Version
  kubeletVersion: string, // typically v1.36.0-rollcall-v<version>
): Setter {
  return (node) => {
    const versions = readVersionInfo();
    if (!versions.ok) return `error getting version info: ${versions.error}`;
    const type = runtimeType();
    const runtime = runtimeVersion();
    setNodeInfo(node, {
      kernelVersion: versions.value.kernelVersion,
      osImage: versions.value.osImage,
      // Before the first answer the Node keeps its last version: a kubelet then does not start.
      ...(type !== null && {
        containerRuntimeVersion: `${type}://${runtime.ok ? runtime.value : "Unknown"}`,
      }),
      kubeletVersion,
      // The deprecated field is cleared, since an older kubelet may have set it.
      kubeProxyVersion: "",
    });
    return null;
  };
}
