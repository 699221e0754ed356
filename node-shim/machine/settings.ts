// Makes this machine's settings from its flags, configuration and host name.
import { hostname as osHostname } from "node:os";
import { isAbsolute, resolve } from "node:path";
import { isUnspecified, parseIpSloppy } from "../../shared/kubernetes/ip.ts";
import { parseNodeLabels } from "../../shared/kubernetes/labels.ts";
import { areNodeIPs } from "../../shared/protocol/facts.ts";
import { type AskableName, isOwnName, questionsOn } from "../../shared/protocol/questions.ts";
import { type Settings, settingsSchema } from "../../shared/protocol/settings.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { validateNodeName } from "../../shared/node/node-name.ts";
import { type LoadedConfiguration, readConfiguration } from "../config/config.ts";
import { type FlagTexts, readBoolean } from "../config/flags.ts";
import { featuresOn, type NamedFeature } from "../sources/features/features.ts";
import { cloudProviderOf } from "../sources/cloud/provider.ts";
import { type OwnQuestions, ownQuestions, QUESTIONS_FOLDER } from "../config/own-questions.ts";
import { hostname } from "../sources/kernel/names.ts";
import { CRI_ENDPOINT, dockerSocket, type RuntimeFlags } from "./container-runtime.ts";
import type { ExtraFlags } from "./extras.ts";
import { type TransportChoice, transportOf } from "./transport.ts";

/** The kubelet's default --root-dir: the folder of its volumes, whose file system is nodefs. */
export const ROOT_DIR = "/var/lib/kubelet";

/** The folder where device plugins expect kubelet.sock, regardless of --root-dir: upstream DevicePluginPath. */
export const DEVICE_PLUGINS_FOLDER = "/var/lib/kubelet/device-plugins";

/** The settings with the endpoints of a runtime that speaks CRI. Docker does not use them. */
const ENDPOINTS = ["containerRuntimeEndpoint", "imageServiceEndpoint"] as const;

/** The values of the flags in flag-table.ts. */
export interface MachineFlags extends ExtraFlags, RuntimeFlags {
  config?: string;
  /** The state folder, of commands that have one. */
  state?: string;
  hostnameOverride?: string;
  nodeIp?: string;
  nodeLabels?: string[];
  rootDir?: string;
  keepTerminatedPodVolumes?: string;
  registerSchedulable?: string;
  networkUnavailable?: string;
  volumeLimits?: string;
  caFile?: string;
  transport?: string;
  sendUsage?: string;
  devicePlugins?: string;
  questions?: string[];
  questionFiles?: string[];
  questionsDir?: string;
  questionsFrom?: string;
  problemDetectors?: string[];
  features?: string[];
  /** The values of the flags that are fields of the configuration. */
  set?: FlagTexts;
}

/** The validated content of flags and file, and the machine's name. */
export interface MachineSettings extends LoadedConfiguration {
  /** The Node's name. */
  name: string;
  nodeIPs: string[];
  /** The absolute path of --root-dir. */
  rootDir: string;
  /** The path of Docker's socket; null if the runtime is not Docker. */
  docker: string | null;
  transport: TransportChoice;
  /** The questions that this machine answers. */
  questions: ReadonlySet<AskableName>;
  /** The questions of its owner that --questions names. One with a fault is not among `questions`. */
  ownQuestions: OwnQuestions;
  /** Absolute paths without a slash at their end. */
  questionFiles: string[];
  /** The absolute path of a file with the keys of the operators who may ask over the Worker; null without such a file. */
  questionsFrom: string | null;
  /** The absolute paths of the problem detectors' files. */
  problemDetectors: string[];
  /** Whether the machine sends its usage over the socket. No part of the facts. */
  sendsUsage: boolean;
  /** The features that the machine reports. */
  features: NamedFeature[];
  settings: Settings;
}

/** Returns this machine's settings. Throws, with the setting to change, for invalid flags or configuration. */
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
    ...(flags.registerSchedulable !== undefined &&
      !isOn("register-schedulable", flags.registerSchedulable) && { registerSchedulable: false }),
    ...(isOn("network-unavailable", flags.networkUnavailable) && { networkUnavailable: true }),
    ...(docker === null && loaded.active.containerRuntimeEndpoint === null && { findRuntime: true }),
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
    ...questionSettings(flags),
    problemDetectors: absolutePaths("problem-detectors", flags.problemDetectors),
    sendsUsage: isOn("send-usage", flags.sendUsage),
    features: features(flags),
    settings,
  };
}

/** Adds upstream's default endpoint if `--container-runtime remote`, which requires a CRI runtime, has none. */
function withNamedRuntime(
  loaded: LoadedConfiguration,
  { containerRuntime }: RuntimeFlags,
): LoadedConfiguration {
  if (containerRuntime !== "remote" || loaded.active.containerRuntimeEndpoint !== null) return loaded;
  return {
    ...loaded,
    active: { ...loaded.active, containerRuntimeEndpoint: CRI_ENDPOINT },
    sources: { ...loaded.sources, containerRuntimeEndpoint: "--container-runtime" },
  };
}

/** Lists the parts of a configuration file that have no effect, for the log and `node-shim config`. */
export function configurationNotes({ ignored, unread }: LoadedConfiguration): string[] {
  return [
    ...(ignored.length > 0 ? [`ignored, since nothing here depends on it: ${ignored.join(", ")}`] : []),
    ...unread,
  ];
}

/** Returns --hostname-override, else the host name, as a kubelet without a cloud provider does. */
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

/** Returns the paths of a flag with lists of paths. */
function absolutePaths(flag: string, lists: readonly string[] = []): string[] {
  const paths = lists.flatMap((list) => list.split(",")).filter((path) => path !== "");
  const relative = paths.find((path) => !isAbsolute(path));
  if (relative !== undefined) throw new Error(`--${flag}: "${relative}" is not an absolute path`);
  return paths.map((path) => resolve(path));
}

function features({ features = [] }: MachineFlags): NamedFeature[] {
  const on = featuresOn(features);
  if (!on.ok) throw new Error(`--features: ${on.error}`);
  return on.value;
}

function questionSettings({ questions = [], questionFiles = [], questionsDir, questionsFrom }: MachineFlags) {
  const on = questionsOn(questions);
  if (!on.ok) throw new Error(`--questions: ${on.error}`);
  const paths = absolutePaths("question-files", questionFiles);
  // An empty file name could be a variable that is not set: it must not let every operator ask.
  if (questionsFrom !== undefined && !isAbsolute(questionsFrom))
    throw new Error(`--questions-from: "${questionsFrom}" is not an absolute path`);
  const own = ownQuestions(resolve(questionsDir ?? QUESTIONS_FOLDER), [...on.value].filter(isOwnName));
  return {
    questions: new Set([...on.value].filter((name) => !isOwnName(name) || own.get(name)?.ok)),
    ownQuestions: own,
    questionFiles: paths,
    questionsFrom: questionsFrom === undefined ? null : resolve(questionsFrom),
  };
}
