// Lists the flags that configure this machine's Node. The command line, its help, `node-shim config` and
// docs/configuration.md come from this table. config/flags.ts has the flags that are fields of the configuration.
import { DOCKER_ENDPOINT } from "./container-runtime.ts";
import { FACTS_FOLDER } from "./extras.ts";
import { QUESTIONS_FOLDER } from "../config/own-questions.ts";
import { DEVICE_PLUGINS_FOLDER, type MachineFlags, type MachineSettings, ROOT_DIR } from "./settings.ts";

export interface MachineFlag {
  /** The flag's name without dashes. */
  name: string;
  /** The shape of the value in --help; "" if the flag has no value. */
  value: string;
  help: string;
  default?: string;
  /** The value that the flag has when it is given without a value. Absent if the flag needs a value. */
  alone?: string;
  /** true if the flag may be given more than once, and each counts. */
  repeats?: true;
  /** The programs that have the flag: today's kubelet, older kubelets, or rollcall alone. */
  of: "kubelet" | "older kubelets" | "rollcall";
  /** Returns the active value ("" for none) and its source, for `node-shim config`; null if the flag has no effect. */
  active: (settings: MachineSettings, flags: MachineFlags) => InForce | null;
}

interface InForce {
  value: string;
  /** The source of the value. Absent if the flag is the source. */
  source?: string;
}

type FlagName = keyof Omit<Required<MachineFlags>, "set" | "state">;

const set = (value: string): InForce => ({ value });
const byDefault = (value: string): InForce => ({ value, source: "default" });
const none = (what: string): InForce => ({ value: "", source: `default: ${what}` });
const orNone = (value: string | undefined) => (value ? set(value) : none("none"));
const onOrOff = (isOn: boolean | undefined) => (isOn ? set("true") : byDefault("false"));

