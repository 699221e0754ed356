// A machine as the feed tells of it: what lists, filters and counts need. What only the view of one machine shows does
// not travel. Fields are added, and never change their meaning.
import type { Json } from "../kubernetes/json.ts";
import { HOSTNAME_LABEL, OWN_HOSTNAME_LABEL } from "../kubernetes/labels.ts";
import type { MachineSummary } from "./summary.ts";

const MINUTE_MS = 60_000;

type Fields = Record<string, (summary: MachineSummary, name: string) => Json>;

/** What transitions change. Times are told by how much they differ: most are equal then, and take no room. */
const MOVING: Fields = {
  name: (_, name) => name,
  state: ({ state }) => state,
  since: ({ sinceMs }) => sinceMs,
  silent: ({ silentSinceMs, sinceMs }) => (silentSinceMs === null ? null : silentSinceMs - sinceMs),
  phase: ({ phase }) => phase,
  why: ({ why }) => why,
  conditions: ({ conditions }) => Object.fromEntries(conditions.map(({ type, status }) => [type, status])),
  unschedulable: ({ isUnschedulable }) => isUnschedulable,
  skew: ({ skewMs }) => skewMs,
};

/** Reads a label that no two machines share. true: it is the machine's name; null: the Node does not have it. */
const hostname =
  (key: string): Fields[string] =>
  ({ labels }, name) =>
    labels[key] === name ? true : (labels[key] ?? null);

/** What is seldom different. The host's name, which no two share, is apart from the other labels, which many do. */
const LASTING: Fields = {
  labels: ({ labels }) => {
    const { [HOSTNAME_LABEL]: _, [OWN_HOSTNAME_LABEL]: _own, ...others } = labels;
    return others;
  },
  hostname: hostname(HOSTNAME_LABEL),
  ownHostname: hostname(OWN_HOSTNAME_LABEL),
  versions: ({ versions: { shim, kernel, os, runtime, architecture } }) => [
    shim,
    kernel,
    os,
    runtime,
    architecture,
  ],
  addresses: ({ addresses }) =>
    addresses.flatMap(({ type, address }) => (type === "Hostname" ? [] : `${type}=${address}`)),
  address: ({ address }) => address,
  capacity: ({ capacity }) => capacity,
  withheld: ({ withheld }) => withheld,
  token: ({ key }) => key.token,
  used: ({ key }) => key.isUsed,
  transport: ({ transport }) => transport,
  // To the minute: what says how old a Node is must not be far off, and Nodes that join together are told of once.
  created: ({ createdMs = 0 }) => (createdMs === 0 ? null : createdMs - (createdMs % MINUTE_MS)),
};

/** The columns of a change of these machines, and of machines as a whole. */
export const MOVING_FIELDS: readonly string[] = Object.keys(MOVING);
export const ALL_FIELDS: readonly string[] = [...MOVING_FIELDS, ...Object.keys(LASTING)];

const valuesOf = (fields: Fields) => {
  const readers = Object.values(fields);
  return (name: string, summary: MachineSummary): Json[] => readers.map((read) => read(summary, name));
};

/** The values of MOVING_FIELDS. */
export const movingValues = valuesOf(MOVING);
/** The values of ALL_FIELDS. */
export const allValues = valuesOf({ ...MOVING, ...LASTING });

/** Does a machine that was known differ in what MOVING_FIELDS lack? */
export function hasLastingChange(before: MachineSummary, after: MachineSummary): boolean {
  return Object.values(LASTING).some(
    (read) => JSON.stringify(read(before, "")) !== JSON.stringify(read(after, "")),
  );
}
