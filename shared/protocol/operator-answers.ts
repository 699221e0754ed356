// What the Worker answers to operators. The command line validates answers by these schemas; the Worker imports their
// types alone, so that its bundle has none of them. Times are RFC 3339. Words that only people read have no enum, since
// a newer Worker may have more of them.
import * as z from "zod/mini";
import { fleetMachineSchema } from "./fleet-answers.ts";
import { grantShape } from "./join-tokens.ts";

const listedToken = z.object({
  /** RFC 7638 thumbprint of the token's public key. */
  id: z.string(),
  names: z.string(),
  rejoin: z.boolean(),
  uses: z.number(),
  /** Machines that enrolled with it; a machine counts once. */
  used: z.number(),
  /** Uses that are kept for machines that wait for an operator. */
  reserved: z.number(),
  /** valid, used up, expired, revoked */
  state: z.string(),
  createdAt: z.string(),
  createdBy: z.string(),
  expiresAt: z.string(),
  revokedAt: z.optional(z.string()),
  ...grantShape,
});
/** A token as it is listed: never its secret. */
export type ListedToken = z.infer<typeof listedToken>;

/** 201 to POST /v1/tokens: the only answer that holds the secret. */
export const mintedTokenSchema = z.extend(listedToken, { token: z.string() });
export type MintedToken = z.infer<typeof mintedTokenSchema>;

/** 200 to GET /v1/tokens; newest first. */
export const tokensSchema = z.object({ tokens: z.array(listedToken) });
export type TokensAnswer = z.infer<typeof tokensSchema>;

const shownMachineShape = {
  thumbprint: z.string(),
  machineID: z.string(),
  systemUUID: z.string(),
  address: z.string(),
};
const shownMachine = z.object(shownMachineShape);
/** A machine's key, and where it came from. */
export type ShownMachine = z.infer<typeof shownMachine>;

const pendingMachine = z.object({
  name: z.string(),
  /** ID of the join token. */
  token: z.string(),
  ...shownMachineShape,
  askedAt: z.string(),
  expiresAt: z.string(),
  /** The machine that has the name now; null: it is free by now. */
  pinned: z.nullable(z.extend(shownMachine, { pinnedAt: z.string(), hasReported: z.boolean() })),
});
/** A machine that waits for a name that another key has. */
export type PendingMachine = z.infer<typeof pendingMachine>;

/** 200 to GET /v1/pending; oldest first. */
export const pendingSchema = z.object({ pending: z.array(pendingMachine) });
export type PendingAnswer = z.infer<typeof pendingSchema>;

const auditEntry = z.object({
  id: z.number(),
  at: z.string(),
  /** An operator (`admin secret`, `alice@example.com`), `token ID`, or `machine THUMBPRINT`. */
  who: z.string(),
  /** `machine.enrol` */
  what: z.string(),
  /** A Node's name, or a token's ID. */
  target: z.string(),
  detail: z.string(),
});
export type AuditEntry = z.infer<typeof auditEntry>;

/** 200 to GET /v1/audit; newest first. */
export const auditSchema = z.object({ entries: z.array(auditEntry) });
export type AuditAnswer = z.infer<typeof auditSchema>;

const originUse = z.object({
  origin: z.string(),
  /** Is it one of ORIGINS? Machines that know only others are refused. */
  isConfigured: z.boolean(),
  /** To within a day; null: no machine ever has. */
  lastUsedAt: z.nullable(z.string()),
  /** How many machines used it last, of all origins. */
  machines: z.number(),
});
export type OriginUse = z.infer<typeof originUse>;

/** 200 to GET /v1/origins; the configured ones first. */
export const originsSchema = z.object({ origins: z.array(originUse) });
export type OriginsAnswer = z.infer<typeof originsSchema>;

const originMachine = z.object({
  name: z.string(),
  /** To within a day. */
  lastUsedAt: z.string(),
});
export type OriginMachine = z.infer<typeof originMachine>;

/** 200 to GET /v1/origins/machines; by name. */
export const originMachinesSchema = z.object({ machines: z.array(originMachine) });
export type OriginMachinesAnswer = z.infer<typeof originMachinesSchema>;

/** What is most often asked for of 200 to GET /v1/nodes/{name}. */
export const shownNodeSchema = z.object({
  name: z.string(),
  /** Of its key. */
  thumbprint: z.string(),
  /** One of Phase; null: it has not reported yet. */
  phase: z.nullable(z.string()),
  /** Is the last known Node Ready? */
  isReady: z.boolean(),
  /** null: it is not silent, as far as is known. */
  silentSince: z.nullable(z.string()),
  /** null: the object has been evicted since, and keeps no row for it. */
  lastReportAt: z.nullable(z.string()),
  /** Whether the machine needs a container runtime, as an operator has set it: none, auto. */
  runtime: z.string(),
  /** As they were decided last, whether or not the apiserver has them. */
  conditions: z.array(z.object({ type: z.string(), status: z.string(), message: z.optional(z.string()) })),
});

/** null: not known, or there is none. */
const time = z.nullable(z.string());
const thresholds = z.record(z.string(), z.string());

/** An object whose fields are another schema's: a Node, facts, vitals. */
const whole = z.nullable(z.custom<object>((value) => typeof value === "object"));

