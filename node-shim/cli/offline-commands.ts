// Defines the commands that read only this machine, without a Worker: preview, config, facts, version.
import type { Command } from "commander";
import { stringify } from "yaml";
import { defaultLabels } from "../../shared/node/initial-node.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Settings } from "../../shared/protocol/settings.ts";
import { VERSION } from "../../shared/version.ts";
import { API_VERSION, type Field, KIND } from "../config/schema.ts";
import { FACT_GROUPS } from "../machine/fact-groups.ts";
import { MACHINE_FLAGS, type MachineFlag } from "../machine/flag-table.ts";
import { requireOwnReservations, thisMachine } from "../machine/machine.ts";
import { pinnedKeysFault } from "../machine/pinned-keys.ts";
import { previewNode } from "../machine/preview-node.ts";
import {
  configurationNotes,
  type MachineFlags,
  type MachineSettings,
  machineSettings,
} from "../machine/settings.ts";
import { architecture } from "../sources/kernel/machine.ts";
import { environmentProxy, exceptions } from "../worker-link/proxy.ts";
import { machineFlags, withSet } from "./flags.ts";
import { likeService } from "./service-flags.ts";

export function addOfflineCommands(program: Command): void {
  machineFlags(likeService(program.command("preview")))
    .description("Print the Node that this machine would be, as YAML. Sends no request.")
    .addHelpText("after", "\nExample:\n  node-shim preview --config /etc/rollcall/kubelet.yaml")
    .action(async (flags) => {
      process.stdout.write(await preview(withSet(flags)));
    });

  machineFlags(likeService(program.command("config")))
    .description("Print the active configuration, as YAML, with the source of each value. Sends no request.")
    .addHelpText("after", "\nExample:\n  node-shim config --config /etc/rollcall/kubelet.yaml --max-pods 30")
    .action(async (flags) => {
      const text = printConfig(withSet(flags));
      await requireOwnReservations(withSet(flags));
      process.stdout.write(text);
    });

  machineFlags(likeService(program.command("facts")))
    .description(
      "Print the facts that this machine would report, as JSON, with their sources. Sends no request.",
    )
    .addHelpText("after", "\nExample:\n  node-shim facts | jq .machine")
    .action(async (flags) => {
      process.stdout.write(await printFacts(withSet(flags)));
    });

  program
    .command("version")
    .description("Print the versions of the shim and of Node.js.")
    .action(() => {
      const { node } = process.versions;
      process.stdout.write(`node-shim ${VERSION}\nnode v${node} ${process.platform}/${process.arch}\n`);
    });
}

/** Returns the Node in YAML, as `kubectl get node -o yaml` after a registration, without the apiserver's own fields. */
export async function preview(flags: MachineFlags): Promise<string> {
  const print = (message: string) => console.error(`node-shim: ${message}`);
  const warn = (source: string, message: string) => print(`${source}: ${message}`);
  const { node, errors, leftOut } = await previewNode(flags, warn);
  for (const error of errors) print(error);
  if (leftOut.length > 0)
    print(`left out of its Node, unless the join token allows it: ${leftOut.join(", ")}`);
  return stringify({ apiVersion: "v1", kind: "Node", ...node });
}

/** Returns the active KubeletConfiguration as YAML, followed by comments that list all other settings of the shim. */
export function printConfig(flags: MachineFlags, environment: NodeJS.ProcessEnv = process.env): string {
  const machine = machineSettings(flags);
  const { active, sources, settings, questionsFrom } = machine;
  const unpinned = pinnedKeysFault(questionsFrom);
  const fields = Object.keys(active) as Field[];
  const others = [
    ...Object.values(MACHINE_FLAGS).flatMap((flag) => flagLine(flag, machine, flags)),
    ...proxyLines(environment),
    ...overriddenDefaults(settings),
    ...configurationNotes(machine),
    ...(unpinned === null ? [] : [`pinned keys: ${unpinned}`]),
  ];
  return [
    stringify({ apiVersion: API_VERSION, kind: KIND }),
    ...fields.map((field) => line(field, active[field], sources[field])),
    ...others.map((text) => `# ${text}\n`),
  ].join("");
}

function flagLine(flag: MachineFlag, machine: MachineSettings, flags: MachineFlags): string[] {
  const active = flag.active(machine, flags);
  if (active === null) return [];
  const { value, source = `--${flag.name}` } = active;
  return [`--${flag.name}${value && ` ${value}`} # ${source}`];
}

/** Returns comment lines that name the proxy of the environment, without its user name and password. */
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

/** Returns a line for each default label that --node-labels overrides, as upstream initialNode logs it. */
function overriddenDefaults({ hostname, nodeLabels = {} }: Settings): string[] {
  const platform = { goos: process.platform, goarch: architecture(process.arch) };
  return Object.entries(defaultLabels({ hostname, ...platform })).flatMap(([key, value]) => {
    const own = nodeLabels[key];
    return own === undefined || own === value
      ? []
      : [`--node-labels ${key}=${own} overrides ${value} at registration`];
  });
}

/** Returns a field as YAML, with its source in a comment on the first line. */
function line(field: Field, value: unknown, source: string): string {
  const [first, ...rest] = stringify({ [field]: value }, { lineWidth: 0 }).split("\n");
  return [`${first} # ${source}`, ...rest].join("\n");
}

/** Returns the facts in this machine's reports as JSON, each with its `value` and `source`. */
export async function printFacts(flags: MachineFlags): Promise<string> {
  const noted = new Map<string, string>();
  const warn = (source: string, message: string) => console.error(`node-shim: ${source}: ${message}`);
  const machine = await thisMachine(flags, warn, (pointer, source) => noted.set(pointer, source));
  await machine.setUp();
  const { facts } = await machine.gather("wait").finally(machine.close);
  const sources = new Map([
    ...tableSources(flags.containerRuntime === "docker"),
    ["/settings/hostname", flags.hostnameOverride ? "--hostname-override" : "this machine's host name"],
    ["/addresses/nodeIPs", flags.nodeIp ? "--node-ip" : "default"],
    ...Object.entries(machine.sources).flatMap(([field, source]): [string, string][] => [
      [`/settings/${field}`, source],
      [`/settings/${field}Ms`, source],
    ]),
    ...noted,
  ] as [string, string][]);
  return `${JSON.stringify(withSources(facts, sources), null, 2)}\n`;
}

/** Returns each fact's source in FACT_GROUPS. A source that is noted while gathering is more exact, and replaces it. */
function tableSources(isDocker: boolean): [pointer: string, source: string][] {
  return Object.entries(FACT_GROUPS).flatMap(([group, { sources, dockerSources = {} }]) =>
    Object.entries({ ...sources, ...(isDocker ? dockerSources : {}) }).map(
      ([name, source]): [string, string] => [name === "" ? `/${group}` : `/${group}/${name}`, source],
    ),
  );
}

function withSources(facts: Facts, sources: ReadonlyMap<string, string>): Record<string, unknown> {
  const withSource = (pointer: string, value: unknown, group = pointer) => ({
    value,
    source: sources.get(pointer) ?? sources.get(group),
  });
  const groups = Object.entries(facts).map(([group, fact]) => {
    const isGroup = typeof fact === "object" && fact !== null && !Array.isArray(fact);
    if (!isGroup) return [group, withSource(`/${group}`, fact)] as const;
    const entries = Object.entries(fact).map(([name, value]) => [
      name,
      withSource(`/${group}/${name}`, value, `/${group}`),
    ]);
    return [group, Object.fromEntries(entries)] as const;
  });
  return Object.fromEntries(groups);
}
