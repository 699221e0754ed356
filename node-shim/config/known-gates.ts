// Lists the feature gates of the kubelets of Kubernetes v1.36.3 and v1.37.2. Source: DefaultMutableFeatureGate's GetAll()
// and Dependencies() in a program that imports cmd/kubelet/app.

/** The releases whose configurations the shim accepts, the newest last. */
export const RELEASES = ["1.36", "1.37"] as const;
export type Release = (typeof RELEASES)[number];

interface Gates {
  /** The only release that has these gates, or has them so; absent if both releases have them. */
  only?: Release;
  stage: "alpha" | "beta" | "stable" | "deprecated";
  isOn: boolean;
  /** true if a configuration cannot change the gate. */
  isLocked: boolean;
  names: readonly string[];
}

/** For each feature gate, the other gates that must be on too. */
type Needs = Readonly<Record<string, readonly string[]>>;

const words = (text: string) => text.trim().split(/\s+/);

const KNOWN_GATES: readonly Gates[] = [
  {
    stage: "alpha",
    isOn: false,
    isLocked: false,
    names: words(`
      APIServingWithRoutine CBORServingAndStorage CPUManagerPolicyAlphaOptions CRIListStreaming
      CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
      CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook
      ContainerStopSignals ControllerManagerReleaseLeaderElectionLockOnExit
      CrossNamespaceVolumeDataSource DRAListTypeAttributes DRANodeAllocatableResources
      DRAResourcePoolStatus EventedPLEG ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
      InPlacePodVerticalScalingExclusiveMemory LoggingAlphaOptions MutablePVNodeAffinity
      PodLogsQuerySplitStreams QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi
      ShardedListAndWatch StorageVersionAPI TaintTolerationComparisonOperators
      TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport
      WindowsCPUAndMemoryAffinity WorkloadWithJob
    `),
  },
  {
    stage: "beta",
    isOn: false,
    isLocked: false,
    names: words(`
      CoordinatedLeaderElection LocalStorageCapacityIsolationFSQuotaMonitoring SchedulerAsyncAPICalls
    `),
  },
  {
    stage: "beta",
    isOn: true,
    isLocked: false,
    names: words(`
      APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO
      AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions
      CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
      ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation
      ContainerCheckpoint ContainerRestartRules ContextualLogging DRAConsumableCapacity
      DRADeviceBindingConditions DRAPartitionableDevices DRAResourceClaimGranularStatusAuthorization
      DRASchedulerFilterTimeout DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas
      DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown
      GracefulNodeShutdownBasedOnPodPriority InOrderInformersBatchProcess
      InPlacePodLevelResourcesVerticalScaling KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
      KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
      LoggingBetaOptions MatchLabelKeysInPodTopologySpread
      MatchLabelKeysInPodTopologySpreadSelectorMerge MutablePodResourcesForSuspendedJobs
      MutableSchedulingDirectivesForSuspendedJobs NominatedNodeNameForExpectation OpenAPIEnums
      OpportunisticBatching PodDeletionCost PodLevelResources PodTopologyLabelsAdmission
      PortForwardWebsockets ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
      RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
      RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption
      SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate
      StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
      StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
      StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation
      StructuredAuthenticationConfigurationEgressSelector
      StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
      TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
      UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO
      WatchList WatchListClient WindowsGracefulNodeShutdown
    `),
  },
  {
    stage: "deprecated",
    isOn: false,
    isLocked: false,
    names: words(`
      AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
      ChangeContainerStatusOnKubeletRestart KMSv1 KubeletRegistrationGetOnExistsOnly WindowsHostNetwork
    `),
  },
  {
    stage: "deprecated",
    isOn: false,
    isLocked: true,
    names: words(`
      AllowOverwriteTerminationGracePeriodSeconds GitRepoVolumeDriver SeparateCacheWatchRPC
    `),
  },
  {
    stage: "deprecated",
    isOn: true,
    isLocked: false,
    names: words(`
      KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping StorageNamespaceIndex
    `),
  },
  {
    stage: "deprecated",
    isOn: true,
    isLocked: true,
    names: words(`
      AggregatedDiscoveryRemoveBetaType DisableNodeKubeProxyVersion
    `),
  },
  {
    stage: "stable",
    isOn: true,
    isLocked: false,
    names: words(`
      AllowServiceExternalIPs CustomCPUCFSQuotaPeriod InformerResourceVersion MutatingAdmissionPolicy
    `),
  },
  {
    stage: "stable",
    isOn: true,
    isLocked: true,
    names: words(`
      CPUManagerPolicyOptions CRDValidationRatcheting CSIServiceAccountTokenSecrets
      CustomResourceFieldSelectors DRAAdminAccess DeclarativeValidation DisableAllocatorDualWrite
      DynamicResourceAllocation ExecProbeTimeout ExternalServiceAccountTokenSigner ImageMaximumGCAge
      ImageVolume InOrderInformers InPlacePodVerticalScaling JobManagedBy KubeletCgroupDriverFromCRI
      KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet
      KubeletTracing MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator
      MutableCSINodeAllocatableCount NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread
      NodeLogQuery NodeSwap PodObservedGenerationTracking PodSchedulingReadiness
      PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts
      RelaxedEnvironmentVariableValidation SELinuxChangePolicy SELinuxMountReadWriteOncePod
      SeparateTaintEvictionController ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
      ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo SupplementalGroupsPolicy
      SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport VolumeAttributesClass WinDSR
      WinOverlay
    `),
  },
  {
    only: "1.36",
    stage: "alpha",
    isOn: false,
    isLocked: false,
    names: words(`
      AllowUnsafeMalformedObjectDeletion DRAWorkloadResourceClaims GangScheduling GenericWorkload
      HPAScaleToZero KubeletInUserNamespace ManifestBasedAdmissionControlConfig MemoryQoS
      NativeHistograms PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI
      PodLevelResourceManagers PodsAPI StorageCapacityScoring VolumeLimitScaling WorkloadAwarePreemption
    `),
  },
  {
    only: "1.36",
    stage: "beta",
    isOn: false,
    isLocked: false,
    names: words(`
      ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode DRADeviceTaintRules
      MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount StorageVersionMigrator
    `),
  },
  {
    only: "1.36",
    stage: "beta",
    isOn: true,
    isLocked: false,
    names: words(`
      DRADeviceTaints DRAExtendedResource DRAResourceClaimDeviceStatus HPAConfigurableTolerance
      HostnameOverride InPlacePodVerticalScalingInitContainers NodeDeclaredFeatures PLEGOnDemandRelist
      PodReadyToStartContainersCondition PreventStaticPodAPIReferences RelaxedServiceNameValidation
      WatchCacheInitializationPostStartHook
    `),
  },
  {
    only: "1.36",
    stage: "deprecated",
    isOn: false,
    isLocked: false,
    names: words(`
      DeclarativeValidationTakeover
    `),
  },
  {
    only: "1.36",
    stage: "deprecated",
    isOn: true,
    isLocked: false,
    names: words(`
      DisableCPUQuotaWithExclusiveCPUs
    `),
  },
  {
    only: "1.36",
    stage: "stable",
    isOn: true,
    isLocked: false,
    names: words(`
      DRAPrioritizedList
    `),
  },
  {
    only: "1.36",
    stage: "stable",
    isOn: true,
    isLocked: true,
    names: words(`
      APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AuthorizeNodeWithSelectors
      AuthorizeWithSelectors BtreeWatchCache ConsistentListFromCache JobBackoffLimitPerIndex
      JobPodReplacementPolicy JobSuccessPolicy LogarithmicScaleDown OrderedNamespaceDeletion
      PodLifecycleSleepAction PodLifecycleSleepActionAllowZero RelaxedDNSSearchValidation
      ResilientWatchCacheInitialization RetryGenerateName SchedulerQueueingHints SidecarContainers
      StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
      StructuredAuthenticationConfiguration
    `),
  },
  {
    only: "1.37",
    stage: "alpha",
    isOn: false,
    isLocked: false,
    names: words(`
      APIServerWebhookAuthenticationToken AtomicWriteVolumeUserFields CompositePodGroup
      ConsistentListFromCacheSkipTimeoutFallback DRADerivedAttributes DRADeviceCompatibilityGroups
      DRAOptionalNodeOperations DRAPartitionableDevicesType DefaultPodSysctls EmptyDirVolumeMode
      EvictionRequestAPI GRPCContainerProbeTLS H2CContainerProbe
      InPlacePodVerticalScalingMemoryBackedVolumes InPlacePodVerticalScalingSchedulerPreemption
      InterPodAffinityHostnameFastPath KubeProxyNFTablesLocalhostNodePorts KubeletAllocatedPodsEndpoint
      NodeLifecycleConditions PodGroupPreemptionPolicy SchedulerPreQueueingHints
      StatefulSetRecreateStrategy VolumeBindMountOptions
    `),
  },
  {
    only: "1.37",
    stage: "beta",
    isOn: false,
    isLocked: false,
    names: words(`
      DRAFractionalCapacityRange DRAWorkloadResourceClaims GenericWorkload PodAndContainerStatsFromCRI
      PodLevelResourceManagers
    `),
  },
  {
    only: "1.37",
    stage: "beta",
    isOn: true,
    isLocked: false,
    names: words(`
      AllowUnsafeMalformedObjectDeletion ConcurrentWatchObjectDecode EtcdRangeStream
      ExcludeAdmissionWebhookVirtualResources HPAGeneration HPAOptimizedSelectorStore HPAScaleToZero
      HugepageAwareEviction KubeletInUserNamespace ManifestBasedAdmissionControlConfig
      MaxUnavailableStatefulSet MemoryQoS NFTablesNetlink NativeHistograms
      NodeControllerLeaseCircuitBreaker PersistentVolumeClaimUnusedSinceTime
      PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass PodsAPI
      StaleControllerConsistencyHPA StorageCapacityScoring VolumeLimitScaling WatchListCompression
      WebhookRoundTripLoadBalancing
    `),
  },
  {
    only: "1.37",
    stage: "deprecated",
    isOn: false,
    isLocked: true,
    names: words(`
      DeclarativeValidationTakeover
    `),
  },
  {
    only: "1.37",
    stage: "deprecated",
    isOn: true,
    isLocked: false,
    names: words(`
      KubeProxyIPVS
    `),
  },
  {
    only: "1.37",
    stage: "deprecated",
    isOn: true,
    isLocked: true,
    names: words(`
      DisableCPUQuotaWithExclusiveCPUs
    `),
  },
  {
    only: "1.37",
    stage: "stable",
    isOn: true,
    isLocked: false,
    names: words(`
      ClusterTrustBundle ClusterTrustBundleProjection DRADeviceTaintRules DRADeviceTaints
      PodCertificateRequest SELinuxMount StorageVersionMigrator
    `),
  },
  {
    only: "1.37",
    stage: "stable",
    isOn: true,
    isLocked: true,
    names: words(`
      DRAExtendedResource DRAPrioritizedList DRAResourceClaimDeviceStatus HPAConfigurableTolerance
      HostnameOverride InPlacePodVerticalScalingInitContainers NodeDeclaredFeatures PLEGOnDemandRelist
      PodReadyToStartContainersCondition RelaxedServiceNameValidation
      WatchCacheInitializationPostStartHook
    `),
  },
];

