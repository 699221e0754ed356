// The fields of a KubeletConfiguration that have no effect here, and the nearest name to a mistyped one.

/** Fields of v1beta1 that nothing here reads: they are about pods, containers and what else only a kubelet does. */
export const IGNORED_FIELDS: readonly string[] = [
  "enableServer",
  "staticPodPath",
  "podLogsDir",
  "syncFrequency",
  "fileCheckFrequency",
  "httpCheckFrequency",
  "staticPodURL",
  "staticPodURLHeader",
  "address",
  "port",
  "readOnlyPort",
  "tlsCertFile",
  "tlsPrivateKeyFile",
  "tlsCipherSuites",
  "tlsCurvePreferences",
  "tlsMinVersion",
  "rotateCertificates",
  "serverTLSBootstrap",
  "authentication",
  "authorization",
  "registryPullQPS",
  "registryBurst",
  "imagePullCredentialsVerificationPolicy",
  "preloadedImagesVerificationAllowlist",
  "eventRecordQPS",
  "eventBurst",
  "enableDebuggingHandlers",
  "enableContentionProfiling",
  "healthzPort",
  "healthzBindAddress",
  "oomScoreAdj",
  "clusterDomain",
  "clusterDNS",
  "streamingConnectionIdleTimeout",
  "imageMinimumGCAge",
  "imageMaximumGCAge",
  "imageGCHighThresholdPercent",
  "imageGCLowThresholdPercent",
  "volumeStatsAggPeriod",
  "kubeletCgroups",
  "systemCgroups",
  "cgroupRoot",
  "cgroupDriver",
  "cpuManagerPolicy",
  "singleProcessOOMKill",
  "cpuManagerPolicyOptions",
  "cpuManagerReconcilePeriod",
  "memoryManagerPolicy",
  "topologyManagerPolicy",
  "topologyManagerScope",
  "topologyManagerPolicyOptions",
  "qosReserved",
  "hairpinMode",
  "podCIDR",
  "podPidsLimit",
  "resolvConf",
  "runOnce",
  "cpuCFSQuota",
  "cpuCFSQuotaPeriod",
  "maxOpenFiles",
  "contentType",
  "kubeAPIQPS",
  "kubeAPIBurst",
  "serializeImagePulls",
  "maxParallelImagePulls",
  "evictionMaxPodGracePeriod",
  "protectKernelDefaults",
  "makeIPTablesUtilChains",
  "iptablesMasqueradeBit",
  "iptablesDropBit",
  "featureGates",
  "failSwapOn",
  "memorySwap",
  "containerLogMaxSize",
  "containerLogMaxFiles",
  "containerLogMaxWorkers",
  "containerLogMonitorInterval",
  "configMapAndSecretChangeDetectionStrategy",
  "showHiddenMetricsForVersion",
  "allowedUnsafeSysctls",
  "volumePluginDir",
  "kernelMemcgNotification",
  "logging",
  "enableSystemLogHandler",
  "enableSystemLogQuery",
  "shutdownGracePeriodByPodPriority",
  "crashLoopBackOff",
  "reservedMemory",
  "enableProfilingHandler",
  "enableDebugFlagsHandler",
  "seccompDefault",
  "memoryThrottlingFactor",
  "memoryReservationPolicy",
  "tracing",
  "failCgroupV1",
  "userNamespaces",
];

/** For people who mistyped a name: the one that differs least. `names` has at least one. */
export function nearestName(name: string, names: readonly string[]): string {
  const wanted = name.slice(0, 64).toLowerCase();
  let nearest = "";
  let least = Infinity;
  for (const candidate of names) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

/** Levenshtein's: how many characters to insert, delete or replace. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
