// The part of a node's KubeletConfiguration that decides about its Node: the schema that a report carries it in, and
// the kubelet's defaults for what is absent. Applies nothing.
import * as z from "zod/mini";
import en from "zod/v4/locales/en.js";
import { parseReserved } from "../resources/allocatable.ts";
import { parseThresholds } from "../resources/eviction-thresholds.ts";
import { labelKeyErrors, labelValueErrors } from "../kubernetes/validation.ts";
import { validateNodeLabels } from "../node/labels.ts";
import { withReservedCpus } from "../resources/reserved-cpus.ts";
import { errorOrNull } from "../result.ts";

// Of zod's two faces the one that weighs a third: the shim lives with it for years. Its words are asked for.
z.config(en());

const INT32_MAX = 2 ** 31 - 1;

/** The limits of the settings; [least, most]. What the kubelet leaves open is bounded here, for the Worker's sake. */
export const SETTINGS_LIMITS = {
  nodeStatusUpdateFrequencyMs: [1000, 3_600_000],
  nodeStatusReportFrequencyMs: [1000, 86_400_000],
  nodeLeaseDurationSeconds: [1, 3600],
  evictionPressureTransitionPeriodMs: [0, 86_400_000],
  taints: 64,
  nodeLabels: 64,
  /** Of eviction thresholds or reservations: more than there are signals and resources. */
  entries: 16,
  /** Characters of a threshold, a reservation, or the name of either. */
  entryLength: 64,
  reservedSystemCPUsLength: 1024,
  providerIDLength: 1024,
} as const;

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

/** --cloud-provider. The kubelet of today knows `external` only; the others are what those up to 1.26 had built in. */
export const CLOUD_PROVIDERS = ["external", "aws", "gce", "azure", "file"] as const;
export type CloudProvider = (typeof CLOUD_PROVIDERS)[number];

/** Half a surrogate pair comes back from an apiserver as another character, and would be a change for ever. */
export const wellFormed = (maxLength: number) =>
  z.string().check(
    z.maxLength(maxLength),
    z.refine((value) => value.isWellFormed(), "not well-formed Unicode"),
  );

/** What becomes a label's value: the apiserver refuses a Node with any other. */
export const labelValue = z
  .string()
  .check(z.refine((value) => labelValueErrors(value).length === 0, "not a label's value"));

const within = ([least, most]: readonly [number, number]) => z.int().check(z.minimum(least), z.maximum(most));

const entry = wellFormed(SETTINGS_LIMITS.entryLength);
const entries = z
  .record(entry, entry)
  .check(z.refine((map) => Object.keys(map).length <= SETTINGS_LIMITS.entries, "too many entries"));

const taint = z.strictObject({
  key: z.string().check(
    z.maxLength(317),
    z.refine((key) => labelKeyErrors(key).length === 0, "not a taint's key"),
  ),
  value: z.optional(labelValue),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
});

export const nodeTaints = z
  .array(taint)
  .check(z.maxLength(SETTINGS_LIMITS.taints), z.refine(areDistinctTaints, "a key and effect twice"));

export const nodeLabels = z
  .record(z.string().check(z.maxLength(317)), z.string().check(z.maxLength(63)))
  .check(
    z.refine((map) => Object.keys(map).length <= SETTINGS_LIMITS.nodeLabels, "too many labels"),
    z.superRefine((map, context) => {
      const message = validateNodeLabels(map);
      if (message !== null) context.addIssue({ code: "custom", message });
    }),
  );

/**
 * An absent setting has the kubelet's default. There are no defaults in the schema: a report's digest is taken over
 * what the machine sent, and a value put in here would change it.
 */
export const settingsSchema = z
  .strictObject({
    hostname: labelValue.check(z.minLength(1)),
    nodeStatusUpdateFrequencyMs: within(SETTINGS_LIMITS.nodeStatusUpdateFrequencyMs),
    nodeStatusReportFrequencyMs: within(SETTINGS_LIMITS.nodeStatusReportFrequencyMs),
    nodeLeaseDurationSeconds: within(SETTINGS_LIMITS.nodeLeaseDurationSeconds),
    /** null: the default taint. Honoured where the join token allows it. */
    registerWithTaints: z.nullable(nodeTaints),
    /** False: the Node is updated where it exists, and never created. */
    registerNode: z.optional(z.boolean()),
    /** --node-labels: what NodeRestriction lets a kubelet set. */
    nodeLabels: z.optional(nodeLabels),
    /** --inventory-labels: the Node is labelled with the models of its hardware. */
    inventoryLabels: z.optional(z.boolean()),
    providerID: z.optional(wellFormed(SETTINGS_LIMITS.providerIDLength)),
    /** Absent: no cloud. With any but `external` the facts' `cloud` says what its metadata are. */
    cloudProvider: z.optional(z.enum(CLOUD_PROVIDERS)),
    /** Was the hostname configured, not found? It then stands before the cloud's. */
    hostnameOverridden: z.optional(z.boolean()),
    maxPods: within([0, INT32_MAX]),
    /** 0: no limit. */
    podsPerCore: z.optional(within([0, INT32_MAX])),
    /** -1: all. */
    nodeStatusMaxImages: z.optional(within([-1, INT32_MAX])),
    /** As it is in force: merged with the defaults where that is configured. */
    evictionHard: z.optional(entries),
    evictionSoft: z.optional(entries),
    evictionSoftGracePeriod: z.optional(entries),
    evictionMinimumReclaim: z.optional(entries),
    evictionPressureTransitionPeriodMs: z.optional(
      within(SETTINGS_LIMITS.evictionPressureTransitionPeriodMs),
    ),
    systemReserved: z.optional(entries),
    kubeReserved: z.optional(entries),
    /** A list such as `0-3,8`: their number takes the place of both reservations of CPU. */
    reservedSystemCPUs: z.optional(z.string().check(z.maxLength(SETTINGS_LIMITS.reservedSystemCPUsLength))),
    enableControllerAttachDetach: z.optional(z.boolean()),
    localStorageCapacityIsolation: z.optional(z.boolean()),
    /** --volume-limits: attach limits are resources of the Node, as with kubelets up to 1.16. */
    volumeLimits: z.optional(z.boolean()),
    /** --keep-terminated-pod-volumes, which kubelets up to 1.27 announce in an annotation. */
    keepTerminatedPodVolumes: z.optional(z.boolean()),
  })
  .check(
    z.superRefine((settings, context) => {
      const fault = textFault(settings);
      if (fault !== null) context.addIssue({ code: "custom", path: [fault.field], message: fault.message });
    }),
  );
export type Settings = z.infer<typeof settingsSchema>;

/**
 * How often a machine reports. Reports are what renews the lease, and the kubelet renews it four times within its
 * duration (upstream leaseRenewIntervalFraction), however seldom it looks at its status.
 */
export function reportIntervalMs(
  settings: Pick<Settings, "nodeStatusUpdateFrequencyMs" | "nodeLeaseDurationSeconds">,
): number {
  const { nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds } = settings;
  return Math.min(nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds * 250);
}

/** The settings that hold texts of their own syntax, by the kubelet's names. */
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

/** The first text that the kubelet would not start with, in upstream's words; null: none. */
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
