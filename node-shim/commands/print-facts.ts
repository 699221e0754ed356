// node-shim facts: the facts that this machine would report, and where each was read. Offline.
import type { Facts } from "../../shared/protocol/facts.ts";
import { FACT_GROUPS } from "../machine/fact-groups.ts";
import { thisMachine } from "../machine/machine.ts";
import { type MachineFlags } from "../machine/settings.ts";

/** JSON: the facts, with `value` and `source` in place of each. */
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

/** The sources in the table of fact groups. Those noted while gathering are more exact, and replace them. */
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
