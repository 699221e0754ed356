// Defines flags that select machines. Each filter flag is a parameter of the Worker's search, and the Worker checks
// its value. Scope flags set the machines and states that a receiver or a mute concerns.
import { type Command, InvalidArgumentError, Option } from "commander";
import { readSearch } from "../../../shared/fleet/search-language.ts";
import { timeOf, timeText } from "../flag-values.ts";

export interface FilterFlags {
  search?: string;
  state?: string;
  phase?: string;
  condition?: string;
  selector?: string;
  versionOf?: string;
  address?: string;
  beside?: string;
  token?: string;
  text?: string;
  unused?: boolean;
  changedSince?: string;
  changedUntil?: string;
}

const FLAGS: Readonly<
  Record<
    Exclude<keyof FilterFlags, "search">,
    { parameter: string; flags: string; help: string; isTime?: true }
  >
> = {
  state: {
    parameter: "state",
    flags: "--state <states>",
    help: "only machines in one of these states: silent,not-ready (see explain)",
  },
  phase: {
    parameter: "phase",
    flags: "--phase <phases>",
    help: "only machines in one of these phases: 'cloned,two shims'",
  },
  condition: {
    parameter: "condition",
    flags: "--condition <conditions>",
    help: "only machines with these conditions: MemoryPressure, '!Ready', Ready=Unknown",
  },
  selector: {
    parameter: "selector",
    flags: "-l, --selector <selector>",
    help: "only machines with these labels, as kubectl's -l: site=b,tier!=gpu",
  },
  versionOf: {
    parameter: "version",
    flags: "--version-of <versions>",
    help: "only machines whose shim has this version: '<0.2.0', '>=0.1.0,!=0.1.3'",
  },
  address: {
    parameter: "address",
    flags: "--address <range>",
    help: "only machines that report from this address or range: 203.0.113.0/24",
  },
  beside: {
    parameter: "beside",
    flags: "--beside <machine>",
    help: "only this machine, and machines that report from the same address",
  },
  token: {
    parameter: "token",
    flags: "--token <id>",
    help: "only machines that enrolled with the join token with this ID",
  },
  text: {
    parameter: "text",
    flags: "--text <text>",
    help: "only machines with these words in name, state, reason, addresses, labels' values or versions",
  },
  unused: {
    parameter: "unused",
    flags: "--unused",
    help: "only machines that have never reported with their key",
  },
  changedSince: {
    parameter: "since",
    flags: "--changed-since <time>",
    help: "only machines whose state changed at this time or later: 15m, 2h, 2026-01-31T12:00:00Z",
    isTime: true,
  },
  changedUntil: {
    parameter: "until",
    flags: "--changed-until <time>",
    help: "only machines whose state last changed at this time or earlier",
    isTime: true,
  },
};

export function withFilterFlags(command: Command): Command {
  const help = "only machines that match this search, as on the page: 'not ready site=berlin since:2h'";
  const search = new Option("--search <search>", help).argParser(searchText);
  command.addOption(search.conflicts(Object.keys(FLAGS)));
  for (const { flags, help, isTime } of Object.values(FLAGS)) {
    const option = new Option(flags, help);
    command.addOption(isTime ? option.argParser(timeText) : option);
  }
  return command;
}

/** Checks a search, and returns the text unchanged. filterOf parses it later. */
function searchText(text: string): string {
  const read = readSearch(text, 0);
  if (read.ok) return text;
  throw new InvalidArgumentError(`${read.error.term} cannot be read: ${read.error.expected}`);
}

/** The flag of each search parameter, for error messages. */
export const TYPED_FILTER: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values(FLAGS).map(({ parameter, flags }) => [parameter, /--[a-z-]+/.exec(flags)?.[0] ?? flags]),
);

/** Returns the parameters of the search. Without a flag the result is {}, which selects every machine. */
export function filterOf({ search, ...flags }: FilterFlags, nowMs: number): Record<string, string> {
  const searched = search === undefined ? undefined : readSearch(search, nowMs);
  if (searched?.ok) return { ...searched.value.parameters };
  const entries = Object.entries(FLAGS).flatMap(([name, { parameter, isTime }]) => {
    const value = flags[name as keyof typeof flags];
    if (value === undefined) return [];
    return [[parameter, isTime ? timeOf(String(value), nowMs) : String(value)]];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

export interface ScopeFlags {
  selector?: string;
  names?: string;
  state?: string;
}

export function withScopeFlags(command: Command): Command {
  return command
    .option("-l, --selector <selector>", "only machines with these labels, as kubectl's -l: site=b,tier!=gpu")
    .option(
      "--names <pattern>",
      "only machines with this name, or of this pattern (* matches any text without a dot)",
    )
    .option(
      "--state <states>",
      "only alerts about these states: not-ready,silent,cluster-unreachable,blocked,revoked",
    );
}

/** The flag that sets each field of the request's body, for error messages. */
export const TYPED_SCOPE = { selector: "--selector", names: "--names", states: "--state" };

/** Returns the fields of the request's body whose flags were given. */
export const scopeOf = ({ selector, names, state }: ScopeFlags) => ({
  ...(selector !== undefined && { selector }),
  ...(names !== undefined && { names }),
  ...(state !== undefined && { states: state.split(",") }),
});

/** Returns the machines of a scope as text, like `site=b edge-*`, or `all` if the scope does not limit the machines. */
export const machinesOf = ({ selector, names }: { selector: string; names: string }) =>
  [selector, names].filter((text) => text !== "").join(" ") || "all";
