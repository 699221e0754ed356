// Checks the KubeletConfiguration fields that affect the Node, as ValidateKubeletConfiguration and a kubelet do.
import { parseDuration } from "../../shared/go/duration.ts";
import { SETTINGS_LIMITS } from "../../shared/protocol/limits.ts";
import { textFault } from "../../shared/protocol/settings.ts";
import { failure, type Result, success, valueOr } from "../../shared/result.ts";
import type { Field, KubeletConfiguration } from "./schema.ts";

interface ConfigurationFault {
  field: Field;
  message: string;
}

type Rule = (configuration: KubeletConfiguration) => ConfigurationFault | null;

const ZERO_OR_A_SECOND = "must be either zero or otherwise >= 1 sec";
const LEASE_SECONDS = SETTINGS_LIMITS.nodeLeaseDurationSeconds;

const RULES: readonly Rule[] = [
  durationWithin("nodeStatusUpdateFrequency", SETTINGS_LIMITS.nodeStatusUpdateFrequencyMs),
  durationWithin("nodeStatusReportFrequency", SETTINGS_LIMITS.nodeStatusReportFrequencyMs),
  durationWithin("evictionPressureTransitionPeriod", SETTINGS_LIMITS.evictionPressureTransitionPeriodMs),
  must("nodeLeaseDurationSeconds", (seconds) => seconds > 0, "must be greater than 0"),
  must(
    "nodeLeaseDurationSeconds",
    (seconds) => seconds <= LEASE_SECONDS[1],
    `must be at most ${LEASE_SECONDS[1]}`,
  ),
  must("nodeStatusMaxImages", (images) => images >= -1, "must be -1 or greater"),
  must("maxPods", (pods) => pods >= 0, "must not be a negative number"),
  must("podsPerCore", (pods) => pods >= 0, "must not be a negative number"),
  enforcement,
  must(
    "reservedSystemCPUs",
    (cpus, { systemReservedCgroup, kubeReservedCgroup }) =>
      cpus === "" || (systemReservedCgroup === "" && kubeReservedCgroup === ""),
    "cannot be used with systemReservedCgroup or kubeReservedCgroup",
  ),
  must("shutdownGracePeriod", isZeroOrASecond, ZERO_OR_A_SECOND),
  must("shutdownGracePeriodCriticalPods", isZeroOrASecond, ZERO_OR_A_SECOND),
  must(
    "shutdownGracePeriodCriticalPods",
    (critical, { shutdownGracePeriod }) => milliseconds(critical) <= milliseconds(shutdownGracePeriod),
    "must be <= shutdownGracePeriod",
  ),
  textFault,
  socket("containerRuntimeEndpoint"),
  socket("imageServiceEndpoint"),
  must(
    "imageServiceEndpoint",
    (endpoint, { containerRuntimeEndpoint }) => endpoint === "" || containerRuntimeEndpoint !== "",
    "needs containerRuntimeEndpoint",
  ),
  must(
    "runtimeRequestTimeout",
    (timeout) => valueOr(parseDuration(timeout), 0) >= 1,
    "must be a millisecond at least",
  ),
];

/** Returns the fault of the first broken rule; null if the configuration obeys every rule. */
export function configurationFault(configuration: KubeletConfiguration): ConfigurationFault | null {
  for (const rule of RULES) {
    const fault = rule(configuration);
    if (fault !== null) return fault;
  }
  return null;
}

function must<F extends Field>(
  field: F,
  holds: (value: KubeletConfiguration[F], configuration: KubeletConfiguration) => boolean,
  message: string,
): Rule {
  return (configuration) => (holds(configuration[field], configuration) ? null : { field, message });
}

function isZeroOrASecond(text: string): boolean {
  const ms = milliseconds(text);
  return ms === 0 || ms >= 1000;
}

function milliseconds(duration: string): number {
  return valueOr(parseDuration(duration), 0);
}

/** Returns a rule that applies the protocol's bounds, which protect the apiserver. The kubelet has no such bounds. */
function durationWithin(
  field: "nodeStatusUpdateFrequency" | "nodeStatusReportFrequency" | "evictionPressureTransitionPeriod",
  [least, most]: readonly [number, number],
): Rule {
  return ({ [field]: text }) => {
    const durationMs = valueOr(parseDuration(text), Number.NaN);
    if (durationMs >= least && durationMs <= most) return null;
    return { field, message: `must be between ${least / 1000}s and ${most / 1000}s, not ${text}` };
  };
}

/** Returns a rule for a socket's address: "" means no runtime (for images: the runtime's socket), null a search. */
function socket(field: "containerRuntimeEndpoint" | "imageServiceEndpoint"): Rule {
  return ({ [field]: endpoint }) => {
    const socket = endpoint === "" || endpoint === null ? null : socketPathOf(endpoint);
    return socket && !socket.ok ? { field, message: socket.error } : null;
  };
}

/** For each level of enforcement, the field that the level needs. */
const ENFORCEMENTS: ReadonlyMap<string, "systemReservedCgroup" | "kubeReservedCgroup" | null> = new Map([
  ["pods", null],
  ["system-reserved", "systemReservedCgroup"],
  ["system-reserved-compressible", "systemReservedCgroup"],
  ["kube-reserved", "kubeReservedCgroup"],
  ["kube-reserved-compressible", "kubeReservedCgroup"],
  ["none", null],
]);

/** Returns enforceNodeAllocatable's fault, or null. Refuses what a kubelet refuses, but the shim enforces nothing. */
function enforcement(configuration: KubeletConfiguration): ConfigurationFault | null {
  const { enforceNodeAllocatable: levels } = configuration;
  const message =
    levels.map((level, at) => levelFault(level, at, configuration)).find((fault) => fault !== null) ??
    ["system-reserved", "kube-reserved"]
      .filter((level) => levels.includes(level) && levels.includes(`${level}-compressible`))
      .map((level) => `${level} and ${level}-compressible cannot be specified together`)[0];
  return message === undefined ? null : { field: "enforceNodeAllocatable", message };
}

function levelFault(level: string, at: number, configuration: KubeletConfiguration): string | null {
  const { enforceNodeAllocatable: levels, cgroupsPerQOS } = configuration;
  const cgroup = ENFORCEMENTS.get(level);
  if (levels.indexOf(level) < at) return `has ${level} twice`;
  if (cgroup === undefined) return `has "${level}", which is none of ${[...ENFORCEMENTS.keys()].join(", ")}`;
  if (level === "none") return levels.length > 1 ? "may hold nothing else next to none" : null;
  if (cgroup !== null && configuration[cgroup] === "") return `has ${level}, which needs ${cgroup}`;
  return cgroupsPerQOS ? null : `has ${level}, which needs cgroupsPerQOS`;
}

/** The most bytes of a socket's path: sun_path has 108 bytes, the last of which is NUL. */
const MAX_PATH_BYTES = 107;

/** Returns the path in "unix:///run/containerd/containerd.sock", or a fault (cri-client GetAddressAndDialer). */
export function socketPathOf(endpoint: string): Result<string> {
  const path = /^(?:unix:\/\/)?(\/[^\0]*)$/.exec(endpoint)?.[1];
  if (path === undefined)
    return failure(`must read unix:///PATH, or "" if there is no container runtime, not "${endpoint}"`);
  return Buffer.byteLength(path) <= MAX_PATH_BYTES
    ? success(path)
    : failure(`is longer than the ${MAX_PATH_BYTES} bytes that a socket's path may have`);
}