/** The flags by their names in MachineFlags, in the order of --help. */
const FLAGS: { readonly [Name in FlagName]: Omit<MachineFlag, "name"> } = {
  config: {
    value: "<file>",
    help: "the configuration file: KubeletConfiguration (kubelet.config.k8s.io/v1beta1) in YAML",
    of: "kubelet",
    // `node-shim config` shows the configuration's fields with the source of each instead.
    active: () => null,
  },
  hostnameOverride: {
    value: "<name>",
    help: "the Node's name, instead of this machine's host name",
    of: "kubelet",
    active: ({ name }, { hostnameOverride }) =>
      hostnameOverride ? set(name) : { value: name, source: "this machine's host name" },
  },
  nodeIp: {
    value: "<ip[,ip]>",
    help: "the Node's InternalIP: one address, or one of each IP family",
    of: "kubelet",
    active: ({ nodeIPs }) =>
      nodeIPs.length > 0 ? set(nodeIPs.join(",")) : none("by the machine's name, else its default route"),
  },
  cloudProvider: {
    value: "<name>",
    help: "external, aws, gce, azure or file: the source of addresses, provider ID and zone",
    of: "kubelet",
    active: ({ settings }) => orNone(settings.cloudProvider),
  },
  cloudMetadataFile: {
    value: "<file>",
    help: "the file with the cloud's metadata, for --cloud-provider file",
    of: "rollcall",
    active: (_, { cloudMetadataFile }) => (cloudMetadataFile === undefined ? null : set(cloudMetadataFile)),
  },
  containerRuntime: {
    value: "<name>",
    help: "remote (a runtime with CRI) or docker (default: a runtime that the shim finds)",
    of: "older kubelets",
    active: (_, { containerRuntime }) =>
      containerRuntime ? set(containerRuntime) : none("by containerRuntimeEndpoint"),
  },
  dockerEndpoint: {
    value: "<unix:///path>",
    help: `Docker's socket (default: ${DOCKER_ENDPOINT})`,
    of: "older kubelets",
    active: ({ docker }, { dockerEndpoint }) => {
      if (docker === null) return null;
      return dockerEndpoint ? set(`unix://${docker}`) : byDefault(`unix://${docker}`);
    },
  },
  inventory: {
    value: "<mode>",
    help: "report the hardware: on (default), off, or serials (with serial numbers)",
    of: "rollcall",
    active: (_, { inventory }) => (inventory ? set(inventory) : byDefault("on")),
  },
  inventoryLabels: {
    value: "",
    help: "add labels with the models of the machine's hardware to the Node (rollcall.dev/cpu-model ...)",
    of: "rollcall",
    active: ({ settings }) => (settings.inventoryLabels ? set("") : null),
  },
  features: {
    value: "<name,...>",
    help: "report features in node-feature-discovery's names: labels, all, or names such as pci.device (default: none)",
    repeats: true,
    of: "rollcall",
    active: ({ features }) => orNone(features.join(",")),
  },
  factsDir: {
    value: "<folder>",
    help: `the folder with drop-ins: programs and JSON files that add facts (default: ${FACTS_FOLDER})`,
    of: "rollcall",
    active: (_, { factsDir }) => (factsDir ? set(factsDir) : byDefault(FACTS_FOLDER)),
  },
  problemDetectors: {
    value: "<file,...>",
    help: "configuration files of node-problem-detector whose problems the machine reports (default: none)",
    repeats: true,
    of: "rollcall",
    active: ({ problemDetectors }) => orNone(problemDetectors.join(",")),
  },
  nodeLabels: {
    value: "<key=value,...>",
    help: "labels of the Node; they replace the labels of an earlier run",
    repeats: true,
    of: "kubelet",
    active: ({ settings }) => {
      const labels = Object.entries(settings.nodeLabels ?? {}).map(([key, value]) => `${key}=${value}`);
      return orNone(labels.join(","));
    },
  },
  rootDir: {
    value: "<folder>",
    help: "the folder with mounted volumes; its file system is nodefs",
    default: ROOT_DIR,
    of: "kubelet",
    active: ({ rootDir }, flags) =>
      flags.rootDir === undefined || flags.rootDir === ROOT_DIR ? byDefault(rootDir) : set(rootDir),
  },
  keepTerminatedPodVolumes: {
    value: "[boolean]",
    help: "set the Node's annotation for kept volumes; the shim unmounts nothing",
    alone: "true",
    of: "older kubelets",
    active: ({ settings }) => onOrOff(settings.keepTerminatedPodVolumes),
  },
  registerSchedulable: {
    value: "[boolean]",
    help: "false: the Worker creates the Node cordoned",
    alone: "true",
    of: "older kubelets",
    active: ({ settings }) => (settings.registerSchedulable === false ? set("false") : byDefault("true")),
  },
  networkUnavailable: {
    value: "[boolean]",
    help: "create the Node with NetworkUnavailable True, until a route controller sets it to False",
    alone: "true",
    of: "rollcall",
    active: ({ settings }) => onOrOff(settings.networkUnavailable),
  },
  volumeLimits: {
    value: "[boolean]",
    help: "report the attach limits of CSI drivers as resources of the Node, as older kubelets do",
    alone: "true",
    of: "rollcall",
    active: ({ settings }) => onOrOff(settings.volumeLimits),
  },
  devicePlugins: {
    value: "[folder]",
    help: `let run serve device plugins in this folder (without a value: ${DEVICE_PLUGINS_FOLDER})`,
    alone: DEVICE_PLUGINS_FOLDER,
    of: "rollcall",
    active: (_, { devicePlugins }) => (devicePlugins === undefined ? none("not served") : set(devicePlugins)),
  },
  caFile: {
    value: "<file>",
    help: "a file with authorities (PEM) to trust for the Worker or an https proxy, in addition to public ones",
    of: "rollcall",
    active: (_, { caFile }) => (caFile ? set(caFile) : none("public authorities")),
  },
  questions: {
    value: "<name,...>",
    help: "the questions that this machine answers: safe, own:NAME, or names of node-shim ask --list (default: none)",
    repeats: true,
    of: "rollcall",
    active: ({ questions }) => orNone([...questions].join(",")),
  },
  questionFiles: {
    value: "<path,...>",
    help: "the files and folders that the question files may read (default: none)",
    repeats: true,
    of: "rollcall",
    active: ({ questionFiles }) => orNone(questionFiles.join(",")),
  },
  questionsDir: {
    value: "<folder>",
    help: `the folder with questions of this machine's owner, for own:NAME (default: ${QUESTIONS_FOLDER})`,
    of: "rollcall",
    active: (_, { questionsDir }) => (questionsDir ? set(questionsDir) : byDefault(QUESTIONS_FOLDER)),
  },
  questionsFrom: {
    value: "<file>",
    help: "a file with operators' public keys, one a line: without such a key no operator may ask over the Worker",
    of: "rollcall",
    active: ({ questionsFrom }) => (questionsFrom === null ? none("any operator") : set(questionsFrom)),
  },
  sendUsage: {
    value: "[boolean]",
    help: "send the use of CPU, memory, disks and network once a minute over the socket, for rollcall top",
    alone: "true",
    of: "rollcall",
    active: ({ sendsUsage }) => onOrOff(sendsUsage),
  },
  transport: {
    value: "<name>",
    help: "auto (default): a socket if possible; http: never a socket; socket: report a missing socket as a fault",
    of: "rollcall",
    active: ({ transport }, flags) => (flags.transport === undefined ? byDefault(transport) : set(transport)),
  },
};

/** Returns a flag's name without dashes: cloud-provider for cloudProvider. */
const nameOf = (field: string) => field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

export const MACHINE_FLAGS = Object.fromEntries(
  Object.entries(FLAGS).map(([field, flag]) => [field, { name: nameOf(field), ...flag }]),
) as { readonly [Name in FlagName]: MachineFlag };
