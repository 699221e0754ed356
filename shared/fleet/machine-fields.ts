// The fields that a list of machines can show, and the orders it can have: the words of the API.

/** `urgency`: the most urgent state first, in each state the latest first. */
export const MACHINE_SORTS = ["name", "state", "since", "version", "address", "urgency"] as const;
export type MachineSort = (typeof MACHINE_SORTS)[number];

/** The fields of a machine, in order. */
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
