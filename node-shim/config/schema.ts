// Describes KubeletConfiguration (kubelet.config.k8s.io/v1beta1): the fields that have an effect on the Node, with
// their Go types. validation.ts has their ranges and the rules between them, config.ts their defaults.
import * as z from "zod/mini";
import { parseDuration } from "../../shared/go/duration.ts";
import { labelKeyErrors, labelValueErrors } from "../../shared/kubernetes/validation.ts";
import { SETTINGS_LIMITS } from "../../shared/protocol/limits.ts";

export const API_VERSION = "kubelet.config.k8s.io/v1beta1";
export const KIND = "KubeletConfiguration";

const textWithout = (fault: (text: string) => string | undefined) =>
  z.string().check(
    z.superRefine((text, context) => {
      const message = fault(text);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    }),
  );

/** Accepts Go's text of a duration: `10s`, `5m`, `1m30s`, `500ms`. */
const duration = textWithout((text) =>
  parseDuration(text).ok ? undefined : `"${text}" is not a duration such as 10s or 5m`,
);
const int32 = z.int().check(z.minimum(-(2 ** 31)), z.maximum(2 ** 31 - 1));
const texts = z.record(z.string(), z.string());

/** Accepts a taint as CheckTaintValidation does. Requires an effect, as the apiserver does for a Node's taints. */
const taint = z.strictObject({
  key: textWithout((text) => labelKeyErrors(text)[0]),
  value: z.optional(textWithout((text) => labelValueErrors(text)[0])),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
});

export const kubeletConfigurationFields = z.strictObject({
  nodeStatusUpdateFrequency: duration,
  nodeStatusReportFrequency: duration,
  nodeLeaseDurationSeconds: int32,
  registerNode: z.boolean(),
  registerWithTaints: z.array(taint).check(
    z.maxLength(SETTINGS_LIMITS.taints),
    z.refine(
      (taints) => new Set(taints.map(({ key, effect }) => `${key}:${effect}`)).size === taints.length,
      "two taints have the same key and effect",
    ),
  ),
  providerID: z.string(),
  maxPods: int32,
  podsPerCore: int32,
  nodeStatusMaxImages: int32,
  evictionHard: texts,
  evictionSoft: texts,
  evictionSoftGracePeriod: texts,
  evictionMinimumReclaim: texts,
  evictionPressureTransitionPeriod: duration,
  mergeDefaultEvictionSettings: z.boolean(),
  systemReserved: texts,
  kubeReserved: texts,
  reservedSystemCPUs: z.string(),
  enforceNodeAllocatable: z.array(z.string()),
  systemReservedCgroup: z.string(),
  kubeReservedCgroup: z.string(),
  cgroupsPerQOS: z.boolean(),
  enableControllerAttachDetach: z.boolean(),
  localStorageCapacityIsolation: z.boolean(),
  shutdownGracePeriod: duration,
  shutdownGracePeriodCriticalPods: duration,
  /** null if not configured: the shim then searches for a runtime. */
  containerRuntimeEndpoint: z.nullable(z.string()),
  imageServiceEndpoint: z.string(),
  runtimeRequestTimeout: duration,
});

type Fields = z.infer<typeof kubeletConfigurationFields>;
export type Field = keyof Fields;
export type GivenFields = { [F in Field]?: Fields[F] | undefined };
export type KubeletConfiguration = Omit<Fields, "registerWithTaints"> & {
  /** null if not configured. */
  registerWithTaints: Fields["registerWithTaints"] | null;
};
