// The flags that configure this machine's Node, apart from those that are fields of the configuration
// (config/flags.ts). The command line, its help, `node-shim config` and docs/configuration.md are made from this table.
import { DOCKER_ENDPOINT } from "./container-runtime.ts";
import { FACTS_FOLDER } from "./extras.ts";
import { DEVICE_PLUGINS_FOLDER, type MachineFlags, type MachineSettings, ROOT_DIR } from "./settings.ts";

export interface MachineFlag {
  /** Without its dashes. */
  name: string;
  /** The shape of a value, as --help shows it; "" for none. */
  value: string;
  help: string;
  default?: string;
  /** What the flag alone means, where it may have a value. */
  alone?: string;
  /** It may be given more than once, and each counts. */
  repeats?: true;
  /** A kubelet's of today, one of older kubelets, or rollcall's own. */
  of: "kubelet" | "older kubelets" | "rollcall";
  /** For `node-shim config`: the value in force ("": none), and where it came from. null: it means nothing now. */
  inForce: (settings: MachineSettings, flags: MachineFlags) => InForce | null;
}

interface InForce {
  value: string;
  source: string;
}

const set = (value: string, flag: string): InForce => ({ value, source: `--${flag}` });
const byDefault = (value: string): InForce => ({ value, source: "default" });
const none = (what: string): InForce => ({ value: "", source: `default: ${what}` });
const orNone = (value: string | undefined, flag: string) => (value ? set(value, flag) : none("none"));
const onOrOff = (isOn: boolean | undefined, flag: string) => (isOn ? set("true", flag) : byDefault("false"));

