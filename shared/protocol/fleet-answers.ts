// Defines the schemas of the fleet index's answers: machines, history, the rollout, versions, and the index itself.
// The Worker imports only the types. Times are RFC 3339. A text that only people read has no enum, since a newer
// Worker may return further values.
import * as z from "zod/mini";

/** The body of a 200 answer to GET /v1/nodes/{name}/summary, which wakes no node object. */
export const fleetMachineSchema = z.object({
  name: z.string(),
  /** One of FLEET_STATES. */
  state: z.string(),
  /** The time at which the state began. */
  since: z.string(),
  /** One of PHASES; null if the machine has not had an answer yet. */
  phase: z.nullable(z.string()),
  /** The reason why the Node is not Ready; "" if it is Ready, or the reason is not known. */
  why: z.string(),
  /** The address that the machine reports from; "" if not known. */
  address: z.string(),
  /** The versions by the machine's facts; "" if not known. */
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
      /** The time of the condition's last transition; null if not known. */
      since: z.nullable(z.string()),
    }),
  ),
  labels: z.record(z.string(), z.string()),
  isUnschedulable: z.boolean(),
  addresses: z.array(z.object({ type: z.string(), address: z.string() })),
  capacity: z.record(z.string(), z.string()),
  /** Milliseconds by which the machine's clock is ahead; 0 if at most a minute. */
  skewMs: z.number(),
  silentSince: z.nullable(z.string()),
  /** The machine's boot ID; "" if not known. */
  boot: z.string(),
  /** A digest of the startId, which is equal for reports of one process. */
  process: z.string(),
  transport: z.string(),
  /** The parts that the deployment or the join token does not allow, for operators. */
  withheld: z.string(),
  key: z.object({ thumbprint: z.string(), token: z.string(), pinnedAt: z.string(), isUsed: z.boolean() }),
  /** The time of the Node's creation; null if unknown or without a Node. Earlier Workers omit the field. */
  created: z.optional(z.nullable(z.string())),
});
/** A machine in the fleet index. In the state `pending`, the machine waits for a name that another machine may have. */
export type FleetMachine = z.infer<typeof fleetMachineSchema>;

const counts = z.record(z.string(), z.number());

