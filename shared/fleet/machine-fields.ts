// What a list of machines can show of each, and by what it can be ordered: the words of the API. Reads no query.

/** `urgency`: what has to be looked at first, and of those what began last. */
export const MACHINE_SORTS = ["name", "state", "since", "version", "address", "urgency"] as const;
export type MachineSort = (typeof MACHINE_SORTS)[number];

/** What is shown of a machine, in this order. */
export const MACHINE_FIELDS = [
  "name",
  "state",
  "since",
  "phase",
  "why",
  "address",
  "versions",
  "conditions",
  "labels",
  "isUnschedulable",
  "addresses",
  "capacity",
  "skewMs",
  "silentSince",
  "boot",
  "process",
  "transport",
  "withheld",
  "key",
  "created",
] as const;
export type MachineField = (typeof MACHINE_FIELDS)[number];
