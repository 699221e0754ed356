// All checks of rollcall impact, in the order of their findings. docs/rollcall.md has them as a table.
import { clusterAutoscaler, descheduler, karpenter, proportionalAutoscaler } from "./checks/autoscalers.ts";
import { policies, webhooks } from "./checks/admission.ts";
import { cloudController } from "./checks/cloud.ts";
import { schedulerThroughput, upgradePlans, versionSkew } from "./checks/control-plane.ts";
import { kubeletService, metricsServer, nodeAlerts } from "./checks/monitoring.ts";
import { nodeAgents, nodeCidrs, routes } from "./checks/network.ts";
import { topologyHints } from "./checks/services.ts";
import { movedSelectors, movedVolumes } from "./checks/upgrade.ts";
import { daemonSets, topologySpread } from "./checks/workloads.ts";
import type { Check } from "./finding.ts";

export const CHECKS: readonly Check[] = [
  daemonSets,
  topologySpread,
  topologyHints,
  nodeCidrs,
  cloudController,
  clusterAutoscaler,
  upgradePlans,
  proportionalAutoscaler,
  descheduler,
  schedulerThroughput,
  routes,
  nodeAgents,
  kubeletService,
  metricsServer,
  nodeAlerts,
  webhooks,
  policies,
  versionSkew,
  karpenter,
];

/** Of --upgrade alone. */
export const UPGRADE_CHECKS: readonly Check[] = [movedSelectors, movedVolumes];
