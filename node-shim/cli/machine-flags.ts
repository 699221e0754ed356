// The flags that say what the machine's Node is to be: those of the kubelet. The same for every command that has them.
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { CONFIGURATION_FLAGS, type ConfigurationFlag, type FlagTexts } from "../config/flags.ts";
import { DOCKER_ENDPOINT } from "../machine/container-runtime.ts";
import { FACTS_FOLDER } from "../machine/extras.ts";
import { DEVICE_PLUGINS_FOLDER, type MachineFlags, ROOT_DIR } from "../machine/settings.ts";

const collect = (text: string, before: string[] = []) => [...before, text];
const configurationFlags = Object.entries(CONFIGURATION_FLAGS).map(([name, [field, shape]]) => {
  const option = new Option(`--${name} ${shape}`, field)
    .argParser(collect)
    .helpGroup("Fields of the configuration (a flag beats the file):");
  // A flag alone is true.
  return { name: name as ConfigurationFlag, option: shape === "[boolean]" ? option.preset("true") : option };
});

/** Adds the flags. */
export function machineFlags(command: Command): Command {
  command
    .option("--config <file>", "KubeletConfiguration (kubelet.config.k8s.io/v1beta1) in YAML")
    .option("--hostname-override <name>", "the Node's name, instead of this machine's host name")
    .option("--node-ip <ip[,ip]>", "the Node's InternalIP, or one of each family")
    .option("--cloud-provider <name>", "external, aws, gce, azure or file: see docs/configuration.md")
    .option("--cloud-metadata-file <file>", "with --cloud-provider file: what metadata servers say elsewhere")
    .option("--container-runtime <name>", "remote (default): one that speaks CRI; or docker")
    .option("--docker-endpoint <unix:///path>", `where Docker listens (default: ${DOCKER_ENDPOINT})`)
    .option("--inventory <mode>", "what hardware there is: on (default), off, or serials (and their numbers)")
    .option(
      "--inventory-labels",
      "label the Node with the models of its hardware (rollcall.dev/cpu-model ...)",
    )
    .option("--facts-dir <folder>", `drop-ins: see docs/drop-ins.md (default: ${FACTS_FOLDER})`)
    .option("--node-labels <key=value,...>", "labels that the Node registers with", collect)
    .option("--root-dir <folder>", "where volumes are mounted, and whose disk is nodefs", ROOT_DIR)
    .addOption(
      new Option(
        "--keep-terminated-pod-volumes [boolean]",
        "the Node is annotated so; nothing is unmounted",
      ).preset("true"),
    )
    .addOption(
      new Option(
        "--volume-limits [boolean]",
        "attach limits of CSI drivers are resources of the Node, as with older kubelets",
      ).preset("true"),
    )
    .addOption(
      new Option(
        "--device-plugins [folder]",
        `run serves device plugins, where no kubelet does (alone: ${DEVICE_PLUGINS_FOLDER})`,
      ).preset(DEVICE_PLUGINS_FOLDER),
    );
  for (const { option } of configurationFlags) command.addOption(option);
  return command;
}

/** The flags as the commands want them. */
export function withSet<Flags extends MachineFlags>(flags: Flags): Flags {
  const texts = flags as Record<string, unknown>;
  const set = configurationFlags.flatMap(({ name, option }) => {
    const given = texts[option.attributeName()];
    return given === undefined ? [] : [[name, given]];
  });
  return { ...flags, set: Object.fromEntries(set) as FlagTexts };
}

/**
 * The flags that were given to a command, as another command can be given them from any folder: paths are absolute.
 * `without` names those that do not go along.
 */
export function givenFlags(command: Command, without: readonly string[]): string[] {
  return command.options.flatMap((option) => {
    const name = option.attributeName();
    if (without.includes(name) || command.getOptionValueSource(name) !== "cli") return [];
    const value: unknown = command.getOptionValue(name);
    if (typeof value === "boolean") return [`--${option.name()}`];
    const isPath = /[<[](file|folder)[\]>]/.test(option.flags);
    const texts = (Array.isArray(value) ? value : [value]).map(String);
    return texts.map((text) => `--${option.name()}=${isPath ? resolve(text) : text}`);
  });
}
