// The events of a start that follow from no change: that the shim has started, and what it runs on. Records nothing.
import type { EventReason } from "../kubernetes/event-reasons.ts";
import type { Facts } from "../protocol/facts.ts";

interface StartEvent {
  type: string;
  reason: EventReason;
  message: string;
}

/** Upstream CgroupV1DeprecatedWarning: what tools compare. */
const CGROUP_V1 =
  "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1";

/** In a kubelet's order: BirthCry, then cgroupVersionCheck. What the Node's first conditions cause comes after them. */
export function startEvents({ cgroups }: Pick<Facts, "cgroups">): StartEvent[] {
  const starting: StartEvent = { type: "Normal", reason: "Starting", message: "Starting node-shim." };
  const onCgroupV1: StartEvent = { type: "Warning", reason: "CgroupV1", message: CGROUP_V1 };
  return cgroups?.version === 1 ? [starting, onCgroupV1] : [starting];
}