/** The body of a 200 answer to GET /v1/machines. */
export const machinesSchema = z.object({
  /** The machines of the page, each with the requested fields. */
  machines: z.array(z.partial(fleetMachineSchema)),
  /** The number of machines by state: of the matching machines, and of the whole fleet. */
  counts: z.object({ matching: counts, fleet: counts }),
  /** The cursor of the next page; null on the last page. */
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

/** The body of a 200 answer to GET /v1/history, newest first. */
export const fleetHistorySchema = z.object({ entries: z.array(fleetHistoryEntry) });
export type FleetHistoryAnswer = z.infer<typeof fleetHistorySchema>;

const rollout = z.object({
  version: z.string(),
  percent: z.number(),
  selector: z.string(),
  mostSilentPercent: z.number(),
  atOnce: z.number(),
  /** The operator who last changed the rollout. `atMs` is the time of the change, in milliseconds since 1970. */
  who: z.string(),
  sinceMs: z.number(),
  /** The time and the reason of the rollout's stop; null while it runs. */
  stopped: z.nullable(z.object({ atMs: z.number(), why: z.string() })),
  /** The number of machines that got the version, by result. */
  machines: z.object({
    /** The number of machines that have not reported with the version yet. */
    underway: z.number(),
    upgraded: z.number(),
    /** The number of machines that fell silent after they got the version. */
    silent: z.number(),
    /** The number of machines that were silent when an operator continued the rollout. */
    accepted: z.number(),
  }),
  /** The names of silent machines, at most ten. */
  silent: z.array(z.string()),
});
export type ShownRollout = z.infer<typeof rollout>;

/** The body of a 200 answer to GET and PUT /v1/rollout. */
export const rolloutSchema = z.object({
  /** The rollout; null if there is none. */
  rollout: z.nullable(rollout),
});
export type RolloutAnswer = z.infer<typeof rolloutSchema>;

const shimVersion = z.object({
  /** The shim's version; "" if not known yet. */
  version: z.string(),
  machines: z.number(),
  /** true if the shim is older than the Worker. */
  isBehind: z.boolean(),
  /** The number of machines with this version, by state. */
  states: z.record(z.string(), z.number()),
});
export type ShimVersion = z.infer<typeof shimVersion>;

/** The body of a 200 answer to GET /v1/versions. */
export const versionsSchema = z.object({
  /** The Worker's version. */
  worker: z.string(),
  /** The most frequent versions of the shim, newest first. */
  shims: z.array(shimVersion),
  /** The number of machines whose version is not in `shims`. */
  others: z.number(),
});
export type VersionsAnswer = z.infer<typeof versionsSchema>;

const repairing = z.object({
  /** The operator who started the repair, or the reason why the index started it. */
  cause: z.string(),
  /** The start of the repair, in milliseconds since 1970, like all fields that end in `Ms`. */
  startedAtMs: z.number(),
  /** The end of the repair; null while it runs. */
  endedAtMs: z.nullable(z.number()),
  /** The number of node objects that were asked to send their summary again. */
  asked: z.number(),
  /** The number of node objects that did not answer. */
  failed: z.number(),
  /** The number of machines that were removed because the registry did not know them. */
  removed: z.number(),
});
export type IndexRepairing = z.infer<typeof repairing>;

const check = z.object({
  atMs: z.number(),
  /** The number of compared names of the registry; 0 before the first check. */
  compared: z.number(),
  /** The names that the fleet index did not know. */
  absent: z.array(z.string()),
  /** The names whose summary differed from the node object's. */
  differing: z.array(z.string()),
  /** The names that the fleet index removed, because the registry did not know them. */
  removed: z.array(z.string()),
});
export type IndexCheck = z.infer<typeof check>;

/** The body of a 200 answer to GET /v1/index, and of a 202 answer to POST /v1/index/repair. */
export const indexStateSchema = z.object({
  /** The number of names in the registry. */
  names: z.number(),
  /** The number of machines in the fleet index. */
  machines: z.number(),
  /** The last repair of the fleet index; null if there was none. */
  repair: z.nullable(repairing),
  /** The last daily check of the fleet index; null before the first check. */
  check: z.nullable(check),
  /** The log of the fleet index, newest line first. */
  log: z.array(z.object({ at: z.string(), text: z.string() })),
});
export type IndexState = z.infer<typeof indexStateSchema>;

const shown = z.nullable(z.number());
const machineUsage = z.object({
  name: z.string(),
  /** The time at which the gateway received the last frame (RFC 3339). */
  at: z.string(),
  /** The time between the last two frames; null after only one. Absent: the Worker is of an earlier version. */
  windowSeconds: z.nullish(z.number()),
  /** The average number of CPUs in use between the last two frames. As each rate below, it is null after only one frame. */
  cpuUsed: shown,
  cpus: shown,
  load1: shown,
  load5: shown,
  load15: shown,
  memoryWorkingSetBytes: shown,
  memoryCapacityBytes: shown,
  diskReadBytesPerSecond: shown,
  diskWrittenBytesPerSecond: shown,
  networkReceivedBytesPerSecond: shown,
  networkSentBytesPerSecond: shown,
  /** The share of the time in which at least one task waited for CPU, memory or disks: 0 to 1. */
  cpuPressure: shown,
  memoryPressure: shown,
  ioPressure: shown,
  temperatureCelsius: shown,
});
export type MachineUsage = z.infer<typeof machineUsage>;

/** The body of a 200 answer to GET /v1/usage. */
export const usageSchema = z.object({
  /** The machines that send their usage over a socket, in the order of their gateways. */
  machines: z.array(machineUsage),
  /** true if each gateway has answered, so that no machine is missing. */
  isComplete: z.boolean(),
});
export type UsageAnswer = z.infer<typeof usageSchema>;
