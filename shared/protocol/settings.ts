// Defines the settings, the part of a KubeletConfiguration that affects the Node, and the kubelet's defaults.
import * as z from "zod/mini";
import { parseReserved, withReservedCpus } from "../resources/allocatable.ts";
import { parseThresholds } from "../resources/eviction.ts";
import { labelKeyErrors } from "../kubernetes/validation.ts";
import { validateNodeLabels } from "../kubernetes/labels.ts";
import { NAME_LIMITS, SETTINGS_LIMITS } from "./limits.ts";
import { atMost, labelValue, plainText, within } from "./schema.ts";
import { errorOrNull } from "../result.ts";

/** The kubelet's defaults (SetDefaults_KubeletConfiguration) for settings that may be absent from a report. */
export const DEFAULT_SETTINGS = {
  podsPerCore: 0,
  nodeStatusMaxImages: 50,
  evictionPressureTransitionPeriodMs: 300_000,
  reservedSystemCPUs: "",
  registerNode: true,
  providerID: "",
  enableControllerAttachDetach: true,
  localStorageCapacityIsolation: true,
} as const;

/** The values of --cloud-provider: `external`, and the providers that were built into kubelets up to 1.26. */
export const CLOUD_PROVIDERS = ["external", "aws", "gce", "azure", "file"] as const;
export type CloudProvider = (typeof CLOUD_PROVIDERS)[number];

const entry = plainText(SETTINGS_LIMITS.entryLength);
const entries = z.record(entry, entry).check(atMost(SETTINGS_LIMITS.entries, "too many entries"));

const taint = z.strictObject({
  key: z.string().check(
    z.maxLength(NAME_LIMITS.qualifiedNameLength),
    z.refine((key) => labelKeyErrors(key).length === 0, "not a taint's key"),
  ),
  value: z.optional(labelValue),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
});

export const nodeTaints = z
  .array(taint)
  .check(z.maxLength(SETTINGS_LIMITS.taints), z.refine(areDistinctTaints, "a key and effect twice"));

export const nodeLabels = z
  .record(
    z.string().check(z.maxLength(NAME_LIMITS.qualifiedNameLength)),
    z.string().check(z.maxLength(NAME_LIMITS.labelValueLength)),
  )
  .check(
    atMost(SETTINGS_LIMITS.nodeLabels, "too many labels"),
    z.superRefine((map, context) => {
      const message = validateNodeLabels(map);
      if (message !== null) context.addIssue({ code: "custom", message });
    }),
  );

/** The settings, without the kubelet's defaults: an added default would change the digest of the facts. */
export const settingsSchema = z
  .strictObject({
    hostname: labelValue.check(z.minLength(1)),
    nodeStatusUpdateFrequencyMs: within(SETTINGS_LIMITS.nodeStatusUpdateFrequencyMs),
    nodeStatusReportFrequencyMs: within(SETTINGS_LIMITS.nodeStatusReportFrequencyMs),
    nodeLeaseDurationSeconds: within(SETTINGS_LIMITS.nodeLeaseDurationSeconds),
    /** The taints of a new Node; null means the default taint. The join token must allow every other taint. */
    registerWithTaints: z.nullable(nodeTaints),
    /** false if the Worker only updates an existing Node, and never creates one. */
    registerNode: z.optional(z.boolean()),
    /** The labels of --node-labels, within the limits of NodeRestriction for a kubelet. */
    nodeLabels: z.optional(nodeLabels),
    /** --inventory-labels: true if the Node gets labels with the models of its hardware. */
    inventoryLabels: z.optional(z.boolean()),
    providerID: z.optional(plainText(SETTINGS_LIMITS.providerIDLength)),
    /** The cloud provider; absent without a cloud. For all but `external`, the facts' `cloud` has the metadata. */
    cloudProvider: z.optional(z.enum(CLOUD_PROVIDERS)),
    /** true if the hostname was configured, so that it takes precedence over the cloud's hostname. */
    hostnameOverridden: z.optional(z.boolean()),
    maxPods: within(SETTINGS_LIMITS.maxPods),
    /** The number of pods per core; 0 means no limit. */
    podsPerCore: z.optional(within(SETTINGS_LIMITS.podsPerCore)),
    /** The number of images in the Node; -1 means all. */
    nodeStatusMaxImages: z.optional(within(SETTINGS_LIMITS.nodeStatusMaxImages)),
    /** The effective hard thresholds, including defaults that the shim has merged with the configuration. */
    evictionHard: z.optional(entries),
    evictionSoft: z.optional(entries),
    evictionSoftGracePeriod: z.optional(entries),
    evictionMinimumReclaim: z.optional(entries),
    evictionPressureTransitionPeriodMs: z.optional(
      within(SETTINGS_LIMITS.evictionPressureTransitionPeriodMs),
    ),
    systemReserved: z.optional(entries),
    kubeReserved: z.optional(entries),
    /** A list of CPUs such as `0-3,8`. The number of listed CPUs replaces both reservations of CPU. */
    reservedSystemCPUs: z.optional(z.string().check(z.maxLength(SETTINGS_LIMITS.reservedSystemCPUsLength))),
    enableControllerAttachDetach: z.optional(z.boolean()),
    localStorageCapacityIsolation: z.optional(z.boolean()),
    /** --volume-limits: true if attach limits are resources of the Node, as with kubelets up to 1.16. */
    volumeLimits: z.optional(z.boolean()),
    /** --keep-terminated-pod-volumes, which kubelets up to 1.27 announce in an annotation. */
    keepTerminatedPodVolumes: z.optional(z.boolean()),
    /** --register-schedulable of older kubelets. false if the Node is created cordoned. */
    registerSchedulable: z.optional(z.boolean()),
    /** --network-unavailable: true if the Node starts with NetworkUnavailable, until a route controller sets False. */
    networkUnavailable: z.optional(z.boolean()),
    /**
     * true if no container runtime is configured, so that the shim searches for one. `runtime: null` in the facts
     * then means that none was found; otherwise the machine is configured without one.
     */
    findRuntime: z.optional(z.boolean()),
  })
  .check(
    z.superRefine((settings, context) => {
      const fault = textFault(settings);
      if (fault !== null) context.addIssue({ code: "custom", path: [fault.field], message: fault.message });
    }),
  );
