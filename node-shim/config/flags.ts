// Reads the kubelet's flags that are configuration fields. A flag overrides the file (kubeletConfigFlagPrecedence).
import { parseTaintsFlag } from "../../shared/kubernetes/taints.ts";
import { parseBoolean } from "../../shared/go/boolean.ts";
import { parseInteger } from "../../shared/go/integer.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { type Field, type GivenFields, kubeletConfigurationFields } from "./schema.ts";

/** Parses the texts (at least one) of a flag, in the command line's order. Throws an error with the fault. */
type Read = (texts: string[]) => unknown;

/** The flags by name, each with its field, the shape of its value in --help, and its parser. */
export const CONFIGURATION_FLAGS = {
  "node-status-update-frequency": ["nodeStatusUpdateFrequency", "<duration>", last],
  "register-node": ["registerNode", "[boolean]", readBoolean],
  "register-with-taints": ["registerWithTaints", "<key=value:effect,...>", readTaints],
  "provider-id": ["providerID", "<id>", last],
  "max-pods": ["maxPods", "<number>", readNumber],
  "pods-per-core": ["podsPerCore", "<number>", readNumber],
  "node-status-max-images": ["nodeStatusMaxImages", "<number>", readNumber],
  "eviction-hard": ["evictionHard", "<signal<amount,...>", (texts) => readPairs(texts, "<")],
  "eviction-soft": ["evictionSoft", "<signal<amount,...>", (texts) => readPairs(texts, "<")],
  "eviction-soft-grace-period": ["evictionSoftGracePeriod", "<signal=duration,...>", readAssignments],
  "eviction-minimum-reclaim": ["evictionMinimumReclaim", "<signal=amount,...>", readAssignments],
  "eviction-pressure-transition-period": ["evictionPressureTransitionPeriod", "<duration>", last],
  "system-reserved": ["systemReserved", "<resource=amount,...>", readAssignments],
  "kube-reserved": ["kubeReserved", "<resource=amount,...>", readAssignments],
  "reserved-cpus": ["reservedSystemCPUs", "<list>", last],
  "enforce-node-allocatable": ["enforceNodeAllocatable", "<level,...>", readList],
  "system-reserved-cgroup": ["systemReservedCgroup", "<name>", last],
  "kube-reserved-cgroup": ["kubeReservedCgroup", "<name>", last],
  "cgroups-per-qos": ["cgroupsPerQOS", "[boolean]", readBoolean],
  "enable-controller-attach-detach": ["enableControllerAttachDetach", "[boolean]", readBoolean],
  "local-storage-capacity-isolation": ["localStorageCapacityIsolation", "[boolean]", readBoolean],
  "container-runtime-endpoint": ["containerRuntimeEndpoint", "<unix:///path>", last],
  "image-service-endpoint": ["imageServiceEndpoint", "<unix:///path>", last],
  "runtime-request-timeout": ["runtimeRequestTimeout", "<duration>", last],
} as const satisfies Record<string, readonly [field: Field, shape: string, read: Read]>;

export type ConfigurationFlag = keyof typeof CONFIGURATION_FLAGS;
/** The texts of each flag on the command line, where a flag may come more than once. */
export type FlagTexts = Partial<Record<ConfigurationFlag, string[]>>;

/** Returns the fields that flags set, and each field's flag. Throws, with flag and fault, for an invalid flag. */
export function readFlags(texts: FlagTexts): { given: GivenFields; flagOf: ReadonlyMap<Field, string> } {
  const given: Record<string, unknown> = {};
  const flagOf = new Map<Field, string>();
  for (const [name, values = []] of Object.entries(texts) as [ConfigurationFlag, string[] | undefined][]) {
    if (values.length === 0) continue;
    const [field, , read] = CONFIGURATION_FLAGS[name];
    const flag = `--${name}`;
    try {
      given[field] = read(values);
    } catch (error) {
      throw new Error(`${flag}: ${(error as Error).message}`, { cause: error });
    }
    const parsed = kubeletConfigurationFields.shape[field].safeParse(given[field]);
    if (!parsed.success) throw new Error(`${flag}: ${firstFault(parsed.error).message}`);
    flagOf.set(field, flag);
  }
  return { given, flagOf };
}

function last(texts: string[]): string {
  return texts.at(-1) ?? "";
}

export function readBoolean(texts: string[]): boolean {
  const text = last(texts);
  const value = parseBoolean(text);
  if (value === null) throw new Error(`"${text}" is neither true nor false`);
  return value;
}

function readNumber(texts: string[]): number {
  const text = last(texts);
  const number = parseInteger(text);
  if (number === null) throw new Error(`"${text}" is not a whole number`);
  return number;
}

/** Parses comma-separated lists, as pflag's StringSlice does. */
function readList(texts: string[]): string[] {
  return texts.flatMap((text) => (text === "" ? [] : text.split(",")));
}

function readTaints(texts: string[]) {
  const parsed = parseTaintsFlag(last(texts));
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value.taints;
}

function readAssignments(texts: string[]): Record<string, string> {
  return readPairs(texts, "=");
}

/** Parses a map that replaces the file's whole map (upstream MapStringString, LangleSeparatedMapStringString). */
function readPairs(texts: string[], separator: "=" | "<"): Record<string, string> {
  const pairs: [string, string][] = [];
  for (const pair of readList(texts)) {
    if (pair === "") continue;
    const at = pair.indexOf(separator);
    if (at < 0) throw new Error(`"${pair}" has no ${separator}`);
    pairs.push([pair.slice(0, at).trim(), pair.slice(at + 1).trim()]);
  }
  return Object.fromEntries(pairs);
}
