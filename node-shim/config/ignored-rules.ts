// Checks the contents of the fields that have no effect on this machine, and the rules between them. The shim
// refuses each file that a kubelet refuses (ValidateKubeletConfiguration, and the kubelet's checks at its start).
import { parseBoolean } from "../../shared/go/boolean.ts";
import { parseQuantity } from "../../shared/kubernetes/quantity/parse.ts";
import type { FeatureGates } from "./feature-gates.ts";
import { boundsFault, durationMs, type IgnoredFault } from "./ignored-bounds.ts";
import type { IgnoredField, IgnoredValues } from "./ignored-fields.ts";
import type { KubeletConfiguration } from "./schema.ts";

/** A rule: the field that it checks, and a function that returns the fault, or null if the values obey the rule. */
type Rule = readonly [
  field: IgnoredField,
  fault: (values: IgnoredValues, isOn: FeatureGates, active: KubeletConfiguration) => string | null,
];

const rule = (
  field: IgnoredField,
  isBroken: (values: IgnoredValues, isOn: FeatureGates, active: KubeletConfiguration) => boolean,
  message: string,
): Rule => [field, (...given) => (isBroken(...given) ? message : null)];

/** Returns a rule that checks the content of one field, if the file sets that field. */
const content = <Field extends IgnoredField>(
  field: Field,
  fault: (value: NonNullable<IgnoredValues[Field]>) => string | null,
): Rule => [field, ({ [field]: value }) => (value === undefined ? null : fault(value))];

const IMAGE_MINIMUM_AGE = "2m";
const CFS_QUOTA_PERIOD = "100ms";
/** The least number of user IDs that a pod gets: 2^16. */
const USER_NAMESPACE_UNIT = 65_536;
const MAX_UINT32 = 2 ** 32 - 1;