/** By the name under which the commands get it, in the order of the help. */
export const MACHINE_FLAGS: { readonly [Name in keyof Omit<Required<MachineFlags>, "set">]: MachineFlag } = {
  config: {
    name: "config",
    value: "<file>",
    help: "KubeletConfiguration (kubelet.config.k8s.io/v1beta1) in YAML",
    of: "kubelet",
    // `node-shim config` shows for each field where it came from.
    inForce: () => null,
  },
  hostnameOverride: {
    name: "hostname-override",
    value: "<name>",
    help: "the Node's name, instead of this machine's host name",
    of: "kubelet",
    inForce: ({ name }, { hostnameOverride }) =>
      hostnameOverride ? set(name, "hostname-override") : { value: name, source: "this machine's host name" },
  },
  nodeIp: {
    name: "node-ip",
    value: "<ip[,ip]>",
    help: "the Node's InternalIP, or one of each family",
    of: "kubelet",
    inForce: ({ nodeIPs }) =>
      nodeIPs.length > 0
        ? set(nodeIPs.join(","), "node-ip")
        : none("by the machine's name, else its default route"),
  },
  cloudProvider: {
    name: "cloud-provider",
    value: "<name>",
    help: "external, aws, gce, azure or file: who says addresses, provider ID and zone",
    of: "kubelet",
    inForce: ({ settings }) => orNone(settings.cloudProvider, "cloud-provider"),
  },
  cloudMetadataFile: {
    name: "cloud-metadata-file",
    value: "<file>",
    help: "with --cloud-provider file: what metadata servers say elsewhere",
    of: "rollcall",
    inForce: (_, { cloudMetadataFile }) =>
      cloudMetadataFile === undefined ? null : set(cloudMetadataFile, "cloud-metadata-file"),
  },
  containerRuntime: {
    name: "container-runtime",
    value: "<name>",
    help: "remote: one that speaks CRI; or docker (default: the one that is found)",
    of: "older kubelets",
    inForce: (_, { containerRuntime }) =>
      containerRuntime ? set(containerRuntime, "container-runtime") : none("by containerRuntimeEndpoint"),
  },
  dockerEndpoint: {
    name: "docker-endpoint",
    value: "<unix:///path>",
    help: `where Docker listens (default: ${DOCKER_ENDPOINT})`,
    of: "older kubelets",
    inForce: ({ docker }, { dockerEndpoint }) => {
      if (docker === null) return null;
      return dockerEndpoint ? set(`unix://${docker}`, "docker-endpoint") : byDefault(`unix://${docker}`);
    },
  },
  inventory: {
    name: "inventory",
    value: "<mode>",
    help: "what hardware there is: on (default), off, or serials (and their numbers)",
    of: "rollcall",
    inForce: (_, { inventory }) => (inventory ? set(inventory, "inventory") : byDefault("on")),
  },
  inventoryLabels: {
    name: "inventory-labels",
    value: "",
    help: "label the Node with the models of its hardware (rollcall.dev/cpu-model ...)",
    of: "rollcall",
    inForce: ({ settings }) => (settings.inventoryLabels ? set("", "inventory-labels") : null),
  },
  factsDir: {
    name: "facts-dir",
    value: "<folder>",
    help: `programs and JSON files that add facts (default: ${FACTS_FOLDER})`,
    of: "rollcall",
    inForce: (_, { factsDir }) => (factsDir ? set(factsDir, "facts-dir") : byDefault(FACTS_FOLDER)),
  },
  nodeLabels: {
    name: "node-labels",
    value: "<key=value,...>",
    help: "labels of the Node, which has these and no longer those before",
    repeats: true,
    of: "kubelet",
    inForce: ({ settings }) => {
      const labels = Object.entries(settings.nodeLabels ?? {}).map(([key, value]) => `${key}=${value}`);
      return orNone(labels.join(","), "node-labels");
    },
  },
  rootDir: {
    name: "root-dir",
    value: "<folder>",
    help: "where volumes are mounted, and whose disk is nodefs",
    default: ROOT_DIR,
    of: "kubelet",
    inForce: ({ rootDir }, flags) =>
      flags.rootDir === undefined || flags.rootDir === ROOT_DIR
        ? byDefault(rootDir)
        : set(rootDir, "root-dir"),
  },
  keepTerminatedPodVolumes: {
    name: "keep-terminated-pod-volumes",
    value: "[boolean]",
    help: "the Node is annotated so; nothing is unmounted",
    alone: "true",
    of: "older kubelets",
    inForce: ({ settings }) => onOrOff(settings.keepTerminatedPodVolumes, "keep-terminated-pod-volumes"),
  },
  registerSchedulable: {
    name: "register-schedulable",
    value: "[boolean]",
    help: "false: the Node is created cordoned",
    alone: "true",
    of: "older kubelets",
    inForce: ({ settings }) =>
      settings.registerSchedulable === false ? set("false", "register-schedulable") : byDefault("true"),
  },
  networkUnavailable: {
    name: "network-unavailable",
    value: "[boolean]",
    help: "the Node is created with NetworkUnavailable, until a route controller ends that",
    alone: "true",
    of: "rollcall",
    inForce: ({ settings }) => onOrOff(settings.networkUnavailable, "network-unavailable"),
  },
  volumeLimits: {
    name: "volume-limits",
    value: "[boolean]",
    help: "attach limits of CSI drivers are resources of the Node, as with older kubelets",
    alone: "true",
    of: "rollcall",
    inForce: ({ settings }) => onOrOff(settings.volumeLimits, "volume-limits"),
  },
  devicePlugins: {
    name: "device-plugins",
    value: "[folder]",
    help: `run serves device plugins, where no kubelet does (alone: ${DEVICE_PLUGINS_FOLDER})`,
    alone: DEVICE_PLUGINS_FOLDER,
    of: "rollcall",
    inForce: (_, { devicePlugins }) =>
      devicePlugins === undefined ? none("not served") : set(devicePlugins, "device-plugins"),
  },
  caFile: {
    name: "ca-file",
    value: "<file>",
    help: "authorities (PEM) that may vouch for the Worker, or for an https proxy, beside the usual ones",
    of: "rollcall",
    inForce: (_, { caFile }) => (caFile ? set(caFile, "ca-file") : none("public authorities")),
  },
  transport: {
    name: "transport",
    value: "<name>",
    help: "auto (default): a socket where one can be had; http: none; socket: a fault where none can be had",
    of: "rollcall",
    inForce: ({ transport }, flags) =>
      flags.transport === undefined ? byDefault(transport) : set(transport, "transport"),
  },
};