export type Settings = z.infer<typeof settingsSchema>;

/** Returns the milliseconds between two reports, which renew the lease at least four times within its duration. */
export function reportIntervalMs(
  settings: Pick<Settings, "nodeStatusUpdateFrequencyMs" | "nodeLeaseDurationSeconds">,
): number {
  const { nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds } = settings;
  return Math.min(nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds * 250);
}

/**
 * The longest mean time between two heartbeats with which a gateway's sockets cost less than reports over HTTP
 * (docs/costs.md). The platform evicts a gateway after ten seconds without a message, which costs each machine a report.
 */
const PAYING_GAP_MS = 10_000;

/** Returns the least number of machines with this report interval whose sockets cost less than HTTP. */
export const leastForSockets = (intervalMs: number): number => Math.ceil(intervalMs / PAYING_GAP_MS);

/** The settings whose texts have a syntax that the schema does not check. */
type Texts = Pick<
  Settings,
  | "evictionHard"
  | "evictionSoft"
  | "evictionSoftGracePeriod"
  | "evictionMinimumReclaim"
  | "systemReserved"
  | "kubeReserved"
  | "reservedSystemCPUs"
>;

/** Returns the first text with which a kubelet would refuse to start, and upstream's error; null if there is none. */
export function textFault(texts: Texts): { field: keyof Texts; message: string } | null {
  const { evictionHard, evictionSoft, evictionSoftGracePeriod, evictionMinimumReclaim } = texts;
  const { systemReserved = {}, kubeReserved = {}, reservedSystemCPUs = "" } = texts;
  const errors: [field: keyof Texts, message: string | null][] = [
    ["evictionHard", thresholdsError({ evictionHard })],
    ["evictionSoftGracePeriod", thresholdsError({ evictionSoftGracePeriod })],
    ["evictionSoft", thresholdsError({ evictionSoft, evictionSoftGracePeriod })],
    ["evictionMinimumReclaim", thresholdsError({ evictionMinimumReclaim })],
    ["systemReserved", errorOrNull(parseReserved(systemReserved))],
    ["kubeReserved", errorOrNull(parseReserved(kubeReserved))],
    [
      "reservedSystemCPUs",
      errorOrNull(withReservedCpus({ systemReserved, kubeReserved }, reservedSystemCPUs, Infinity)),
    ],
  ];
  for (const [field, message] of errors) {
    if (message !== null) return { field, message };
  }
  return null;
}

function thresholdsError(texts: Texts): string | null {
  const given = Object.entries(texts).filter(([, value]) => value !== undefined);
  return errorOrNull(parseThresholds(Object.fromEntries(given)));
}

/** Returns true if no two taints have the same key and effect (upstream validateNodeTaints). */
function areDistinctTaints(taints: readonly { key: string; effect: string }[]): boolean {
  return new Set(taints.map(({ key, effect }) => `${key}:${effect}`)).size === taints.length;
}
