// Setter: kernel, OS image, container runtime and kubelet version.
import { setNodeInfo } from "./node-info.ts";
import type { Setter } from "./setter.ts";
import type { Result } from "../result.ts";

export interface VersionInfo {
  kernelVersion: string;
  osImage: string;
}

/** Upstream nodestatus.VersionInfo, with the kubelet version of its build. */
export function versionInfo(
  readVersionInfo: () => Result<VersionInfo>, // typically the facts' versions
  runtimeType: () => string, // typically the name that CRI Version answers
  runtimeVersion: () => Result<string>, // typically the version that CRI Version answers
  kubeletVersion: string, // typically v1.36.0-rollcall-v<version>
): Setter {
  return (node) => {
    const versions = readVersionInfo();
    if (!versions.ok) return `error getting version info: ${versions.error}`;
    const runtime = runtimeVersion();
    setNodeInfo(node, {
      kernelVersion: versions.value.kernelVersion,
      osImage: versions.value.osImage,
      containerRuntimeVersion: `${runtimeType()}://${runtime.ok ? runtime.value : "Unknown"}`,
      kubeletVersion,
      // Deprecated: clears the field of an older kubelet.
      kubeProxyVersion: "",
    });
    return null;
  };
}