/** The needs in both releases. */
const NEEDED_GATES: Needs = {
  ClusterTrustBundleProjection: ["ClusterTrustBundle"],
  DRAAdminAccess: ["DynamicResourceAllocation"],
  DRAConsumableCapacity: ["DynamicResourceAllocation"],
  DRADeviceBindingConditions: ["DRAResourceClaimDeviceStatus", "DynamicResourceAllocation"],
  DRADeviceTaintRules: ["DRADeviceTaints"],
  DRADeviceTaints: ["DynamicResourceAllocation"],
  DRAExtendedResource: ["DynamicResourceAllocation"],
  DRAListTypeAttributes: ["DynamicResourceAllocation"],
  DRANodeAllocatableResources: ["DynamicResourceAllocation"],
  DRAPartitionableDevices: ["DynamicResourceAllocation"],
  DRAPrioritizedList: ["DynamicResourceAllocation"],
  DRAResourceClaimGranularStatusAuthorization: ["DRAResourceClaimDeviceStatus", "DynamicResourceAllocation"],
  DRAResourcePoolStatus: ["DynamicResourceAllocation"],
  DRASchedulerFilterTimeout: ["DynamicResourceAllocation"],
  DRAWorkloadResourceClaims: ["DynamicResourceAllocation", "GenericWorkload"],
  DeclarativeValidationBeta: ["DeclarativeValidation"],
  DeclarativeValidationTakeover: ["DeclarativeValidation"],
  DisableAllocatorDualWrite: ["MultiCIDRServiceAllocator"],
  ExtendWebSocketsToKubelet: ["NodeDeclaredFeatures"],
  GracefulNodeShutdownBasedOnPodPriority: ["GracefulNodeShutdown"],
  ImageVolumeWithDigest: ["ImageVolume"],
  InPlacePodLevelResourcesVerticalScaling: [
    "InPlacePodVerticalScaling",
    "NodeDeclaredFeatures",
    "PodLevelResources",
  ],
  InPlacePodVerticalScalingExclusiveCPUs: ["InPlacePodVerticalScaling"],
  InPlacePodVerticalScalingExclusiveMemory: ["InPlacePodVerticalScaling"],
  InPlacePodVerticalScalingInitContainers: ["InPlacePodVerticalScaling", "NodeDeclaredFeatures"],
  MatchLabelKeysInPodTopologySpreadSelectorMerge: ["MatchLabelKeysInPodTopologySpread"],
  PodLevelResourceManagers: ["PodLevelResources"],
  ProcMountType: ["UserNamespacesSupport"],
  ResourceHealthStatus: ["DynamicResourceAllocation"],
  ResourceHealthStatusMessage: ["ResourceHealthStatus"],
  RestartAllContainersOnContainerExits: ["ContainerRestartRules", "NodeDeclaredFeatures"],
  ServiceAccountTokenNodeBinding: ["ServiceAccountTokenNodeBindingValidation"],
  StaleControllerConsistencyDaemonSet: ["AtomicFIFO"],
  StaleControllerConsistencyJob: ["AtomicFIFO"],
  StaleControllerConsistencyReplicaSet: ["AtomicFIFO"],
  StaleControllerConsistencyStatefulSet: ["AtomicFIFO"],
  StorageVersionAPI: ["APIServerIdentity"],
  TopologyAwareWorkloadScheduling: ["GenericWorkload"],
  UnknownVersionInteroperabilityProxy: ["APIServerIdentity"],
  UserNamespacesHostNetworkSupport: ["NodeDeclaredFeatures", "UserNamespacesSupport"],
  WindowsGracefulNodeShutdown: ["GracefulNodeShutdown"],
  WorkloadWithJob: ["GenericWorkload"],
};

