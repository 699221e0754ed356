// Makes this machine's settings out of flags and configuration. Reads nothing of the machine but its name.
import { hostname as osHostname } from "node:os";
import { resolve } from "node:path";
import { isUnspecified, parseIpSloppy } from "../../shared/kubernetes/ip.ts";
import { parseNodeLabels } from "../../shared/kubernetes/labels.ts";
import { areNodeIPs } from "../../shared/protocol/facts.ts";
import { type Settings, settingsSchema } from "../../shared/protocol/settings.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { validateNodeName } from "../../shared/node/node-name.ts";
import { type LoadedConfiguration, readConfiguration } from "../config/config.ts";
import { type FlagTexts, readBoolean } from "../config/flags.ts";
import { cloudProviderOf } from "../sources/cloud/provider.ts";
import { hostname } from "../sources/kernel/names.ts";
import { CRI_ENDPOINT, dockerSocket, type RuntimeFlags } from "./container-runtime.ts";
import type { ExtraFlags } from "./extras.ts";
import { type TransportChoice, transportOf } from "./transport.ts";

/** The kubelet's default --root-dir: the folder of its volumes, whose file system is nodefs. */
export const ROOT_DIR = "/var/lib/kubelet";

/** Upstream DevicePluginPath: where plugins look for kubelet.sock, regardless of --root-dir. */
export const DEVICE_PLUGINS_FOLDER = "/var/lib/kubelet/device-plugins";

/** The endpoints of a runtime that speaks CRI, which Docker does not use. */
const ENDPOINTS = ["containerRuntimeEndpoint", "imageServiceEndpoint"] as const;

export interface MachineFlags extends ExtraFlags, RuntimeFlags {
  /** --config FILE */
  config?: string;
  /** --hostname-override NAME */
  hostnameOverride?: string;
  /** --node-ip IP[,IP] */
  nodeIp?: string;
  /** --node-labels KEY=VALUE,... */
  nodeLabels?: string[];
  /** --root-dir FOLDER */
  rootDir?: string;
  /** --keep-terminated-pod-volumes [BOOLEAN] */
  keepTerminatedPodVolumes?: string;
  /** --register-schedulable [BOOLEAN] */
  registerSchedulable?: string;
  /** --network-unavailable [BOOLEAN] */
  networkUnavailable?: string;
  /** --volume-limits [BOOLEAN] */
  volumeLimits?: string;
  /** --ca-file FILE */
  caFile?: string;
  /** --transport NAME */
  transport?: string;
  /** --device-plugins [FOLDER] */
  devicePlugins?: string;
  /** The flags that are fields of the configuration. */
  set?: FlagTexts;
}

/** The content of flags and file, all of it valid, and the machine's name. */
export interface MachineSettings extends LoadedConfiguration {
  /** The Node's name. */
  name: string;
  nodeIPs: string[];
  /** The kubelet's folder, whose volumes are in use; absolute. */
  rootDir: string;
  /** The path of Docker's socket; null: Docker is not used. */
  docker: string | null;
  transport: TransportChoice;
  settings: Settings;
}

