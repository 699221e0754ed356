// The schema of the settings, and the kubelet's defaults for absent ones. Settings are the part of a KubeletConfiguration
// that decides about the Node.
import * as z from "zod/mini";
import { parseReserved, withReservedCpus } from "../resources/allocatable.ts";
import { parseThresholds } from "../resources/eviction.ts";
import { labelKeyErrors } from "../kubernetes/validation.ts";
import { validateNodeLabels } from "../kubernetes/labels.ts";
import { NAME_LIMITS, SETTINGS_LIMITS } from "./limits.ts";
import { atMost, labelValue, plainText, within } from "./schema.ts";
import { errorOrNull } from "../result.ts";

/** The kubelet's defaults (SetDefaults_KubeletConfiguration) of the settings that may be absent from a report. */
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

/** --cloud-provider. Today's kubelet has `external` alone; the others were built into kubelets up to 1.26. */
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

/**
 * An absent setting has the kubelet's default. The schema adds no defaults, since an added value would change the facts'
 * digest.
 */
export const settingsSchema = z
  .strictObject({
    hostname: labelValue.check(z.minLength(1)),
    nodeStatusUpdateFrequencyMs: within(SETTINGS_LIMITS.nodeStatusUpdateFrequencyMs),
    nodeStatusReportFrequencyMs: within(SETTINGS_LIMITS.nodeStatusReportFrequencyMs),
    nodeLeaseDurationSeconds: within(SETTINGS_LIMITS.nodeLeaseDurationSeconds),
    /** null: the default taint. The join token must allow the others. */
    registerWithTaints: z.nullable(nodeTaints),
    /** False: the Worker updates an existing Node and creates none. */
    registerNode: z.optional(z.boolean()),
    /** --node-labels, within what NodeRestriction allows a kubelet. */
    nodeLabels: z.optional(nodeLabels),
    /** --inventory-labels: the Node gets labels with the models of its hardware. */
    inventoryLabels: z.optional(z.boolean()),
    providerID: z.optional(plainText(SETTINGS_LIMITS.providerIDLength)),
    /** Absent: no cloud. With any but `external`, the facts' `cloud` has its metadata. */
    cloudProvider: z.optional(z.enum(CLOUD_PROVIDERS)),
    /** True if the hostname was configured. It then takes precedence over the cloud's. */
    hostnameOverridden: z.optional(z.boolean()),
    maxPods: within(SETTINGS_LIMITS.maxPods),
    /** 0: no limit. */
    podsPerCore: z.optional(within(SETTINGS_LIMITS.podsPerCore)),
    /** -1: all. */
    nodeStatusMaxImages: z.optional(within(SETTINGS_LIMITS.nodeStatusMaxImages)),
    /** The effective thresholds, merged with the defaults if configured so. */
    evictionHard: z.optional(entries),
    evictionSoft: z.optional(entries),
    evictionSoftGracePeriod: z.optional(entries),
    evictionMinimumReclaim: z.optional(entries),
    evictionPressureTransitionPeriodMs: z.optional(
      within(SETTINGS_LIMITS.evictionPressureTransitionPeriodMs),
    ),
    systemReserved: z.optional(entries),
    kubeReserved: z.optional(entries),
    /** A list such as `0-3,8`. The number of these CPUs replaces both reservations of CPU. */
    reservedSystemCPUs: z.optional(z.string().check(z.maxLength(SETTINGS_LIMITS.reservedSystemCPUsLength))),
    enableControllerAttachDetach: z.optional(z.boolean()),
    localStorageCapacityIsolation: z.optional(z.boolean()),
    /** --volume-limits: attach limits are resources of the Node, as with kubelets up to 1.16. */
    volumeLimits: z.optional(z.boolean()),
    /** --keep-terminated-pod-volumes, which kubelets up to 1.27 announce in an annotation. */
    keepTerminatedPodVolumes: z.optional(z.boolean()),
    /** False: --register-schedulable=false of older kubelets. The Node is created cordoned. */
    registerSchedulable: z.optional(z.boolean()),
    /** --network-unavailable: the Node is created with NetworkUnavailable, which a route controller then ends. */
    networkUnavailable: z.optional(z.boolean()),
    /**
     * True if the shim searches for a container runtime, since none is configured: `runtime: null` in the facts then means
     * that none was found. Otherwise it means that the machine is configured without one.
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

/**
 * Returns how often a machine reports. Reports renew the lease, which a kubelet renews four times within its duration
 * (upstream leaseRenewIntervalFraction).
 */
export function reportIntervalMs(
  settings: Pick<Settings, "nodeStatusUpdateFrequencyMs" | "nodeLeaseDurationSeconds">,
): number {
  const { nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds } = settings;
  return Math.min(nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds * 250);
}

/** The settings whose texts have a syntax of their own. */
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

/** Returns the first text with which a kubelet would not start, and upstream's error; null if there is none. */
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

/** Upstream validateNodeTaints. */
function areDistinctTaints(taints: readonly { key: string; effect: string }[]): boolean {
  return new Set(taints.map(({ key, effect }) => `${key}:${effect}`)).size === taints.length;
}
