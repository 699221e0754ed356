// node-shim config: the effective configuration as a file, and where each value came from. Offline.
import { stringify } from "yaml";
import { defaultLabels } from "../../shared/node/initial-node.ts";
import type { Settings } from "../../shared/protocol/settings.ts";
import { architecture } from "../sources/kernel/machine.ts";
import { API_VERSION, type Field, KIND } from "../config/schema.ts";
import { MACHINE_FLAGS, type MachineFlag } from "../machine/flag-table.ts";
import { environmentProxy, exceptions } from "../worker-link/proxy.ts";
import {
  configurationNotes,
  type MachineFlags,
  type MachineSettings,
  machineSettings,
} from "../machine/settings.ts";

/** YAML. What is no field of a KubeletConfiguration stands in comments below it. */
export function printConfig(flags: MachineFlags, environment: NodeJS.ProcessEnv = process.env): string {
  const machine = machineSettings(flags);
  const { inForce, sources, settings } = machine;
  const fields = Object.keys(inForce) as Field[];
  const others = [
    ...Object.values(MACHINE_FLAGS).flatMap((flag) => flagLine(flag, machine, flags)),
    ...proxyLines(environment),
    ...overriddenDefaults(settings),
    ...configurationNotes(machine),
  ];
  return [
    stringify({ apiVersion: API_VERSION, kind: KIND }),
    ...fields.map((field) => line(field, inForce[field], sources[field])),
    ...others.map((text) => `# ${text}\n`),
  ].join("");
}

function flagLine(flag: MachineFlag, machine: MachineSettings, flags: MachineFlags): string[] {
  const inForce = flag.inForce(machine, flags);
  if (inForce === null) return [];
  const { value, source } = inForce;
  return [`--${flag.name}${value && ` ${value}`} # ${source}`];
}

/** Without name and password. Which Worker is asked, and so whether through the proxy, is no part of a configuration. */
function proxyLines(environment: NodeJS.ProcessEnv): string[] {
  const proxy = environmentProxy(environment);
  if (proxy === null) return [];
  const excepted = exceptions(environment);
  const set = [
    `${proxy.source} ${proxy.origin}`,
    ...(excepted ? [`NO_PROXY ${excepted.replaceAll(/\s+/g, " ")}`] : []),
  ];
  return set.map((line) => `${line} # environment`);
}

/** Upstream initialNode logs the same when it registers. */
function overriddenDefaults({ hostname, nodeLabels = {} }: Settings): string[] {
  const platform = { goos: process.platform, goarch: architecture(process.arch) };
  return Object.entries(defaultLabels({ hostname, ...platform })).flatMap(([key, value]) => {
    const own = nodeLabels[key];
    return own === undefined || own === value
      ? []
      : [`--node-labels ${key}=${own} overrides ${value} at registration`];
  });
}

/** The source is a comment behind the field's first line. */
function line(field: Field, value: unknown, source: string): string {
  const [first, ...rest] = stringify({ [field]: value }, { lineWidth: 0 }).split("\n");
  return [`${first} # ${source}`, ...rest].join("\n");
}
