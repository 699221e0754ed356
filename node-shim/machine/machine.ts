// From flags and configuration to what the shim gathers: the one place where settings become facts.
import { hostname as osHostname } from "node:os";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseDuration } from "../../shared/go/duration.ts";
import { parseNodeLabels } from "../../shared/node/labels.ts";
import { validateNodeName } from "../../shared/node/node-name.ts";
import { areNodeIPs, type Facts } from "../../shared/protocol/facts.ts";
import { firstFault, type Vitals } from "../../shared/protocol/report.ts";
import { machineInfoOf } from "../../shared/from-report/reported-status.ts";
import { reservationFault } from "../../shared/from-report/settings-in-force.ts";
import { type Settings, settingsSchema } from "../../shared/protocol/settings.ts";
import { type Configuration, type LoadedConfiguration, readConfiguration } from "../config/config.ts";
import { cloudProviderOf } from "../sources/cloud/provider.ts";
import { attachLimits } from "../sources/csi/attach-limits.ts";
import { type FlagTexts, readBoolean } from "../config/flags.ts";
import {
  type ContainerRuntime,
  dockerSocket,
  type RuntimeFlags,
  watchContainerRuntime,
} from "../sources/container-runtime.ts";
import { type ExtraFlags, machineExtras } from "./extras.ts";
import { type FactsOptions, gatherFacts, gatherMachine, type Note } from "./facts.ts";
import { hostname } from "../sources/kernel/hostname.ts";
import { pidAvailable } from "../sources/kernel/pid-signal.ts";
import { systemSources } from "./system-sources.ts";
import { gatherVitals } from "./vitals.ts";
import { volumeScanner } from "../sources/kernel/volumes.ts";
import { sayOnce, type Warn, withoutEcho } from "../base/warn.ts";
import type { Probe } from "../loop/watch.ts";

/** Upstream evictionMonitoringPeriod. */
const SIGNALS_EVERY_MS = 10_000;

/** The kubelet's --root-dir by default: the folder of its volumes, and what nodefs is named for. */
export const ROOT_DIR = "/var/lib/kubelet";

/** Upstream DevicePluginPath: where plugins look for kubelet.sock, whatever --root-dir is. */
export const DEVICE_PLUGINS_FOLDER = "/var/lib/kubelet/device-plugins";

/** Where a runtime that speaks CRI listens. */
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
  /** --volume-limits [BOOLEAN] */
  volumeLimits?: string;
  /** --device-plugins [FOLDER] */
  devicePlugins?: string;
  /** The flags that are fields of the configuration. */
  set?: FlagTexts;
}

/** What the flags and the file say, all of it valid. Nothing was asked of the machine but its name. */
export interface MachineSettings extends LoadedConfiguration {
  /** The Node's name. */
  name: string;
  nodeIPs: string[];
  /** The kubelet's folder, whose volumes are in use; absolute. */
  rootDir: string;
  /** Where Docker listens; null: it is not asked. */
  docker: string | null;
  settings: Settings;
}

export interface Machine {
  /** The Node's name. */
  name: string;
  configuration: Configuration;
  /** Where each field of the configuration came from. */
  sources: LoadedConfiguration["sources"];
  settings: Settings;
  /** 0: a shutdown is not looked for. */
  shutdownGracePeriodMs: number;
  /** Throws when this machine is not what the configuration asks for: it has less than what is to be kept of it. */
  setUp: () => Promise<void>;
  /** The first call begins to watch the container runtime. With "wait" also what is looked at rarely, for seconds. */
  gather: (wait?: "wait") => Promise<{ facts: Facts; vitals: Vitals }>;
  /** What is looked at between two reports. */
  probes: readonly Probe[];
  /** Who hears of what the container runtime's own watch has seen change. The last one does. */
  listen: (see: (seen: Pick<Vitals, "errors">) => void) => void;
  /** Ends what was watched. */
  close: () => void;
}

/** Throws, with what to change, when the flags or the configuration make no Node. */
export function machineSettings(flags: MachineFlags): MachineSettings {
  const loaded = readConfiguration(flags.config, flags.set ?? {});
  const name = nodeName(flags);
  const nodeLabels = Object.assign({}, ...(flags.nodeLabels ?? []).map(parseNodeLabels)) as Record<
    string,
    string
  >;
  const hasLabels = Object.keys(nodeLabels).length > 0;
  const cloudProvider = cloudProviderOf(flags);
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
  };
  const parsed = settingsSchema.safeParse(settings);
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error);
    if (path === "/hostname") throw new Error(`"${name}" is ${message}: pass a shorter --hostname-override`);
    throw new Error(`--node-labels: ${message.replaceAll("\n", "; ")}`);
  }
  const docker = dockerSocket(flags);
  const { ignored, sources } = loaded;
  const unused = docker === null ? [] : ENDPOINTS.filter((field) => sources[field] !== "default");
  return {
    ...loaded,
    ignored: [...ignored, ...unused],
    name,
    nodeIPs: nodeIPs(flags),
    rootDir: resolve(flags.rootDir ?? ROOT_DIR),
    docker,
    settings,
  };
}