const RULES: readonly Rule[] = [
  rule(
    "imageGCLowThresholdPercent",
    ({ imageGCLowThresholdPercent: low = 80, imageGCHighThresholdPercent: high = 85 }) => low >= high,
    "must be less than imageGCHighThresholdPercent (defaults: 80 and 85)",
  ),
  rule(
    "imageMaximumGCAge",
    ({ imageMaximumGCAge: most = "0s", imageMinimumGCAge: least = IMAGE_MINIMUM_AGE }) =>
      durationMs(most) > 0 && durationMs(most) <= durationMs(orDefault(least, IMAGE_MINIMUM_AGE)),
    `must be greater than imageMinimumGCAge (default: ${IMAGE_MINIMUM_AGE})`,
  ),
  rule(
    "maxParallelImagePulls",
    ({ maxParallelImagePulls: pulls = 1, serializeImagePulls }) => pulls > 1 && serializeImagePulls === true,
    "cannot be larger than 1 unless serializeImagePulls is false",
  ),
  rule("runOnce", ({ runOnce }) => runOnce === true, "must be false: kubelets no longer support it"),
  rule(
    "systemCgroups",
    ({ systemCgroups = "", cgroupRoot = "" }) => systemCgroups !== "" && cgroupRoot === "",
    "needs cgroupRoot",
  ),
  rule(
    "enableSystemLogQuery",
    ({ enableSystemLogQuery, enableSystemLogHandler }) =>
      enableSystemLogQuery === true && enableSystemLogHandler === false,
    "needs enableSystemLogHandler",
  ),
  rule(
    "cpuCFSQuotaPeriod",
    ({ cpuCFSQuotaPeriod: period = CFS_QUOTA_PERIOD }, isOn) => {
      const ms = durationMs(orDefault(period, CFS_QUOTA_PERIOD));
      return isOn("CustomCPUCFSQuotaPeriod") ? ms < 1 || ms > 1000 : ms !== durationMs(CFS_QUOTA_PERIOD);
    },
    "must be between 1ms and 1s, and needs the feature gate CustomCPUCFSQuotaPeriod",
  ),
  rule(
    "serverTLSBootstrap",
    ({ serverTLSBootstrap }, isOn) => serverTLSBootstrap === true && !isOn("RotateKubeletServerCertificate"),
    "requires the feature gate RotateKubeletServerCertificate",
  ),
  rule(
    "featureGates",
    (_, isOn, { shutdownGracePeriod, shutdownGracePeriodCriticalPods: critical }) =>
      !isOn("GracefulNodeShutdown") && (durationMs(shutdownGracePeriod) > 0 || durationMs(critical) > 0),
    "must not turn off GracefulNodeShutdown where shutdownGracePeriod is set",
  ),
  rule(
    "shutdownGracePeriodByPodPriority",
    ({ shutdownGracePeriodByPodPriority: periods = [] }, isOn, active) =>
      periods.length > 0 &&
      (!isOn("GracefulNodeShutdownBasedOnPodPriority") ||
        durationMs(active.shutdownGracePeriod) > 0 ||
        durationMs(active.shutdownGracePeriodCriticalPods) > 0),
    "cannot be specified together with shutdownGracePeriod, nor without the feature gate GracefulNodeShutdownBasedOnPodPriority",
  ),
  rule(
    "crashLoopBackOff",
    ({ crashLoopBackOff: { maxContainerRestartPeriod: period } = {} }, isOn) =>
      period !== undefined &&
      (!isOn("KubeletCrashLoopBackOffMax") || durationMs(period) < 1000 || durationMs(period) > 300_000),
    "must be between 1s and 5m, and needs the feature gate KubeletCrashLoopBackOffMax",
  ),
  rule(
    "defaultPodSysctls",
    ({ defaultPodSysctls = {} }, isOn) =>
      Object.keys(defaultPodSysctls).length > 0 && !isOn("DefaultPodSysctls"),
    "requires the feature gate DefaultPodSysctls",
  ),
  rule(
    "memoryReservationPolicy",
    ({ memoryReservationPolicy: policy }, isOn) => policy === "TieredReservation" && !isOn("MemoryQoS"),
    "requires the feature gate MemoryQoS",
  ),
  ["cpuManagerPolicyOptions", cpuOptionsFault],
  rule(
    "cpuManagerPolicy",
    ({ cpuManagerPolicy }, _, { systemReserved, kubeReserved, reservedSystemCPUs }) =>
      cpuManagerPolicy === "static" &&
      reservedSystemCPUs === "" &&
      ![systemReserved["cpu"], kubeReserved["cpu"]].some(isMoreThanZero),
    "static needs CPUs that are reserved: reservedSystemCPUs, or cpu in systemReserved or kubeReserved",
  ),
  ["imagePullCredentialsVerificationPolicy", imagePolicyFault],
  content(
    "allowedUnsafeSysctls",
    (patterns) => patterns.map(sysctlFault).find((fault) => fault !== null) ?? null,
  ),
  content("defaultPodSysctls", defaultSysctlsFault),
  content("authorization", ({ mode = "" }) => oneOf("mode", mode, ["AlwaysAllow", "Webhook"])),
  content("containerLogMaxSize", (size) =>
    size === "" || parseQuantity(size).ok ? null : `"${size}" is not a quantity such as 10Mi`,
  ),
  content("logging", loggingFault),
  content("memorySwap", ({ swapBehavior = "" }) =>
    oneOf("swapBehavior", swapBehavior, ["NoSwap", "LimitedSwap"]),
  ),
  content("podLogsDir", podLogsDirFault),
  content("preloadedImagesVerificationAllowlist", imagePatternFault),
  content("qosReserved", qosReservedFault),
  content("reservedMemory", reservedMemoryFault),
  content("tlsCipherSuites", (suites) => {
    const unknown = suites.find((suite) => !TLS_CIPHER_SUITES.has(suite));
    return unknown === undefined ? null : `has ${unknown}, which is no cipher suite that a kubelet supports`;
  }),
  content("tlsCurvePreferences", (curves) => {
    const unknown = curves.find((curve) => !TLS_CURVES.has(curve));
    if (unknown !== undefined) return `has ${unknown}, which is no curve that a kubelet supports`;
    return new Set(curves).size === curves.length ? null : "has a curve twice";
  }),
  content("tracing", tracingFault),
  content("userNamespaces", ({ idsPerPod: ids }) =>
    ids === undefined || (ids >= USER_NAMESPACE_UNIT && ids % USER_NAMESPACE_UNIT === 0 && ids <= MAX_UINT32)
      ? null
      : `idsPerPod must be a multiple of ${USER_NAMESPACE_UNIT}, at most ${MAX_UINT32}`,
  ),
];

/** Returns the fault of the first broken rule; null if the values obey every rule. */
export function ignoredFault(
  values: IgnoredValues,
  isOn: FeatureGates,
  active: KubeletConfiguration,
): IgnoredFault | null {
  const outside = boundsFault(values);
  if (outside !== null) return outside;
  for (const [field, fault] of RULES) {
    const message = fault(values, isOn, active);
    if (message !== null) return { field, message };
  }
  return null;
}

/** The options of the static CPU manager policy, and the feature gate that each option needs. */
const CPU_OPTIONS: ReadonlyMap<string, string | null> = new Map([
  ["full-pcpus-only", null],
  ["strict-cpu-reservation", null],
  ["prefer-align-cpus-by-uncorecache", null],
  ["distribute-cpus-across-numa", "CPUManagerPolicyBetaOptions"],
  ["align-by-socket", "CPUManagerPolicyAlphaOptions"],
  ["distribute-cpus-across-cores", "CPUManagerPolicyAlphaOptions"],
]);

