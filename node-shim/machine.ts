// From flags and configuration to what the shim gathers: the one place where settings become facts.
import { hostname as osHostname } from "node:os";
import { parseDuration } from "../shared/duration.ts";
import { parseNodeLabels } from "../shared/labels.ts";
import { validateNodeName } from "../shared/node-name.ts";
import { areNodeIPs, type Facts } from "../shared/facts.ts";
import { firstFault, type Vitals } from "../shared/protocol.ts";
import { machineInfoOf } from "../shared/reported-status.ts";
import { reservationFault } from "../shared/settings-in-force.ts";
import { type Settings, settingsSchema } from "../shared/settings.ts";
import { type Configuration, type LoadedConfiguration, readConfiguration } from "./config.ts";
import { type CloudFlags, cloudProviderOf, machineCloud } from "./cloud/provider.ts";
import type { FlagTexts } from "./config/flags.ts";
import { type ContainerRuntime, watchContainerRuntime } from "./container-runtime.ts";
import { type FactsOptions, gatherFacts, gatherMachine, type Note } from "./gather/facts.ts";
import { hostname } from "./gather/hostname.ts";
import { pidAvailable } from "./gather/pid-signal.ts";
import { systemSources } from "./gather/system-sources.ts";
import { gatherVitals } from "./gather/vitals.ts";
import { sayOnce, type Warn } from "./gather/warn.ts";
import type { Probe } from "./loop/watch.ts";

/** Upstream evictionMonitoringPeriod. */
const SIGNALS_EVERY_MS = 10_000;

export interface MachineFlags extends CloudFlags {
  /** --config FILE */
  config?: string;
  /** --hostname-override NAME */
  hostnameOverride?: string;
  /** --node-ip IP[,IP] */
  nodeIp?: string;
  /** --node-labels KEY=VALUE,... */
  nodeLabels?: string[];
  /** The flags that are fields of the configuration. */
  set?: FlagTexts;
}

/** What the flags and the file say, all of it valid. Nothing was asked of the machine but its name. */
export interface MachineSettings extends LoadedConfiguration {
  /** The Node's name. */
  name: string;
  nodeIPs: string[];
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
  /** The first call begins to watch the container runtime. */
  gather: () => Promise<{ facts: Facts; vitals: Vitals }>;
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
    ...(cloudProvider && { cloudProvider }),
    ...(cloudProvider && flags.hostnameOverride && { hostnameOverridden: true }),
  };
  const parsed = settingsSchema.safeParse(settings);
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error);
    if (path === "/hostname") throw new Error(`"${name}" is ${message}: pass a shorter --hostname-override`);
    throw new Error(`--node-labels: ${message.replaceAll("\n", "; ")}`);
  }
  return { ...loaded, name, nodeIPs: nodeIPs(flags), settings };
}

/** Throws as machineSettings does. */
export async function thisMachine(flags: MachineFlags, warn: Warn, note?: Note): Promise<Machine> {
  const { name, configuration, inForce, sources, nodeIPs, settings, ignored } = machineSettings(flags);
  if (ignored.length > 0) warn("configuration", ignoredFields(ignored));
  let watched: ContainerRuntime | undefined;
  let hear: (seen: Pick<Vitals, "errors">) => void = () => undefined;
  const errors = () => ({ errors: watched?.snapshot()?.errors ?? {} });
  const options: FactsOptions = {
    ...systemSources(),
    nodeName: name,
    nodeIPs,
    settings,
    containerRuntime: () => watched?.snapshot() ?? null,
    warn: sayOnce(warn),
    ...(note && { note }),
  };
  const cloud = machineCloud(flags, configuration.nodeStatusUpdateFrequencyMs, warn);
  if (cloud) note?.("/cloud", cloud.where);
  const gather = async () => {
    watched ??= watchContainerRuntime(inForce, warn, () => hear(errors()));
    const [metadata] = await Promise.all([cloud?.read(), watched.looked]);
    const facts = { ...(await gatherFacts(options)), ...(metadata && { cloud: metadata }) };
    return { facts, vitals: await gatherVitals(options) };
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
      ...(containerRuntimeEndpoint === "" ? [] : [{ everyMs: null, look: lookAtRuntime }]),
    ],
    listen: (see) => void (hear = see),
    close: () => watched?.close(),
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

function nodeIPs({ nodeIp = "" }: MachineFlags): string[] {
  const ips = nodeIp.split(",").flatMap((ip) => ip.trim() || []);
  if (ips.length > 2) throw new Error(`--node-ip ${nodeIp}: at most two addresses, one of each family`);
  if (!areNodeIPs(ips))
    throw new Error(`--node-ip ${nodeIp}: must be an IP address, or an IPv4 and an IPv6 one`);
  return ips;
}