/** The needs in one of the releases only. */
const NEEDED_BY_RELEASE: Record<Release, Needs> = {
  "1.36": {
    AuthorizeNodeWithSelectors: ["AuthorizeWithSelectors"],
    GangScheduling: ["GenericWorkload"],
    PodCertificateRequest: ["AuthorizeNodeWithSelectors"],
    PodLifecycleSleepActionAllowZero: ["PodLifecycleSleepAction"],
    StructuredAuthenticationConfigurationEgressSelector: ["StructuredAuthenticationConfiguration"],
    StructuredAuthenticationConfigurationJWKSMetrics: ["StructuredAuthenticationConfiguration"],
    WorkloadAwarePreemption: ["GangScheduling"],
  },
  "1.37": {
    CompositePodGroup: ["GenericWorkload", "TopologyAwareWorkloadScheduling"],
    DRADerivedAttributes: ["DynamicResourceAllocation"],
    DRADeviceCompatibilityGroups: ["DRAPartitionableDevices", "DynamicResourceAllocation"],
    DRAFractionalCapacityRange: ["DRAConsumableCapacity"],
    DRAOptionalNodeOperations: ["DynamicResourceAllocation", "NodeDeclaredFeatures"],
    DRAPartitionableDevicesType: [
      "DRAPartitionableDevices",
      "DRAResourcePoolStatus",
      "DynamicResourceAllocation",
    ],
    EventedPLEG: ["PLEGOnDemandRelist"],
    H2CContainerProbe: ["NodeDeclaredFeatures"],
    InPlacePodVerticalScalingMemoryBackedVolumes: ["InPlacePodVerticalScaling", "NodeDeclaredFeatures"],
    InPlacePodVerticalScalingSchedulerPreemption: ["InPlacePodVerticalScaling"],
    KubeletAllocatedPodsEndpoint: ["InPlacePodVerticalScaling"],
    NodeControllerLeaseCircuitBreaker: ["AtomicFIFO"],
    PodGroupPreemptionPolicy: ["GenericWorkload"],
    PodLevelResourcesFixDefaulting: ["PodLevelResources"],
    PodLevelResourcesFixKubeletQOSClass: ["PodLevelResources"],
    StaleControllerConsistencyHPA: ["AtomicFIFO"],
  },
};

export interface ReleaseGates {
  /** The gates of a release, by name. */
  gates: ReadonlyMap<string, Gates>;
  /** The gates that a gate needs, by name. */
  needs: ReadonlyMap<string, readonly string[]>;
}

/** Returns the feature gates of a release. */
export function gatesOf(release: Release): ReleaseGates {
  const groups = KNOWN_GATES.filter(({ only = release }) => only === release);
  return {
    gates: new Map(groups.flatMap((group) => group.names.map((name) => [name, group] as const))),
    needs: new Map(Object.entries({ ...NEEDED_GATES, ...NEEDED_BY_RELEASE[release] })),
  };
}
