// node-shim config: the configuration in force, as a file that says the same, and where each value came from. Offline.
import { stringify } from "yaml";
import { defaultLabels } from "../../shared/node/initial-node.ts";
import type { Settings } from "../../shared/protocol/settings.ts";
import { architecture } from "../sources/kernel/platform.ts";
import { API_VERSION, type Field, KIND } from "../config/schema.ts";
import { ignoredFields, type MachineFlags, machineSettings, ROOT_DIR } from "../machine/settings.ts";

/** YAML. What is no field of a KubeletConfiguration stands in comments below it. */
export function printConfig(flags: MachineFlags): string {
  const { inForce, sources, ignored, name, nodeIPs, rootDir, docker, settings } = machineSettings(flags);
  const fields = Object.keys(inForce) as Field[];
  const labels = Object.entries(settings.nodeLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const others = [
    `--hostname-override ${name} # ${flags.hostnameOverride ? "--hostname-override" : "this machine's host name"}`,
    nodeIPs.length > 0
      ? `--node-ip ${nodeIPs.join(",")} # --node-ip`
      : "--node-ip # default: by the machine's name, else its default route",
    labels.length > 0 ? `--node-labels ${labels.join(",")} # --node-labels` : "--node-labels # default: none",
    ...overriddenDefaults(settings),
    settings.cloudProvider
      ? `--cloud-provider ${settings.cloudProvider} # --cloud-provider`
      : "--cloud-provider # default: none",
    docker === null
      ? "--container-runtime remote # default"
      : `--container-runtime docker --docker-endpoint unix://${docker} # --container-runtime`,
    `--root-dir ${rootDir} # ${flags.rootDir === undefined || flags.rootDir === ROOT_DIR ? "default" : "--root-dir"}`,
    `--keep-terminated-pod-volumes ${settings.keepTerminatedPodVolumes ? "true # --keep-terminated-pod-volumes" : "false # default"}`,
    `--volume-limits ${settings.volumeLimits ? "true # --volume-limits" : "false # default"}`,
    `--device-plugins ${flags.devicePlugins === undefined ? "# default: not served" : `${flags.devicePlugins} # --device-plugins`}`,
    ...(ignored.length > 0 ? [ignoredFields(ignored)] : []),
  ];
  return [
    stringify({ apiVersion: API_VERSION, kind: KIND }),
    ...fields.map((field) => line(field, inForce[field], sources[field])),
    ...others.map((text) => `# ${text}\n`),
  ].join("");
}

/** Upstream initialNode says the same when it registers. */
function overriddenDefaults({ hostname, nodeLabels = {} }: Settings): string[] {
  const platform = { goos: process.platform, goarch: architecture(process.arch) };
  return Object.entries(defaultLabels({ hostname, ...platform })).flatMap(([key, value]) => {
    const own = nodeLabels[key];
    return own === undefined || own === value
      ? []
      : [`--node-labels ${key}=${own} overrides ${value} at registration`];
  });
}

/** The source stands behind the field's first line. */
function line(field: Field, value: unknown, source: string): string {
  const [first, ...rest] = stringify({ [field]: value }, { lineWidth: 0 }).split("\n");
  return [`${first} # ${source}`, ...rest].join("\n");
}
