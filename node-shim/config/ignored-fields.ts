// Lists the fields of a KubeletConfiguration (v1beta1, v1.37.2) that have no effect on this machine, with their
// types. Such fields configure pods, containers and other work of a kubelet. Source: k8s.io/kubelet/config/v1beta1
// KubeletConfiguration.

/** The type of a field: a Go scalar, a list of one type, a map with free keys ("*"), or a struct. */
export type IgnoredType =
  | "string"
  | "bool"
  | "int32"
  | "int64"
  | "uint32"
  | "float"
  | "duration"
  | "durationOrNumber"
  | "quantity"
  | readonly [IgnoredType]
  | { readonly [field: string]: IgnoredType };

export const IGNORED_FIELDS = {
  enableServer: "bool",
  staticPodPath: "string",
  podLogsDir: "string",
  syncFrequency: "duration",
  fileCheckFrequency: "duration",
  httpCheckFrequency: "duration",
  staticPodURL: "string",
  staticPodURLHeader: { "*": ["string"] },
  address: "string",
  port: "int32",
  readOnlyPort: "int32",
  tlsCertFile: "string",
  tlsPrivateKeyFile: "string",
  tlsCipherSuites: ["string"],
  tlsCurvePreferences: ["int32"],
  tlsMinVersion: "string",
  rotateCertificates: "bool",
  serverTLSBootstrap: "bool",
  authentication: {
    anonymous: { enabled: "bool" },
    webhook: { cacheTTL: "duration", enabled: "bool" },
    x509: { clientCAFile: "string" },
  },
  authorization: {
    mode: "string",
    webhook: { cacheAuthorizedTTL: "duration", cacheUnauthorizedTTL: "duration" },
  },
  registryPullQPS: "int32",
  registryBurst: "int32",
  imagePullCredentialsVerificationPolicy: "string",
  preloadedImagesVerificationAllowlist: ["string"],
  eventRecordQPS: "int32",
  eventBurst: "int32",
  enableDebuggingHandlers: "bool",
  enableContentionProfiling: "bool",
  healthzPort: "int32",
  healthzBindAddress: "string",
  oomScoreAdj: "int32",
  clusterDomain: "string",
  clusterDNS: ["string"],
  streamingConnectionIdleTimeout: "duration",
  imageMinimumGCAge: "duration",
  imageMaximumGCAge: "duration",
  imageGCHighThresholdPercent: "int32",
  imageGCLowThresholdPercent: "int32",
  volumeStatsAggPeriod: "duration",
  kubeletCgroups: "string",
  systemCgroups: "string",
  cgroupRoot: "string",
  cgroupDriver: "string",
  cpuManagerPolicy: "string",
  singleProcessOOMKill: "bool",
  cpuManagerPolicyOptions: { "*": "string" },
  cpuManagerReconcilePeriod: "duration",
  memoryManagerPolicy: "string",
  topologyManagerPolicy: "string",
  topologyManagerScope: "string",
  topologyManagerPolicyOptions: { "*": "string" },
  qosReserved: { "*": "string" },
  hairpinMode: "string",
  podCIDR: "string",
  podPidsLimit: "int64",
  resolvConf: "string",
  runOnce: "bool",
  cpuCFSQuota: "bool",
  cpuCFSQuotaPeriod: "duration",
  maxOpenFiles: "int64",
  contentType: "string",
  kubeAPIQPS: "int32",
  kubeAPIBurst: "int32",
  serializeImagePulls: "bool",
  maxParallelImagePulls: "int32",
  evictionMaxPodGracePeriod: "int32",
  protectKernelDefaults: "bool",
  makeIPTablesUtilChains: "bool",
  iptablesMasqueradeBit: "int32",
  iptablesDropBit: "int32",
  featureGates: { "*": "bool" },
  failSwapOn: "bool",
  memorySwap: { swapBehavior: "string" },
  containerLogMaxSize: "string",
  containerLogMaxFiles: "int32",
  containerLogMaxWorkers: "int32",
  containerLogMonitorInterval: "duration",
  configMapAndSecretChangeDetectionStrategy: "string",
  showHiddenMetricsForVersion: "string",
  allowedUnsafeSysctls: ["string"],
  defaultPodSysctls: { "*": "string" },
  volumePluginDir: "string",
  kernelMemcgNotification: "bool",
  logging: {
    flushFrequency: "durationOrNumber",
    format: "string",
    options: {
      json: { infoBufferSize: "quantity", splitStream: "bool" },
      text: { infoBufferSize: "quantity", splitStream: "bool" },
    },
    verbosity: "uint32",
    vmodule: [{ filePattern: "string", verbosity: "uint32" }],
  },
  enableSystemLogHandler: "bool",
  enableSystemLogQuery: "bool",
  shutdownGracePeriodByPodPriority: [{ priority: "int32", shutdownGracePeriodSeconds: "int64" }],
  crashLoopBackOff: { maxContainerRestartPeriod: "duration" },
  reservedMemory: [{ limits: { "*": "quantity" }, numaNode: "int32" }],
  enableProfilingHandler: "bool",
  enableDebugFlagsHandler: "bool",
  seccompDefault: "bool",
  memoryThrottlingFactor: "float",
  memoryReservationPolicy: "string",
  tracing: { endpoint: "string", samplingRatePerMillion: "int32" },
  failCgroupV1: "bool",
  userNamespaces: { idsPerPod: "int64" },
} as const satisfies Record<string, IgnoredType>;

/** The TypeScript type of values that have an IgnoredType. */
type ValueOf<Type> = Type extends "bool"
  ? boolean
  : Type extends "int32" | "int64" | "uint32" | "float"
    ? number
    : Type extends "durationOrNumber" | "quantity"
      ? string | number
      : Type extends string
        ? string
        : Type extends readonly [infer Item]
          ? ValueOf<Item>[]
          : Type extends { readonly "*": infer Item }
            ? Record<string, ValueOf<Item>>
            : { [Field in keyof Type]?: ValueOf<Type[Field]> };

export type IgnoredField = keyof typeof IGNORED_FIELDS;
/** The values of the fields without an effect, as a file sets them. */
export type IgnoredValues = { [Field in IgnoredField]?: ValueOf<(typeof IGNORED_FIELDS)[Field]> };
