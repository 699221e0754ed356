// Lists the defaults of the Worker's variables. A test compares docs/deploy.md with this list.
import { GATEWAY_LIMITS } from "../protocol/limits.ts";
import { NUMBER_RANGES, type NumberVariable } from "./numbers.ts";
import type { VARIABLES } from "./variables.ts";

/** The default bounds of machines' settings. Each default is safe for an apiserver that other clients use as well. */
export const BOUND_DEFAULTS = {
  /** Half of the kubelet's default of 10 s. Each report renews the lease, and each renewal is a write of etcd. */
  MIN_REPORT_INTERVAL_SECONDS: 5,
  /** A fifth of the kubelet's default of 5 min. Each periodic write sends the whole Node. */
  MIN_STATUS_PERIOD_SECONDS: 60,
  /** Half of the kubelet's default of 40 s, so that the lease covers four reports at MIN_REPORT_INTERVAL_SECONDS. */
  MIN_LEASE_SECONDS: 20,
  /** The kubelet's default. MAX_IMAGE_BYTES leaves about 800 bytes per image; a tag and a digest need about 200. */
  MAX_IMAGES: 50,
} as const satisfies Partial<Record<NumberVariable, number>>;

/** The defaults of the variables. A variable that is not listed here is empty by default. */
export const DEFAULTS = {
  ...BOUND_DEFAULTS,
  GATEWAY_SIZE: GATEWAY_LIMITS.machines,
  SHARED_LIMITS_FACTOR: NUMBER_RANGES.SHARED_LIMITS_FACTOR[0],
  MACHINE_REQUESTS: NUMBER_RANGES.MACHINE_REQUESTS[0],
  NODE_TOPOLOGY_LABELS: "move",
  NODE_HINTS: "count",
  NODE_UNSCHEDULABLE: "off",
  FEATURES: "off",
  NODE_FEATURE_NAMESPACE: "node-feature-discovery",
  REGISTER_AGAIN: "when-silent",
  MARK_SILENT_NODES: "on",
  NODE_WATCH: "on",
  FAIL_STRANDED_PODS: "off",
  MACHINE_METRICS: "on",
  PRIVATE_WEBHOOKS: "off",
} as const satisfies Partial<Record<keyof typeof VARIABLES, number | string>>;
