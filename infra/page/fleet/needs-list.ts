// Sorts the machines that need attention into groups, most urgent first.
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { networkOf } from "../../../shared/fleet/sort-keys.ts";
import { OUTAGE_MACHINES, OUTAGE_SPAN_MS } from "../../../shared/fleet/outages.ts";
import { isLifecycle, MAINTENANCE_IN_PROGRESS } from "../../../shared/kubernetes/lifecycle-conditions.ts";
import { hasWrongCondition } from "../../../shared/fleet/well-conditions.ts";
import type { PendingMachine } from "../../../shared/protocol/operator-answers.ts";
import type { Outage } from "../../../shared/protocol/outages.ts";

/** The number of entries that a group lists. Further entries are only counted. */
export const NEEDS_LISTED = 10;

/** Groups of machines by urgency, as in URGENCY. `conditions`: ready, with a warning. `skewed`: only a wrong clock. */
const MACHINE_GROUPS = ["silent", "not-ready", "blocked", "conditions", "skewed"] as const;
export type MachineGroup = (typeof MACHINE_GROUPS)[number];

export interface OpenOutage {
  outage: Outage;
  startedMs: number;
  /** The machines that are still silent, by name. `outage.silent` is the Worker's count of them. */
  machines: readonly FeedMachine[];
}

/** The machines whose Nodes the Worker cannot write. Machines with a fault of their own are also in another group. */
export interface Unwritten {
  count: number;
  /** When the Worker noticed the first of these machines, in milliseconds since 1970. */
  sinceMs: number;
  /** The number of machines in each phase, the largest number first, with the reason of one of them. */
  phases: readonly { phase: string; count: number; why: string }[];
}

interface Listed<T> {
  /** The listed entries, NEEDS_LISTED at most. */
  entries: readonly T[];
  /** The number of all entries. */
  count: number;
}

export type NeedsGroup =
  | ({ kind: "outage" } & Listed<OpenOutage>)
  | ({ kind: "cluster-unreachable" } & Unwritten)
  | ({ kind: MachineGroup } & Listed<FeedMachine>)
  | ({ kind: "pending" } & Listed<PendingMachine>);
export type NeedsKind = NeedsGroup["kind"];

interface FleetToTend {
  machines: Iterable<FeedMachine>;
  outages: Iterable<Outage>;
  pending: readonly PendingMachine[];
}

/** The places of the entries that stay where they are, by keyOf. */
export type HeldPlaces = ReadonlyMap<string, number>;

/**
 * Returns the groups that have entries. In a group the latest problem comes first, as with `sort=urgency` of the
 * API. `held` entries keep their places before all others, because the operator points at them.
 */
export function needsList(
  { machines, outages, pending }: FleetToTend,
  held: HeldPlaces = new Map(),
): NeedsGroup[] {
  const open = openOutages(outages);
  const unwritten: FeedMachine[] = [];
  const single: Record<MachineGroup, FeedMachine[]> = {
    silent: [],
    "not-ready": [],
    blocked: [],
    conditions: [],
    skewed: [],
  };
  for (const machine of machines) {
    const isQuiet = machine.conditions[MAINTENANCE_IN_PROGRESS] === "True";
    const outage = machine.state === "silent" && !isQuiet ? outageOf(machine, open) : undefined;
    if (outage) outage.machines.push(machine);
    else {
      if (machine.state === "cluster-unreachable") unwritten.push(machine);
      const group = isQuiet ? null : groupOf(machine);
      if (group) single[group].push(machine);
    }
  }
  for (const { machines } of open) machines.sort((a, b) => (a.name < b.name ? -1 : 1));
  const groups: NeedsGroup[] = [
    { kind: "cluster-unreachable", ...unwrittenOf(unwritten) },
    { kind: "outage", ...listed("outage", open, held) },
    ...(["silent", "not-ready", "blocked"] as const).map((kind) => ({
      kind,
      ...listed(kind, single[kind], held),
    })),
    { kind: "pending", ...listed("pending", pending, held) },
    ...(["conditions", "skewed"] as const).map((kind) => ({ kind, ...listed(kind, single[kind], held) })),
  ];
  return groups.filter(({ count }) => count > 0);
}

function groupOf({ state, skewMs, conditions }: FeedMachine): MachineGroup | null {
  switch (state) {
    case "blocked":
    case "silent":
      return state;
    case "ready":
      if (hasWrongCondition(conditions)) return "conditions";
      return skewMs === 0 ? null : "skewed";
    // Only a report sets a condition to such a status. Unknown is the status of the node controller.
    case "cluster-unreachable":
      return Object.entries(conditions).some(
        ([type, status]) => type !== "Ready" && status === "True" && !isLifecycle(type),
      )
        ? "conditions"
        : null;
    // A machine with a revoked key has no remedy here, and pending machines are listed by their keys elsewhere.
    case "revoked":
    case "pending":
      return null;
    // A machine in an unknown state, from a newer Worker, is listed too.
    default:
      return "not-ready";
  }
}

interface Gathered extends OpenOutage {
  machines: FeedMachine[];
}

/** Returns the open outages, except those below OUTAGE_MACHINES silent machines, which are listed one by one. */
function openOutages(outages: Iterable<Outage>): Gathered[] {
  const open: Gathered[] = [];
  for (const outage of outages)
    if (outage.endedAt === null && outage.silent >= OUTAGE_MACHINES)
      open.push({ outage, startedMs: Date.parse(outage.startedAt), machines: [] });
  // If two outages of one network began within a minute, a machine of both belongs to the later one, so it is first.
  return open.sort((a, b) => b.outage.id - a.outage.id);
}

