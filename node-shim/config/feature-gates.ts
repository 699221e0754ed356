// Lists the feature gates of a kubelet of Kubernetes v1.36.3, and decides which gates a configuration turns on. The
// shim itself has none. Source: DefaultMutableFeatureGate's GetAll() and Dependencies() in a program that imports
// cmd/kubelet/app.
import { failure, type Result, success } from "../../shared/result.ts";
import { nearestName } from "./nearest-name.ts";

interface Gates {
  stage: "alpha" | "beta" | "stable" | "deprecated";
  isOn: boolean;
  /** true if a configuration cannot change the gate. */
  isLocked: boolean;
  names: readonly string[];
}

const words = (text: string) => text.trim().split(/\s+/);

export const KNOWN_GATES: readonly Gates[] = [
  {
    stage: "alpha",
    isOn: false,
    isLocked: false,
    names: words(`
      APIServingWithRoutine AllowUnsafeMalformedObjectDeletion CBORServingAndStorage
      CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
      CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook
      ContainerStopSignals ControllerManagerReleaseLeaderElectionLockOnExit CrossNamespaceVolumeDataSource
      DRAListTypeAttributes DRANodeAllocatableResources DRAResourcePoolStatus DRAWorkloadResourceClaims
      EventedPLEG GangScheduling GenericWorkload HPAScaleToZero ImageVolumeWithDigest
      InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory
      KubeletInUserNamespace LoggingAlphaOptions ManifestBasedAdmissionControlConfig MemoryQoS
      MutablePVNodeAffinity NativeHistograms PersistentVolumeClaimUnusedSinceTime
      PodAndContainerStatsFromCRI PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI QOSReserved
      ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi ShardedListAndWatch
      StorageCapacityScoring StorageVersionAPI TaintTolerationComparisonOperators
      TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport
      VolumeLimitScaling WindowsCPUAndMemoryAffinity WorkloadAwarePreemption WorkloadWithJob
    `),
  },
  {
    stage: "beta",
    isOn: false,
    isLocked: false,
    names: words(`
      ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode
      CoordinatedLeaderElection DRADeviceTaintRules LocalStorageCapacityIsolationFSQuotaMonitoring
      MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls
      StorageVersionMigrator
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
      ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation ContainerCheckpoint
      ContainerRestartRules ContextualLogging DRAConsumableCapacity DRADeviceBindingConditions
      DRADeviceTaints DRAExtendedResource DRAPartitionableDevices DRAResourceClaimDeviceStatus
      DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout DeclarativeValidationBeta
      DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet
      GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance
      HostnameOverride InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling
      InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
      KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
      LoggingBetaOptions MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
      MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs NodeDeclaredFeatures
      NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching PLEGOnDemandRelist
      PodDeletionCost PodLevelResources PodReadyToStartContainersCondition PodTopologyLabelsAdmission
      PortForwardWebsockets PreventStaticPodAPIReferences RelaxedServiceNameValidation
      ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile RemoteRequestHeaderUID
      ResourceHealthStatus ResourceHealthStatusMessage RestartAllContainersOnContainerExits
      RotateKubeletServerCertificate SchedulerAsyncPreemption SchedulerPopFromBackoffQ
      ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet
      StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet
      StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison StorageVersionHash
      StrictIPCIDRValidation StructuredAuthenticationConfigurationEgressSelector
      StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
      TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
      UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO
      WatchCacheInitializationPostStartHook WatchList WatchListClient WindowsGracefulNodeShutdown
    `),
  },
  {
    stage: "stable",
    isOn: true,
    isLocked: false,
    names: words(`
      AllowServiceExternalIPs CustomCPUCFSQuotaPeriod DRAPrioritizedList InformerResourceVersion
      MutatingAdmissionPolicy
    `),
  },
  {
    stage: "stable",
    isOn: true,
    isLocked: true,
    names: words(`
      APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AuthorizeNodeWithSelectors
      AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions CRDValidationRatcheting
      CSIServiceAccountTokenSecrets ConsistentListFromCache CustomResourceFieldSelectors DRAAdminAccess
      DeclarativeValidation DisableAllocatorDualWrite DynamicResourceAllocation ExecProbeTimeout
      ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume InOrderInformers
      InPlacePodVerticalScaling JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy
      JobSuccessPolicy KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletPSI
      KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing LogarithmicScaleDown
      MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator MutableCSINodeAllocatableCount
      NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap
      OrderedNamespaceDeletion PodLifecycleSleepAction PodLifecycleSleepActionAllowZero
      PodObservedGenerationTracking PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType
      RecoverVolumeExpansionFailure RecursiveReadOnlyMounts RelaxedDNSSearchValidation
      RelaxedEnvironmentVariableValidation ResilientWatchCacheInitialization RetryGenerateName
      SELinuxChangePolicy SELinuxMountReadWriteOncePod SchedulerQueueingHints
      SeparateTaintEvictionController ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
      ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo SidecarContainers
      StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
      StructuredAuthenticationConfiguration SupplementalGroupsPolicy SystemdWatchdog
      TopologyManagerPolicyOptions UserNamespacesSupport VolumeAttributesClass WinDSR WinOverlay
    `),
  },
  {
    stage: "deprecated",
    isOn: false,
    isLocked: false,
    names: words(`
      AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
      ChangeContainerStatusOnKubeletRestart DeclarativeValidationTakeover KMSv1
      KubeletRegistrationGetOnExistsOnly WindowsHostNetwork
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
      DisableCPUQuotaWithExclusiveCPUs KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping
      StorageNamespaceIndex
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
];

/** For each feature gate, the other gates that must be on too. */
export const NEEDED_GATES: Readonly<Record<string, readonly string[]>> = {
  AuthorizeNodeWithSelectors: ["AuthorizeWithSelectors"],
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
  GangScheduling: ["GenericWorkload"],
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
  PodCertificateRequest: ["AuthorizeNodeWithSelectors"],
  PodLevelResourceManagers: ["PodLevelResources"],
  PodLifecycleSleepActionAllowZero: ["PodLifecycleSleepAction"],
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
  StructuredAuthenticationConfigurationEgressSelector: ["StructuredAuthenticationConfiguration"],
  StructuredAuthenticationConfigurationJWKSMetrics: ["StructuredAuthenticationConfiguration"],
  TopologyAwareWorkloadScheduling: ["GenericWorkload"],
  UnknownVersionInteroperabilityProxy: ["APIServerIdentity"],
  UserNamespacesHostNetworkSupport: ["NodeDeclaredFeatures", "UserNamespacesSupport"],
  WindowsGracefulNodeShutdown: ["GracefulNodeShutdown"],
  WorkloadAwarePreemption: ["GangScheduling"],
  WorkloadWithJob: ["GenericWorkload"],
};

/** Returns whether the gate with this name is on. */
export type FeatureGates = (name: string) => boolean;

const known = new Map(KNOWN_GATES.flatMap((gates) => gates.names.map((name) => [name, gates] as const)));

/** The gates that turn all gates of a stage on or off, except gates that the configuration names. */
const STAGES: ReadonlyMap<string, string> = new Map([
  ["AllAlpha", "alpha"],
  ["AllBeta", "beta"],
]);

/** Returns the gates that `set` turns on, or a fault, like the compiled-in version's featureGate.SetFromMap. */
export function featureGates(set: Readonly<Record<string, boolean>>): Result<FeatureGates> {
  for (const [name, isOn] of Object.entries(set)) {
    if (STAGES.has(name)) continue;
    const gate = known.get(name);
    if (!gate)
      return failure(
        `unrecognized feature gate: ${name}; the nearest known name is ${nearestName(name, [...known.keys(), ...STAGES.keys()])}`,
      );
    if (gate.isLocked && gate.isOn !== isOn)
      return failure(`cannot set feature gate ${name} to ${isOn}, feature is locked to ${gate.isOn}`);
  }
  const ofStage = new Map([...STAGES].map(([name, stage]) => [stage, set[name]]));
  const isOn: FeatureGates = (name) => {
    const gate = known.get(name);
    return set[name] ?? ofStage.get(gate?.stage ?? "") ?? gate?.isOn ?? false;
  };
  for (const [name, needed] of Object.entries(NEEDED_GATES)) {
    const off = needed.filter((need) => !isOn(need));
    if (isOn(name) && off.length > 0)
      return failure(`${name} is enabled, but depends on features that are disabled: ${off.join(", ")}`);
  }
  return success(isOn);
}
