// The defaults of a KubeletConfiguration (SetDefaults_KubeletConfiguration, DefaultEvictionHard). Validates nothing.
import { parseDuration } from "../../shared/go/duration.ts";
import { effectiveEvictionHard } from "../../shared/resources/eviction.ts";
import { DEFAULT_SETTINGS } from "../../shared/protocol/settings.ts";
import type { Field, GivenFields, KubeletConfiguration } from "./schema.ts";
import { valueOr } from "../../shared/result.ts";

const {
  podsPerCore,
  nodeStatusMaxImages,
  reservedSystemCPUs,
  registerNode,
  providerID,
  enableControllerAttachDetach,
  localStorageCapacityIsolation,
} = DEFAULT_SETTINGS;

/** The values of a configuration that sets nothing. */
const DEFAULTS: KubeletConfiguration = {
  nodeStatusUpdateFrequency: "10s",
  nodeStatusReportFrequency: "5m",
  nodeLeaseDurationSeconds: 40,
  registerNode,
  registerWithTaints: null,
  providerID,
  maxPods: 110,
  podsPerCore,
  nodeStatusMaxImages,
  evictionHard: effectiveEvictionHard(null, false),
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
  evictionPressureTransitionPeriod: `${DEFAULT_SETTINGS.evictionPressureTransitionPeriodMs / 60_000}m`,
  mergeDefaultEvictionSettings: false,
  systemReserved: {},
  kubeReserved: {},
  reservedSystemCPUs,
  enforceNodeAllocatable: ["pods"],
  systemReservedCgroup: "",
  kubeReservedCgroup: "",
  cgroupsPerQOS: true,
  enableControllerAttachDetach,
  localStorageCapacityIsolation,
  shutdownGracePeriod: "0s",
  shutdownGracePeriodCriticalPods: "0s",
  containerRuntimeEndpoint: null,
  imageServiceEndpoint: "",
  runtimeRequestTimeout: "2m",
};

/** In these fields 0 means "not set". In all others 0 is a value, or the default. */
const ZERO_IS_UNSET: ReadonlySet<Field> = new Set<Field>([
  "nodeStatusUpdateFrequency",
  "nodeStatusReportFrequency",
  "nodeLeaseDurationSeconds",
  "maxPods",
  "evictionPressureTransitionPeriod",
  "runtimeRequestTimeout",
]);

/** The values of a file with its defaults, and which fields it has set. */
export function withDefaults(given: GivenFields): { values: KubeletConfiguration; set: ReadonlySet<Field> } {
  const entries = Object.entries(given) as [Field, unknown][];
  const own = entries.filter(([field, value]) => value !== undefined && !isUnset(field, value));
  const set = new Set(own.map(([field]) => field));
  const values: KubeletConfiguration = { ...DEFAULTS, ...(Object.fromEntries(own) as GivenFields as object) };
  // An update frequency that is set is the report frequency's default as well.
  if (set.has("nodeStatusUpdateFrequency") && !set.has("nodeStatusReportFrequency"))
    values.nodeStatusReportFrequency = values.nodeStatusUpdateFrequency;
  if (set.has("evictionHard"))
    values.evictionHard = effectiveEvictionHard(values.evictionHard, values.mergeDefaultEvictionSettings);
  return { values, set };
}

function isUnset(field: Field, value: unknown): boolean {
  if (!ZERO_IS_UNSET.has(field)) return false;
  return typeof value === "string" ? valueOr(parseDuration(value), null) === 0 : value === 0;
}