function outageOf(machine: FeedMachine, open: readonly Gathered[]): Gathered | undefined {
  const beganMs = silentMs(machine);
  return open.find(
    ({ outage, startedMs }) =>
      beganMs >= startedMs && beganMs - startedMs <= OUTAGE_SPAN_MS && isIn(outage.network, machine.address),
  );
}

/** Returns true if the address is in the network. Parses only IPv6: an IPv4 network is one address. */
function isIn(network: string, address: string): boolean {
  return network === address || (network.includes(":") && networkOf(address) === network);
}

const silentMs = ({ silentSinceMs, sinceMs }: FeedMachine) => silentSinceMs ?? sinceMs;

function unwrittenOf(machines: readonly FeedMachine[]): Unwritten {
  const phases = [...Map.groupBy(machines, ({ phase }) => phase ?? "")].map(([phase, of]) => ({
    phase,
    count: of.length,
    // The shortest reason has no fault of one machine.
    why: of.reduce((least, { why }) => (why.length < least.length ? why : least), of[0]?.why ?? ""),
  }));
  return {
    count: machines.length,
    sinceMs: machines.reduce((first, { sinceMs }) => Math.min(first, sinceMs), Infinity),
    phases: phases.sort((a, b) => b.count - a.count || (a.phase < b.phase ? -1 : 1)),
  };
}

type NeedsEntry = OpenOutage | FeedMachine | PendingMachine;

/** Returns the key of an entry. A machine, pending key or outage keeps its key while it is in this group. */
export function keyOf(kind: NeedsKind, entry: NeedsEntry): string {
  if ("outage" in entry) return `${kind} ${entry.outage.id}`;
  return "thumbprint" in entry ? `${kind} ${entry.name} ${entry.thumbprint}` : `${kind} ${entry.name}`;
}

/** Returns when the problem began, in milliseconds since 1970. */
export function sinceOf(entry: NeedsEntry): number {
  if ("outage" in entry) return entry.startedMs;
  if ("askedAt" in entry) return Date.parse(entry.askedAt);
  return entry.state === "silent" ? silentMs(entry) : entry.sinceMs;
}

/** An entry, and its place while the operator points at the list, or Infinity for an entry without one. */
type Placed<T> = { entry: T; place: number; sinceMs: number };

/** Returns the first entries without sorting all of them, because an outage may have thousands. */
function listed<T extends NeedsEntry>(kind: NeedsKind, all: readonly T[], held: HeldPlaces): Listed<T> {
  const first: Placed<T>[] = [];
  for (const entry of all) {
    const place = held.size === 0 ? Infinity : (held.get(keyOf(kind, entry)) ?? Infinity);
    const one = { entry, place, sinceMs: sinceOf(entry) };
    const last = first[NEEDS_LISTED - 1];
    if (last && !isBefore(kind, one, last)) continue;
    const at = first.findIndex((other) => isBefore(kind, one, other));
    first.splice(at < 0 ? first.length : at, 0, one);
    first.length = Math.min(first.length, NEEDS_LISTED);
  }
  return { entries: first.map(({ entry }) => entry), count: all.length };
}

function isBefore<T extends NeedsEntry>(kind: NeedsKind, one: Placed<T>, other: Placed<T>): boolean {
  if (one.place !== other.place) return one.place < other.place;
  if (one.sinceMs !== other.sinceMs) return one.sinceMs > other.sinceMs;
  return keyOf(kind, one.entry) < keyOf(kind, other.entry);
}

/** Returns the present places of the listed entries. With these places needsList keeps the entries where they are. */
export function heldPlaces(groups: readonly NeedsGroup[]): HeldPlaces {
  const places = new Map<string, number>();
  for (const group of groups)
    if ("entries" in group)
      for (const entry of group.entries) places.set(keyOf(group.kind, entry), places.size);
  return places;
}

/** Returns `before` if `now` lists equal entries, so that most messages of the feed draw nothing. */
export function unlessSame(before: readonly NeedsGroup[], now: readonly NeedsGroup[]): readonly NeedsGroup[] {
  return isSame(before, now) ? before : now;
}

/** Returns true if two values are equal, seldom by going deep, since unchanged machines are identical. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const [own, other] = [Object.entries(a), new Map(Object.entries(b))];
  return (
    own.length === other.size && own.every(([key, value]) => other.has(key) && isSame(value, other.get(key)))
  );
}

/** The groups that the operator has opened or closed. Other groups are closed. */
export type Folds = ReadonlyMap<NeedsKind, boolean>;

/** Formats the operator's choices for the browser's storage, like `blocked=open silent=closed`. */
export function foldsText(folds: Folds): string {
  return [...folds].map(([kind, isOpen]) => `${kind}=${isOpen ? "open" : "closed"}`).join(" ");
}

/** Parses the text of foldsText. Ignores invalid words. */
export function foldsOf(text: string, kinds: readonly NeedsKind[]): Folds {
  const words = text.split(" ");
  const folds = new Map<NeedsKind, boolean>();
  for (const kind of kinds) {
    if (words.includes(`${kind}=open`)) folds.set(kind, true);
    else if (words.includes(`${kind}=closed`)) folds.set(kind, false);
  }
  return folds;
}
