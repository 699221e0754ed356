// What the fleet index's routes answer. The command line validates answers by these schemas; the Worker imports their
// types alone. Times are RFC 3339. Words that only people read have no enum, since a newer Worker may have more of them.
import * as z from "zod/mini";

/** 200 to GET /v1/nodes/{name}/summary, which wakes no machine's object. */
export const fleetMachineSchema = z.object({
  name: z.string(),
  /** One of FLEET_STATES. */
  state: z.string(),
  /** When the state began. */
  since: z.string(),
  /** One of Phase; null: it has had no answer yet. */
  phase: z.nullable(z.string()),
  /** Why it is not ready; "": it is, or nothing is known. */
  why: z.string(),
  /** From which it reports; "": not known. */
  address: z.string(),
  /** "": not known. */
  versions: z.object({
    shim: z.string(),
    kernel: z.string(),
    os: z.string(),
    runtime: z.string(),
    architecture: z.string(),
  }),
  conditions: z.array(
    z.object({
      type: z.string(),
      status: z.string(),
      reason: z.string(),
      message: z.string(),
      /** null: not known. */
      since: z.nullable(z.string()),
    }),
  ),
  labels: z.record(z.string(), z.string()),
  isUnschedulable: z.boolean(),
  addresses: z.array(z.object({ type: z.string(), address: z.string() })),
  capacity: z.record(z.string(), z.string()),
  /** How far its clock is ahead; 0 unless that is more than a minute. */
  skewMs: z.number(),
  silentSince: z.nullable(z.string()),
  /** The boot ID; "": not known. */
  boot: z.string(),
  /** A digest of the startId: equal ones are the same process. */
  process: z.string(),
  transport: z.string(),
  /** What the deployment or the join token does not let it have. */
  withheld: z.string(),
  key: z.object({ thumbprint: z.string(), token: z.string(), pinnedAt: z.string(), isUsed: z.boolean() }),
  /** When its Node was created; null: not known, or there is none. Absent: an earlier Worker. */
  created: z.optional(z.nullable(z.string())),
});
/** A machine as the index knows it. One whose state is `pending` waits for a name, which another machine may have. */
export type FleetMachine = z.infer<typeof fleetMachineSchema>;

const counts = z.record(z.string(), z.number());

/** 200 to GET /v1/machines. */
export const machinesSchema = z.object({
  /** Each with the fields that were asked for. */
  machines: z.array(z.partial(fleetMachineSchema)),
  /** By state: of all that match, and of the whole fleet. */
  counts: z.object({ matching: counts, fleet: counts }),
  /** For the next page; null: this is the last. */
  cursor: z.nullable(z.string()),
});
export type MachinesAnswer = z.infer<typeof machinesSchema>;

const fleetHistoryEntry = z.object({
  id: z.number(),
  at: z.string(),
  name: z.string(),
  /** One of HISTORY_KINDS. */
  kind: z.string(),
  text: z.string(),
});
export type FleetHistoryEntry = z.infer<typeof fleetHistoryEntry>;

/** 200 to GET /v1/history; newest first. */
export const fleetHistorySchema = z.object({ entries: z.array(fleetHistoryEntry) });
export type FleetHistoryAnswer = z.infer<typeof fleetHistorySchema>;