function cpuOptionsFault(
  { cpuManagerPolicy: policy, cpuManagerPolicyOptions: options = {} }: IgnoredValues,
  isOn: FeatureGates,
): string | null {
  for (const [name, value] of Object.entries(options)) {
    const gate = CPU_OPTIONS.get(name);
    if (policy !== "static") return "needs cpuManagerPolicy static";
    if (gate === undefined) return `has ${name}, which is none of ${[...CPU_OPTIONS.keys()].join(", ")}`;
    if (gate !== null && !isOn(gate)) return `has ${name}, which requires the feature gate ${gate}`;
    if (parseBoolean(value) === null) return `has ${name}: "${value}", which is neither true nor false`;
  }
  return null;
}

/** Returns the first bad pattern's fault, or null. A pattern is an image without tag and digest, or ends with /*. */
function imagePatternFault(patterns: string[]): string | null {
  const wrong = patterns.find((pattern) => !/^[^*\s@:/]+(?::\d+)?(?:\/[^*\s@:/]+)*(?:\/\*)?$/.test(pattern));
  return wrong === undefined
    ? null
    : `has "${wrong}", which is neither an image's name without tag and digest, nor ends with /*`;
}

/** Returns `text`, or `byDefault` if the text's duration is 0, which means the default. */
function orDefault(text: string, byDefault: string): string {
  return durationMs(text) === 0 ? byDefault : text;
}

function isMoreThanZero(quantity: string | undefined): boolean {
  const parsed = quantity === undefined ? undefined : parseQuantity(quantity);
  return parsed?.ok === true && Number.parseFloat(quantity ?? "") > 0;
}

function oneOf(field: string, value: string, choices: readonly string[]): string | null {
  if (value === "" || choices.includes(value)) return null;
  return `${field} must be one of ${choices.join(", ")}, not "${value}"`;
}

const IMAGE_POLICIES = [
  "NeverVerify",
  "NeverVerifyPreloadedImages",
  "NeverVerifyAllowlistedImages",
  "AlwaysVerify",
];

function imagePolicyFault(
  {
    imagePullCredentialsVerificationPolicy: policy = "",
    preloadedImagesVerificationAllowlist: images = [],
  }: IgnoredValues,
  isOn: FeatureGates,
): string | null {
  if (!isOn("KubeletEnsureSecretPulledImages"))
    return policy === "" && images.length === 0
      ? null
      : "and preloadedImagesVerificationAllowlist need the feature gate KubeletEnsureSecretPulledImages";
  if (images.length > 0 && policy !== "NeverVerifyAllowlistedImages")
    return "must be NeverVerifyAllowlistedImages where preloadedImagesVerificationAllowlist is set";
  return oneOf("it", policy, IMAGE_POLICIES);
}

function loggingFault({
  format = "",
  flushFrequency,
  vmodule = [],
}: NonNullable<IgnoredValues["logging"]>): string | null {
  if (typeof flushFrequency === "string" && durationMs(flushFrequency) < 0)
    return "flushFrequency must be greater than zero";
  const hasWrongPattern = vmodule.some(({ filePattern = "" }) => !/^[^=,]+$/.test(filePattern));
  if (hasWrongPattern) return "vmodule's filePattern must not be empty, nor contain an equal sign or a comma";
  if (vmodule.length > 0 && format === "json") return "vmodule is only supported for the text format";
  return oneOf("format", format, ["text", "json"]);
}

/** Returns the folder's fault, or null. A relative path needs no normal form: the kubelet normalizes it. */
function podLogsDirFault(folder: string): string | null {
  if (/[^\0-\x7f]/.test(folder)) return "must contain ASCII characters only";
  const isNormal =
    !folder
      .split("/")
      .slice(1)
      .some((part) => ["", ".", ".."].includes(part)) || folder === "/";
  return !folder.startsWith("/") || isNormal ? null : `${folder} must be normalized`;
}

function qosReservedFault(reserved: Record<string, string>): string | null {
  for (const [resource, share] of Object.entries(reserved)) {
    if (resource !== "memory") return `cannot reserve ${resource}, memory alone`;
    if (!/^\+?\d{1,9}%+$/.test(share) || Number.parseInt(share, 10) > 100)
      return `"${share}" must be a whole percentage between 0% and 100%`;
  }
  return null;
}