/** Throws, with what to change, when the flags or the configuration are invalid. */
export function machineSettings(flags: MachineFlags): MachineSettings {
  const loaded = withNamedRuntime(readConfiguration(flags.config, flags.set ?? {}), flags);
  const name = nodeName(flags);
  const nodeLabels = Object.assign({}, ...(flags.nodeLabels ?? []).map(parseNodeLabels)) as Record<
    string,
    string
  >;
  const hasLabels = Object.keys(nodeLabels).length > 0;
  const cloudProvider = cloudProviderOf(flags);
  const docker = dockerSocket(flags);
  const settings = {
    hostname: name,
    ...loaded.configuration,
    ...(hasLabels && { nodeLabels }),
    ...(flags.inventoryLabels && { inventoryLabels: true }),
    ...(cloudProvider && { cloudProvider }),
    ...(cloudProvider && flags.hostnameOverride && { hostnameOverridden: true }),
    ...(isOn("volume-limits", flags.volumeLimits) && { volumeLimits: true }),
    ...(isOn("keep-terminated-pod-volumes", flags.keepTerminatedPodVolumes) && {
      keepTerminatedPodVolumes: true,
    }),
    ...(isOff("register-schedulable", flags.registerSchedulable) && { registerSchedulable: false }),
    ...(isOn("network-unavailable", flags.networkUnavailable) && { networkUnavailable: true }),
    ...(docker === null && loaded.inForce.containerRuntimeEndpoint === null && { findRuntime: true }),
  };
  const parsed = settingsSchema.safeParse(settings);
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error);
    if (path === "/hostname") throw new Error(`"${name}" is ${message}: pass a shorter --hostname-override`);
    throw new Error(`--node-labels: ${message.replaceAll("\n", "; ")}`);
  }
  const { ignored, sources } = loaded;
  const unused = docker === null ? [] : ENDPOINTS.filter((field) => sources[field] !== "default");
  return {
    ...loaded,
    ignored: [...ignored, ...unused],
    name,
    nodeIPs: nodeIPs(flags),
    rootDir: folderOf(flags.rootDir ?? ROOT_DIR),
    docker,
    transport: transportOf(flags),
    settings,
  };
}

/** `--container-runtime remote` requires a runtime that speaks CRI: where no endpoint is set, at upstream's default. */
function withNamedRuntime(
  loaded: LoadedConfiguration,
  { containerRuntime }: RuntimeFlags,
): LoadedConfiguration {
  if (containerRuntime !== "remote" || loaded.inForce.containerRuntimeEndpoint !== null) return loaded;
  return {
    ...loaded,
    inForce: { ...loaded.inForce, containerRuntimeEndpoint: CRI_ENDPOINT },
    sources: { ...loaded.sources, containerRuntimeEndpoint: "--container-runtime" },
  };
}

/** What a file says to no effect: for the log, and for `node-shim config`. */
export function configurationNotes({ ignored, repeated }: LoadedConfiguration): string[] {
  return [
    ...(ignored.length > 0 ? [`ignored, since nothing here depends on it: ${ignored.join(", ")}`] : []),
    ...repeated.map((place) => `the last of equal keys counts: ${place}`),
  ];
}

/** The host name is the Node's name, as it is the kubelet's without a cloud provider. */
export function nodeName({ hostnameOverride = "" }: MachineFlags): string {
  const name = hostname(hostnameOverride, osHostname);
  if (!name.ok) throw new Error(`${name.error}: pass --hostname-override`);
  const [fault] = validateNodeName(name.value);
  if (fault !== undefined)
    throw new Error(`"${name.value}" cannot be a Node's name: ${fault}; pass --hostname-override`);
  return name.value;
}

function isOn(flag: string, text: string | undefined): boolean {
  try {
    return text !== undefined && readBoolean([text]);
  } catch (error) {
    throw new Error(`--${flag}: ${(error as Error).message}`, { cause: error });
  }
}

function isOff(flag: string, text: string | undefined): boolean {
  return text !== undefined && !isOn(flag, text);
}

function nodeIPs({ nodeIp = "" }: MachineFlags): string[] {
  const ips = nodeIp.split(",").flatMap((ip) => ip.trim() || []);
  if (ips.length > 2) throw new Error(`--node-ip ${nodeIp}: at most two addresses, one of each family`);
  if (!areNodeIPs(ips))
    throw new Error(`--node-ip ${nodeIp}: must be an IP address, or an IPv4 and an IPv6 one`);
  const parsed = ips.flatMap((ip) => parseIpSloppy(ip) ?? []);
  if (ips.length > 1 && parsed.some(isUnspecified))
    throw new Error(`--node-ip ${nodeIp}: of two addresses none can be 0.0.0.0 or ::`);
  return ips;
}

function folderOf(rootDir: string): string {
  if (rootDir === "") throw new Error("--root-dir: must name a folder");
  return resolve(rootDir);
}
