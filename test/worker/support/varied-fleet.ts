// Makes a small fleet whose machines differ in every search term, and the expected search results, decided machine
// by machine.
import { contains, parseCidr } from "../../../shared/kubernetes/cidr.ts";
import { network, parseIp } from "../../../shared/kubernetes/ip.ts";
import type { MachineFilter } from "../../../shared/fleet/search-filter.ts";
import { PHASES } from "../../../shared/protocol/answers.ts";
import { FLEET_STATES } from "../../../shared/fleet/state.ts";
import type { MachineSummary } from "../../../shared/fleet/summary.ts";
import { matchesLabels } from "../../vectors/upstream/matches-labels.ts";
import { FLEET_START_MS, machineName, summaryOf } from "./made-up-fleet.ts";

interface FoundMachine {
  id: string;
  summary: MachineSummary;
}

/** The versions of shims, rising; the last two are invalid. */
export const VERSIONS = ["0.0.9", "0.1.0-rc.2", "0.1.0-rc.10", "0.1.0", "0.2.0", "0.10.0", "dev", ""];
/** Words and patterns that match many, few or none of the machines. */
export const WORDS = [
  "BER",
  "machine-0001",
  "203.0.113.",
  "2001:db8",
  "0.1.0",
  "bookworm",
  "%",
  "nowhere",
  "not ready",
  '"not ready"',
  "Not reporting",
  "cloned",
  "two shims",
  "DISK full",
  "machine-0001*",
  "*-00012*",
  "203.0.113.*",
  "*",
  '"machine-0001',
];
export const ADDRESSES = ["9.1.1.1", "203.0.113.7", "203.0.113.200", "2001:db8::1", "2001:db8:0:1::1", ""];
const SITES = ["berlin", "Bern", "7", "10"];

/** Returns the machine of this number. The numbers of pending machines follow those of the fleet index. */
export function varied(index: number): FoundMachine {
  const of = <T>(list: readonly T[], stride: number): T => list[Math.floor(index / stride) % list.length]!;
  const base = summaryOf(index);
  const summary: MachineSummary = {
    ...base,
    state: of(FLEET_STATES, 1),
    phase: of([null, ...PHASES], 2),
    why: of(["", "the disk is full", "PLEG is not healthy"], 11),
    sinceMs: FLEET_START_MS + (index % 50) * 1000,
    versions: { ...base.versions, shim: of(VERSIONS, 3) },
    address: of(ADDRESSES, 5),
    conditions: base.conditions.map((condition, at) => ({
      ...condition,
      status: of(["True", "False", "Unknown"], at + 1),
    })),
    labels: {
      ...base.labels,
      site: of(SITES, 4),
      ...(index % 3 === 0 && { "example.com/slot": String(index) }),
    },
    key: { ...base.key, token: of(["token-1", "token-2"], 7), isUsed: index % 6 !== 0 },
  };
  return { id: machineName(index), summary };
}

/**
 * Returns true if a search with this filter must find the machine. `beside`: the address of the machine that the
 * filter names.
 */
export function isFound({ id, summary }: FoundMachine, filter: MachineFilter, beside?: string): boolean {
  const { conditions, versions, key, address, sinceMs } = summary;
  const statusOf = (type: string) => conditions.find((each) => each.type.toLowerCase() === type)?.status;
  const rank = (version: string) => VERSIONS.slice(0, 6).indexOf(version);
  const words = [
    id,
    summary.state,
    summary.state.replace("-", " "),
    summary.state === "silent" ? "not reporting" : "",
    summary.phase ?? "",
    summary.why,
    address,
    ...summary.addresses.map((each) => each.address),
    ...Object.values(summary.labels),
  ];
  return [
    !filter.state || filter.state.includes(summary.state),
    !filter.phase || (summary.phase !== null && filter.phase.includes(summary.phase)),
    (filter.condition ?? []).every(
      ({ type, status, isNegated }) => (statusOf(type.toLowerCase()) === status) !== isNegated,
    ),
    matchesLabels(filter.selector ?? [], summary.labels),
    (filter.version ?? []).every(({ operator, version }) => {
      if (operator === "=") return versions.shim === version;
      if (operator === "!=") return versions.shim !== version;
      const difference = rank(versions.shim) - rank(version);
      if (rank(versions.shim) < 0) return false;
      return { "<": difference < 0, "<=": difference <= 0, ">": difference > 0, ">=": difference >= 0 }[
        operator
      ];
    }),
    !filter.token || key.token === filter.token,
    filter.unused === undefined || key.isUsed !== filter.unused,
    wordsOf(filter.text ?? "").every((wanted) =>
      wanted.includes("*")
        ? [id, address].some((each) => matchesGlob(each, wanted))
        : [...words, ...Object.values(versions)].some((word) => word.toLowerCase().includes(wanted)),
    ),
    filter.since === undefined || sinceMs > filter.since,
    filter.until === undefined || sinceMs <= filter.until,
    beside === undefined || isBeside(address, beside),
  ].every(Boolean);
}

const wordsOf = (text: string) =>
  (text.toLowerCase().match(/"[^"]*"?|[^\s"]+/g) ?? []).map((word) => word.replaceAll('"', ""));

const matchesGlob = (text: string, glob: string) =>
  new RegExp(`^${glob.replaceAll(".", String.raw`\.`).replaceAll("*", ".*")}$`).test(text);

function isBeside(one: string, other: string): boolean {
  const [a, b] = [parseIp(one), parseIp(other)];
  return a !== null && b !== null && network(a) === network(b);
}

export function isWithin(address: string, range: string): boolean {
  const ip = parseIp(address);
  const cidr = parseCidr(range);
  return ip !== null && (cidr ? contains(cidr, ip) : ip === parseIp(range));
}