function reservedMemoryFault(reserved: NonNullable<IgnoredValues["reservedMemory"]>): string | null {
  const seen = new Set<string>();
  for (const { numaNode = 0, limits = {} } of reserved) {
    for (const [resource, amount] of Object.entries(limits)) {
      const where = `${resource} of NUMA node ${numaNode}`;
      if (resource !== "memory" && !resource.startsWith("hugepages-"))
        return `cannot reserve ${where}: only memory and hugepages-<size> can be`;
      if (Number.parseFloat(String(amount)) === 0) return `may not be zero for ${where}`;
      if (seen.has(where)) return `has ${where} twice`;
      seen.add(where);
    }
  }
  return null;
}

function tracingFault({
  samplingRatePerMillion: rate = 0,
  endpoint = "",
}: NonNullable<IgnoredValues["tracing"]>): string | null {
  if (rate < 0 || rate > 1_000_000) return "samplingRatePerMillion must be between 0 and 1000000";
  const scheme = /^([^/]*):\/\//.exec(endpoint)?.[1];
  return scheme === undefined ? null : oneOf("endpoint's scheme", scheme, ["dns", "unix", "unix-abstract"]);
}

const MAX_LENGTH = 253;
const PATTERN = /^(?:[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9*][-_a-z0-9*]*$/;
const NAMESPACED = new Set([
  "kernel.domainname",
  "kernel.sem",
  ...["all", "max", "mni", "_rmid_forced", ""].map((name) => `kernel.shm${name}`),
  ...["max", "mnb", "mni", ""].map((name) => `kernel.msg${name}`),
]);
const NAMESPACED_FOLDERS = ["net.", "fs.mqueue.", "user."];

/** Returns a sysctl pattern's fault; null if namespaced, also by a prefix and an asterisk (upstream NewAllowlist). */
function sysctlFault(pattern: string): string | null {
  if (pattern.length > MAX_LENGTH || !PATTERN.test(pattern) || !/^[^*]*\*?$/.test(pattern))
    return `"${pattern}" is no sysctl, and no pattern of some`;
  const beginning = normalSysctl(pattern).replace("*", "");
  const isNamespaced =
    NAMESPACED.has(beginning) || NAMESPACED_FOLDERS.some((folder) => beginning.startsWith(folder));
  return isNamespaced ? null : `the sysctls "${pattern}" are not known to be namespaced`;
}

/** Returns a sysctl with points between its parts: `net/ipv4/ip_forward` is `net.ipv4.ip_forward` (NormalizeName). */
function normalSysctl(name: string): string {
  if (/[./]/.exec(name)?.[0] !== "/") return name;
  return name.replaceAll(/[./]/g, (separator) => (separator === "/" ? "." : "/"));
}

/** Returns the fault of the first sysctl that Kubernetes 1.37 would not apply to pods, or null. */
function defaultSysctlsFault(sysctls: Record<string, string>): string | null {
  const seen = new Set<string>();
  for (const name of Object.keys(sysctls)) {
    const fault = name.includes("*") ? `"${name}" is no sysctl` : sysctlFault(name);
    if (fault !== null) return fault;
    if (seen.has(normalSysctl(name))) return `has ${normalSysctl(name)} twice`;
    seen.add(normalSysctl(name));
  }
  return null;
}

const CBC_AND_GCM = ["AES_128_CBC_SHA", "AES_128_CBC_SHA256", "AES_128_GCM_SHA256", "AES_256_CBC_SHA"];
const RSA_CIPHERS = [...CBC_AND_GCM, "AES_256_GCM_SHA384", "RC4_128_SHA", "3DES_EDE_CBC_SHA"];
const CHACHA = ["CHACHA20_POLY1305", "CHACHA20_POLY1305_SHA256"];

/** The names of cipher suites that the kubelet accepts. Source: component-base/cli/flag TLSCipherPossibleValues. */
const TLS_CIPHER_SUITES: ReadonlySet<string> = new Set([
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  ...[...CBC_AND_GCM, "AES_256_GCM_SHA384", "RC4_128_SHA", ...CHACHA].map(
    (cipher) => `TLS_ECDHE_ECDSA_WITH_${cipher}`,
  ),
  ...[...RSA_CIPHERS, ...CHACHA].map((cipher) => `TLS_ECDHE_RSA_WITH_${cipher}`),
  ...RSA_CIPHERS.map((cipher) => `TLS_RSA_WITH_${cipher}`),
]);

/** The kubelet's TLS curves, by Go 1.26 CurveID: P-256, P-384, P-521, X25519, and the three hybrids with ML-KEM. */
const TLS_CURVES: ReadonlySet<number> = new Set([23, 24, 25, 29, 4587, 4588, 4589]);