/** Field managers, as the apiserver records them; what it does not is absent. */
const managers = z.object({
  /** By the label's key. */
  labels: z.record(z.string(), z.string()),
  /** By `key:effect`. */
  taints: z.record(z.string(), z.string()),
});
export type ShownManagers = z.infer<typeof managers>;

const shownEvent = z.object({
  /** Normal, Warning */
  type: z.string(),
  reason: z.string(),
  message: z.string(),
  count: z.number(),
  firstAt: z.string(),
  lastAt: z.string(),
  /** `sent`: the apiserver has it; `waiting`: it is in the outbox. */
  state: z.enum(["sent", "waiting"]),
});
export type ShownEvent = z.infer<typeof shownEvent>;

/** 200 to GET /v1/nodes/{name}: all that is known of it. It wakes the machine's object, and alone does so. */
export const wholeNodeSchema = z.extend(shownNodeSchema, {
  /** What the fleet index has: its state, and since when; null: it has no entry yet. */
  summary: z.nullable(fleetMachineSchema),
  /** The Node as the Worker read or wrote it last. */
  node: whole,
  /** What a kubelet would let pods have; `node` has 0 if it runs none. null: not known. Absent: an earlier Worker. */
  allocatable: z.optional(z.nullable(thresholds)),
  /** The last good ones, as the machine sent them, its inventory and settings included. */
  facts: whole,
  /** The first fault of newer ones that were refused. Absent: there are none, or the object has been evicted since. */
  factsRefused: z.optional(z.object({ path: z.string(), message: z.string() })),
  /** Of the last report; null: the object has been evicted since. So is skewMs: how far its clock was ahead then. */
  vitals: whole,
  /** Of eviction, as configured, or the kubelet's own. */
  thresholds: z.object({ hard: thresholds, soft: thresholds }),
  skewMs: z.nullable(z.number()),
  /** Is its clock more than a minute off? */
  isSkewed: z.boolean(),
  transport: z.string(),
  /** When the lease runs out, when the status is written at the latest, when the object looks for silence or sends events. */
  deadlines: z.object({ lease: time, status: time, alarm: time }),
  /** The events that wait for the apiserver, and how many were dropped. */
  outbox: z.object({ waiting: z.number(), oldest: time, dropped: z.number() }),
  key: z.object({
    thumbprint: z.string(),
    /** ID of the join token. */
    token: z.string(),
    pinnedAt: z.string(),
    /** Of the key that takes over with its first report. */
    next: z.nullable(z.string()),
    isRefused: z.boolean(),
  }),
  machine: z.object({ machineID: z.string(), systemUUID: z.string() }),
  /** Start of the last period without an answer that the machine has reported. */
  outageSince: time,
  /** Who has set labels and taints of `node`. Absent, as are events: an earlier Worker. */
  managers: z.optional(managers),
  /** The latest, newest first: those that wait, and of those that were sent what is remembered. */
  events: z.optional(z.array(shownEvent)),
});
export type WholeNode = z.infer<typeof wholeNodeSchema>;

const historyEntry = z.object({
  id: z.number(),
  /** With milliseconds. */
  at: z.string(),
  /** One of HISTORY_KINDS. */
  kind: z.string(),
  /** `Ready became False: node is shutting down`. */
  text: z.string(),
});
export type HistoryEntry = z.infer<typeof historyEntry>;

/** 200 to GET /v1/nodes/{name}/history; newest first. */
export const historySchema = z.object({ entries: z.array(historyEntry) });
export type HistoryAnswer = z.infer<typeof historySchema>;

const clusterEvent = z.object({ id: z.number(), at: z.string(), text: z.string() });
export type ClusterEvent = z.infer<typeof clusterEvent>;

/** 200 to GET /v1/cluster/history: what became of the watch of Nodes; newest first. */
export const clusterHistorySchema = z.object({ entries: z.array(clusterEvent) });
export type ClusterHistoryAnswer = z.infer<typeof clusterHistorySchema>;

/** 200 to GET /v1/nodes/{name}/clones. */
export const sendersSchema = z.object({
  /** null: as far as is known, there is one sender. */
  double: z.nullable(
    z.object({
      /** cloned, two shims */
      phase: z.string(),
      since: z.string(),
      lastTurn: z.string(),
      turns: z.number(),
    }),
  ),
  /** The latest ones, newest first. */
  senders: z.array(
    z.object({
      machineID: z.string(),
      bootID: z.string(),
      /** The first characters of the digest of its startId. */
      process: z.string(),
      /** When it began to report, or when its last turn was. */
      since: z.string(),
      isBelieved: z.boolean(),
    }),
  ),
});
export type ListedSenders = z.infer<typeof sendersSchema>;

const readinessCheck = z.object({
  /** The name of a variable or a secret, or `token`, `registry`, `clock`, `apiserver`, `watch`. */
  check: z.string(),
  /** ok, warning, failed */
  state: z.string(),
  message: z.string(),
  /** What to do about it; absent where all is well. */
  cure: z.optional(z.string()),
  checkedAt: z.string(),
  /** Since when it has been in this state, as far as the isolate that answers has seen. */
  since: z.string(),
});
/** 200 to GET /readyz, or 503 where a check has failed. `state`: that of the worst check. */
export const readinessSchema = z.object({
  state: z.string(),
  /** The Worker's own. */
  version: z.optional(z.string()),
  checks: z.array(readinessCheck),
});
export type ReadinessAnswer = z.infer<typeof readinessSchema>;
