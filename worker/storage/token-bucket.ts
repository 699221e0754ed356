// Limits rates by token buckets: a bucket allows some actions at once, then one more in each interval.
import {
  ASKING_LIMITS,
  GATEWAY_LIMITS,
  NOTIFICATION_LIMITS,
  USAGE_LIMITS,
} from "../../shared/protocol/limits.ts";

export interface RateLimit {
  atOnce: number;
  everyMs: number;
}

/** The limits of one machine's actions that token buckets enforce. */
export const RATE_LIMITS = {
  /**
   * Fresh requests of one machine; each costs the Worker some 12 ms. A steady shim reports at most once a second, apart
   * from a few changes of Ready. A machine with a short lease may send more (requestLimit).
   */
  requests: { atOnce: 100, everyMs: 1000 },
  /** Registrations of new processes of the shim. Each registration may write the Node. */
  registrations: { atOnce: 6, everyMs: 60_000 },
  /**
   * Processes of the shim that start their events with a full spam budget and a count of one, as a restarted
   * kubelet does. At most 24 processes do so in an hour; each may send 25 events of each type.
   */
  freshEvents: { atOnce: 12, everyMs: 300_000 },
  /** Status writes between reports: a fight of two writers over a value causes no more writes than reports would. */
  statusBetweenReports: { atOnce: 3, everyMs: 10_000 },
  /** Writes of a machine's NodeFeature object: an hour's cause no more bytes than an hour's statuses. */
  nodeFeatures: { atOnce: 4, everyMs: 600_000 },
  /**
   * Evaluations of the deployment's rules after changes of one machine's features: they can take a second, and the fleet
   * index writes a row for each rule that begins or ceases to match.
   */
  rulings: { atOnce: 4, everyMs: 600_000 },
  /** Lines of history about outages that machines report. */
  outageLines: { atOnce: 6, everyMs: 600_000 },
  /** Updates of the fleet index, which receives the updates of all machines. */
  indexUpdates: { atOnce: 10, everyMs: 10_000 },
  /**
   * New Nodes of all machines with one join token: 1,000 machines that enrol at once have their Nodes within seven
   * minutes.
   */
  newNodes: { atOnce: 200, everyMs: 500 },
  /**
   * Bytes of the Nodes of all machines with one join token: of new Nodes, of Nodes that grow, and of writes beyond a
   * machine's own share. 1,000 Nodes of 4 KiB need five minutes. Of the largest Nodes (64 KiB), eight fit into a
   * minute.
   */
  nodeBytes: { atOnce: 2 * 1024 * 1024, everyMs: 60_000 / (512 * 1024) },
  /** Enrolments of all machines, whose first reports are the costliest: 3,000 machines need 70 seconds. */
  enrolments: { atOnce: 200, everyMs: 25 },
  /** Silent machines of the deployment whose Nodes get Ready Unknown. Fifty at once would delay other requests. */
  silentNodes: { atOnce: 5, everyMs: 20 },
  /** Alerts' deliveries to one receiver that are about machines with one join token. */
  deliveries: { atOnce: 6, everyMs: 60_000 },
  socketUpgrades: {
    atOnce: GATEWAY_LIMITS.upgradesAMinute,
    everyMs: 60_000 / GATEWAY_LIMITS.upgradesAMinute,
  },
  socketUsage: { atOnce: USAGE_LIMITS.atOnce, everyMs: 60_000 / USAGE_LIMITS.aMinute },
  /** The frames in which a machine names its questions, over one socket. */
  socketQuestions: {
    atOnce: ASKING_LIMITS.namingsAtOnce,
    everyMs: 60_000 / ASKING_LIMITS.namingsAMinute,
  },
  /** The questions to one machine, and those of one operator. */
  questionsOfMachine: {
    atOnce: ASKING_LIMITS.ofMachineAtOnce,
    everyMs: 60_000 / ASKING_LIMITS.ofMachineAMinute,
  },
  questionsOfOperator: {
    atOnce: ASKING_LIMITS.ofOperatorAtOnce,
    everyMs: 60_000 / ASKING_LIMITS.ofOperatorAMinute,
  },
  /** The machines of the deployment that the Worker asks why they are not ready, for receivers. */
  diagnoses: {
    atOnce: NOTIFICATION_LIMITS.diagnosesAtOnce,
    everyMs: 60_000 / NOTIFICATION_LIMITS.diagnosesAMinute,
  },
  socketReports: { atOnce: GATEWAY_LIMITS.reportsAtOnce, everyMs: 60_000 / GATEWAY_LIMITS.reportsAMinute },
} as const satisfies Record<string, RateLimit>;

/** The number of join tokens whose limits together are the deployment's limits. */
export const DEPLOYMENT_SHARES = 4;

/** Returns the limit of `count` shares together. */
export const shares = ({ atOnce, everyMs }: RateLimit, count: number): RateLimit => ({
  atOnce: atOnce * count,
  everyMs: everyMs / count,
});

export interface TokenBucket {
  left: number;
  /** When the bucket had `left` tokens, in milliseconds since 1970. */
  atMs: number;
}

/** Returns the number of tokens in the bucket now, with fractions. `bucket`: undefined if no token was ever taken. */
export function tokensAt(
  bucket: TokenBucket | undefined,
  { atOnce, everyMs }: RateLimit,
  nowMs: number,
): number {
  if (!bucket) return atOnce;
  // A clock that was put back adds no tokens.
  return Math.min(atOnce, bucket.left + Math.max(0, nowMs - bucket.atMs) / everyMs);
}

/** Takes a token if the bucket has one. Returns whether a token was taken, and the bucket afterwards. */
export function take(
  bucket: TokenBucket | undefined,
  limit: RateLimit,
  nowMs: number,
): { isTaken: boolean; bucket: TokenBucket } {
  const left = tokensAt(bucket, limit, nowMs);
  const isTaken = left >= 1;
  return { isTaken, bucket: { left: isTaken ? left - 1 : left, atMs: nowMs } };
}

/** Takes `cost` tokens that the bucket has, or will have. Returns the wait for them, and the bucket afterwards. */
export function reserve(
  bucket: TokenBucket | undefined,
  limit: RateLimit,
  cost: number,
  nowMs: number,
): { waitMs: number; bucket: TokenBucket } {
  const left = tokensAt(bucket, limit, nowMs) - cost;
  return {
    waitMs: cost > 0 ? Math.max(0, Math.ceil(-left * limit.everyMs)) : 0,
    bucket: { left, atMs: nowMs },
  };
}
