// Lists the fields that a list of machines can show, and the orders that it can have. The API uses these words.

/** The orders of a list. `urgency`: the most urgent state first; within a state, the latest change first. */
export const MACHINE_SORTS = ["name", "state", "since", "version", "address", "urgency"] as const;
export type MachineSort = (typeof MACHINE_SORTS)[number];

/** The fields of a machine, in the order in which lists show them. */
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
