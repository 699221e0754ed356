// Schemas of the fleet index's answers: machines, history, the rollout, versions, and the index itself. The Worker imports
// only their types. Times are RFC 3339. Words that only people read have no enum, since a newer Worker may have more.
import * as z from "zod/mini";

/** 200 to GET /v1/nodes/{name}/summary, which wakes no machine's object. */
export const fleetMachineSchema = z.object({
  name: z.string(),
  /** One of FLEET_STATES. */
  state: z.string(),
  /** When the state began. */
  since: z.string(),
  /** One of PHASES; null if the machine has had no answer yet. */
  phase: z.nullable(z.string()),
  /** Why the Node is not Ready; "" if it is Ready, or unknown. */
  why: z.string(),
  /** The address that reports come from; "" if unknown. */
  address: z.string(),
  /** "" if unknown. */
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
      /** null if unknown. */
      since: z.nullable(z.string()),
    }),
  ),
  labels: z.record(z.string(), z.string()),
  isUnschedulable: z.boolean(),
  addresses: z.array(z.object({ type: z.string(), address: z.string() })),
  capacity: z.record(z.string(), z.string()),
  /** How far the machine's clock is ahead; 0 within a minute. */
  skewMs: z.number(),
  silentSince: z.nullable(z.string()),
  /** The boot ID; "" if unknown. */
  boot: z.string(),
  /** A digest of the startId, equal for reports of the same process. */
  process: z.string(),
  transport: z.string(),
  /** What the deployment or the join token does not allow. */
  withheld: z.string(),
  key: z.object({ thumbprint: z.string(), token: z.string(), pinnedAt: z.string(), isUsed: z.boolean() }),
  /** When the Node was created; null if unknown, or without a Node. Earlier Workers omit it. */
  created: z.optional(z.nullable(z.string())),
});
/** A machine in the index. In the state `pending` it waits for a name, which another machine may have. */
export type FleetMachine = z.infer<typeof fleetMachineSchema>;

const counts = z.record(z.string(), z.number());

/** 200 to GET /v1/machines. */
export const machinesSchema = z.object({
  /** Each with the requested fields. */
  machines: z.array(z.partial(fleetMachineSchema)),
  /** By state, for the matching machines and for the whole fleet. */
  counts: z.object({ matching: counts, fleet: counts }),
  /** For the next page; null on the last one. */
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

const rollout = z.object({
  version: z.string(),
  percent: z.number(),
  selector: z.string(),
  mostSilentPercent: z.number(),
  atOnce: z.number(),
  /** The operator who changed it last, and when, in milliseconds since 1970. */
  who: z.string(),
  sinceMs: z.number(),
  /** null while it runs. */
  stopped: z.nullable(z.object({ atMs: z.number(), why: z.string() })),
  /** Machines that got the version, by result. */
  machines: z.object({
    /** Machines that have not yet reported with the version. */
    underway: z.number(),
    upgraded: z.number(),
    /** Silent since they got the version. */
    silent: z.number(),
    /** Silent when an operator continued the rollout. */
    accepted: z.number(),
  }),
  /** At most ten names of silent machines. */
  silent: z.array(z.string()),
});
export type ShownRollout = z.infer<typeof rollout>;

/** 200 to GET and PUT /v1/rollout. */
export const rolloutSchema = z.object({
  /** null if there is none. */
  rollout: z.nullable(rollout),
});
export type RolloutAnswer = z.infer<typeof rolloutSchema>;

const shimVersion = z.object({
  /** "" if not yet known. */
  version: z.string(),
  machines: z.number(),
  /** True if the shim is older than the Worker. */
  isBehind: z.boolean(),
  /** The number of machines by state. */
  states: z.record(z.string(), z.number()),
});
export type ShimVersion = z.infer<typeof shimVersion>;

/** 200 to GET /v1/versions. */
export const versionsSchema = z.object({
  /** The Worker's version. */
  worker: z.string(),
  /** The most frequent versions, newest first. */
  shims: z.array(shimVersion),
  /** Machines of versions that are not in `shims`. */
  others: z.number(),
});
export type VersionsAnswer = z.infer<typeof versionsSchema>;

const repairing = z.object({
  /** The operator who started it, or why it started by itself. */
  cause: z.string(),
  /** Milliseconds since 1970, like all `…Ms`. */
  startedAtMs: z.number(),
  /** null while it runs. */
  endedAtMs: z.nullable(z.number()),
  /** The number of machines whose objects were asked to send everything again. */
  asked: z.number(),
  /** The number of objects that have not answered. */
  failed: z.number(),
  /** The number of machines that the registry did not know. */
  removed: z.number(),
});
export type IndexRepairing = z.infer<typeof repairing>;

const check = z.object({
  atMs: z.number(),
  /** The number of names in the registry; 0 before the first check. */
  compared: z.number(),
  /** Names that the index did not know. */
  absent: z.array(z.string()),
  /** Names whose summary differed from that of their object. */
  differing: z.array(z.string()),
  /** Names that the registry did not know. */
  removed: z.array(z.string()),
});
export type IndexCheck = z.infer<typeof check>;

/** 200 to GET /v1/index, 202 to POST /v1/index/repair. */
export const indexStateSchema = z.object({
  /** The number of names in the registry. */
  names: z.number(),
  /** The number of machines in the index. */
  machines: z.number(),
  /** The last repair; null if there was none. */
  repair: z.nullable(repairing),
  /** The last daily check; null before the first one. */
  check: z.nullable(check),
  /** Newest first. */
  log: z.array(z.object({ at: z.string(), text: z.string() })),
});
export type IndexState = z.infer<typeof indexStateSchema>;
