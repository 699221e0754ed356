// Schemas of the answers about tokens, waiting machines, single machines, logs and health. The Worker imports only their
// types, so that its bundle lacks the schemas. Times are RFC 3339. Words that only people read have no enum, since a newer
// Worker may have more.
import * as z from "zod/mini";
import { fleetMachineSchema } from "./fleet-answers.ts";
import { grantShape } from "./join-tokens.ts";

const listedToken = z.object({
  /** RFC 7638 thumbprint of the token's public key. */
  id: z.string(),
  names: z.string(),
  rejoin: z.boolean(),
  uses: z.number(),
  /** The number of machines that enrolled with the token. A machine counts once. */
  used: z.number(),
  /** Uses that are reserved for machines that wait for an approval. */
  reserved: z.number(),
  /** valid, used up, expired, revoked */
  state: z.string(),
  createdAt: z.string(),
  createdBy: z.string(),
  expiresAt: z.string(),
  revokedAt: z.optional(z.string()),
  ...grantShape,
});
/** A token without its secret. */
export type ListedToken = z.infer<typeof listedToken>;

/** 201 to POST /v1/tokens: the only answer with the secret. */
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
/** A machine's key, and the machine and address that sent it. */
export type ShownMachine = z.infer<typeof shownMachine>;

const pendingMachine = z.object({
  name: z.string(),
  /** ID of the join token. */
  token: z.string(),
  ...shownMachineShape,
  askedAt: z.string(),
  expiresAt: z.string(),
  /** The machine that has the name now; null if none has it any more. */
  pinned: z.nullable(z.extend(shownMachine, { pinnedAt: z.string(), hasReported: z.boolean() })),
});
/** A machine that waits for a name which belongs to another key. */
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
  /** True if ORIGINS has it. Reports to other origins are refused. */
  isConfigured: z.boolean(),
  /** Exact to a day; null if no machine has used it. */
  lastUsedAt: z.nullable(z.string()),
  /** The number of machines whose last report used this origin. */
  machines: z.number(),
});
export type OriginUse = z.infer<typeof originUse>;

/** 200 to GET /v1/origins; the configured ones first. */
export const originsSchema = z.object({ origins: z.array(originUse) });
export type OriginsAnswer = z.infer<typeof originsSchema>;

const originMachine = z.object({
  name: z.string(),
  /** Exact to a day. */
  lastUsedAt: z.string(),
});
export type OriginMachine = z.infer<typeof originMachine>;

/** 200 to GET /v1/origins/machines, sorted by name. */
export const originMachinesSchema = z.object({ machines: z.array(originMachine) });
export type OriginMachinesAnswer = z.infer<typeof originMachinesSchema>;

/** The most used fields of 200 to GET /v1/nodes/{name}. */
export const shownNodeSchema = z.object({
  name: z.string(),
  /** Thumbprint of the machine's key. */
  thumbprint: z.string(),
  /** One of PHASES; null before the first report. */
  phase: z.nullable(z.string()),
  /** True if the last known Node is Ready. */
  isReady: z.boolean(),
  /** null if the machine is not known to be silent. */
  silentSince: z.nullable(z.string()),
  /** null after an eviction of the machine's object, which does not store it. */
  lastReportAt: z.nullable(z.string()),
  /** One of RUNTIME_NEEDS, as an operator has set it. */
  runtime: z.string(),
  /** The last decided conditions. The apiserver may not have them yet. */
  conditions: z.array(z.object({ type: z.string(), status: z.string(), message: z.optional(z.string()) })),
});

/** null if unknown, or if there is none. */
const time = z.nullable(z.string());
const thresholds = z.record(z.string(), z.string());

/** An object with a schema of its own: a Node, facts, vitals. */
const whole = z.nullable(z.custom<object>((value) => typeof value === "object"));

/** Field managers, as far as the apiserver records them. */
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
  /** `sent`: in the apiserver; `waiting`: in the outbox. */
  state: z.enum(["sent", "waiting"]),
});
export type ShownEvent = z.infer<typeof shownEvent>;

/** 200 to GET /v1/nodes/{name}: everything that is known of the machine. The request wakes the machine's object. */
export const wholeNodeSchema = z.extend(shownNodeSchema, {
  /** From the fleet index; null if it has no entry yet. */
  summary: z.nullable(fleetMachineSchema),
  /** The Node as last read or written. */
  node: whole,
  /** A kubelet's allocatable resources, where `node` has 0; null if unknown. Earlier Workers omit it. */
  allocatable: z.optional(z.nullable(thresholds)),
  /** The last valid facts, as the machine sent them. */
  facts: whole,
  /** The first fault of later, refused facts; absent if none were refused since the object woke. */
  factsRefused: z.optional(z.object({ path: z.string(), message: z.string() })),
  /** From the last report, like skewMs (how far the machine's clock was ahead); null after an eviction. */
  vitals: whole,
  /** Eviction thresholds: the configured ones, or the kubelet's defaults. */
  thresholds: z.object({ hard: thresholds, soft: thresholds }),
  skewMs: z.nullable(z.number()),
  /** True if the machine's clock is more than a minute off. */
  isSkewed: z.boolean(),
  transport: z.string(),
  /** When the lease expires, when the status is due, and when the object's alarm rings. */
  deadlines: z.object({ lease: time, status: time, alarm: time }),
  /** The number of events that wait for the apiserver, and that were dropped. */
  outbox: z.object({ waiting: z.number(), oldest: time, dropped: z.number() }),
  key: z.object({
    thumbprint: z.string(),
    /** ID of the join token. */
    token: z.string(),
    pinnedAt: z.string(),
    /** Thumbprint of the next key, which takes over with its first report. */
    next: z.nullable(z.string()),
    isRefused: z.boolean(),
  }),
  machine: z.object({ machineID: z.string(), systemUUID: z.string() }),
  /** Start of the last period without an answer that the machine has reported. */
  outageSince: time,
  /** The writers of the labels and taints in `node`. Earlier Workers omit it, and `events`. */
  managers: z.optional(managers),
  /** The latest waiting and sent events, newest first. */
  events: z.optional(z.array(shownEvent)),
});
export type WholeNode = z.infer<typeof wholeNodeSchema>;

const historyEntry = z.object({
  id: z.number(),
  /** An RFC 3339 time with milliseconds. */
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

/** 200 to GET /v1/cluster/history: the events of the watch of the Nodes, newest first. */
export const clusterHistorySchema = z.object({ entries: z.array(clusterEvent) });
export type ClusterHistoryAnswer = z.infer<typeof clusterHistorySchema>;

/** 200 to GET /v1/nodes/{name}/clones. */
export const sendersSchema = z.object({
  /** null if no duplicate senders are known. */
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
      /** The time of its last turn, or of its first report. */
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
  /** How to fix it; absent if the check is ok. */
  cure: z.optional(z.string()),
  checkedAt: z.string(),
  /** Since when the check has this state, as seen by the answering isolate. */
  since: z.string(),
});
/** 200 to GET /readyz, or 503 if a check has failed. `state`: that of the worst check. */
export const readinessSchema = z.object({
  state: z.string(),
  /** The Worker's version. */
  version: z.optional(z.string()),
  checks: z.array(readinessCheck),
});
export type ReadinessAnswer = z.infer<typeof readinessSchema>;