/** Throws as machineSettings does. */
export async function thisMachine(flags: MachineFlags, warn: Warn, note?: Note): Promise<Machine> {
  const { name, configuration, inForce, sources, nodeIPs, rootDir, docker, settings, ignored } =
    machineSettings(flags);
  if (ignored.length > 0) warn("configuration", ignoredFields(ignored));
  let watched: ContainerRuntime | undefined;
  let hear: (seen: Pick<Vitals, "errors">) => void = () => undefined;
  const errors = () => ({ errors: watched?.snapshot()?.errors ?? {} });
  const once = sayOnce(warn);
  const limits = attachLimits({
    rootDir,
    nowMs: () => performance.now(),
    sleep: (ms) => sleep(ms, undefined, { ref: false }),
    warn: once,
  });
  const options: FactsOptions = {
    ...systemSources(rootDir),
    nodeName: name,
    nodeIPs,
    settings,
    containerRuntime: () => watched?.snapshot() ?? null,
    volumes: volumeScanner(rootDir, once),
    attachLimits: limits.read,
    warn: sayOnce(withoutEcho(warn)),
    ...(note && { note }),
  };
  const extras = machineExtras(flags, configuration.nodeStatusUpdateFrequencyMs, warn, note);
  const gather = async (wait?: "wait") => {
    watched ??= watchContainerRuntime(inForce, docker, warn, () => hear(errors()));
    const [{ facts, vitals }] = await Promise.all([extras(wait), watched.looked]);
    return {
      facts: { ...(await gatherFacts(options)), ...facts },
      vitals: { ...(await gatherVitals(options)), ...vitals },
    };
  };
  const lookAtRuntime = async () => {
    await watched?.refresh();
    return errors();
  };
  const { containerRuntimeEndpoint, shutdownGracePeriod } = inForce;
  return {
    name,
    configuration,
    sources,
    settings,
    shutdownGracePeriodMs: parseDuration(shutdownGracePeriod).durationMs ?? 0,
    setUp: () => requireReservations(options),
    gather,
    probes: [
      { everyMs: SIGNALS_EVERY_MS, look: () => gatherVitals(options) },
      ...(docker === null && containerRuntimeEndpoint === "" ? [] : [{ everyMs: null, look: lookAtRuntime }]),
    ],
    listen: (see) => void (hear = see),
    close: () => {
      watched?.close();
      limits.close();
    },
  };
}

/** Said once, at the start. */
export function ignoredFields(ignored: string[]): string {
  return `ignored, since nothing here depends on it: ${ignored.join(", ")}`;
}

/** As the kubelet's container manager at its start. What cannot be read is said when it is gathered. */
async function requireReservations({
  root,
  settings,
  nodefsPath,
  readFileSystem,
}: Pick<FactsOptions, "root" | "settings" | "nodefsPath" | "readFileSystem">): Promise<void> {
  const machine = await gatherMachine(root, () => undefined);
  if (machine === undefined) return;
  const fileSystem = await readFileSystem(nodefsPath);
  const nodefs = "value" in fileSystem ? fileSystem.value.bytes : fileSystem;
  const pids = pidAvailable(root);
  const fault = reservationFault(
    settings,
    machineInfoOf(machine),
    "value" in nodefs ? nodefs.value[1] : undefined,
    "value" in pids ? pids.value[1] : undefined,
  );
  if (fault !== null)
    throw new Error(`${fault} Change kubeReserved, systemReserved, reservedSystemCPUs or evictionHard.`);
}

/** The host name is the Node's name, as it is the kubelet's without a cloud provider. */
export function nodeName({ hostnameOverride = "" }: MachineFlags): string {
  const name = hostname(hostnameOverride, osHostname);
  if ("error" in name) throw new Error(`${name.error}: pass --hostname-override`);
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

function nodeIPs({ nodeIp = "" }: MachineFlags): string[] {
  const ips = nodeIp.split(",").flatMap((ip) => ip.trim() || []);
  if (ips.length > 2) throw new Error(`--node-ip ${nodeIp}: at most two addresses, one of each family`);
  if (!areNodeIPs(ips))
    throw new Error(`--node-ip ${nodeIp}: must be an IP address, or an IPv4 and an IPv6 one`);
  return ips;
}
