// Defines the schemas of the answers about tokens, pending machines, single machines, logs and health. The Worker
// imports only the types, so that its bundle lacks the schemas. Times are RFC 3339. A text that only people read
// has no enum, since a newer Worker may return further values.
import * as z from "zod/mini";
import { fleetMachineSchema } from "./fleet-answers.ts";
import { grantShape } from "./join-tokens.ts";

const listedToken = z.object({
  /** The RFC 7638 thumbprint of the token's public key. */
  id: z.string(),
  names: z.string(),
  rejoin: z.boolean(),
  uses: z.number(),
  /** The number of machines that enrolled with the token. A machine counts once, however often it enrols. */
  used: z.number(),
  /** The number of uses that are reserved for machines that wait for an approval. */
  reserved: z.number(),
  /** `valid`, `used up`, `expired` or `revoked`. */
  state: z.string(),
  createdAt: z.string(),
  createdBy: z.string(),
  expiresAt: z.string(),
  revokedAt: z.optional(z.string()),
  /** true for a token of an earlier version with `mayAddress`: it allows all DNS names below the Node's name. */
  namesBelow: z.optional(z.boolean()),
  /** A message for people about a token without limits whose request did not decide on limits by `mayAll`. */
  note: z.optional(z.string()),
  ...grantShape,
});
/** A join token without its secret. */
export type ListedToken = z.infer<typeof listedToken>;

/** The body of a 201 answer to POST /v1/tokens, the only answer with the secret. */
export const mintedTokenSchema = z.extend(listedToken, { token: z.string() });
export type MintedToken = z.infer<typeof mintedTokenSchema>;

/** The parameter `after` of the next page; null on the last page. Earlier Workers answer with the whole list. */
const next = z.optional(z.nullable(z.string()));

/** The body of a 200 answer to GET /v1/tokens: a page, newest first. */
export const tokensSchema = z.object({ tokens: z.array(listedToken), next });
export type TokensAnswer = z.infer<typeof tokensSchema>;

const shownMachineShape = {
  thumbprint: z.string(),
  machineID: z.string(),
  systemUUID: z.string(),
  address: z.string(),
};
const shownMachine = z.object(shownMachineShape);
/** A machine's key, with the machine and the address that sent it. */
export type ShownMachine = z.infer<typeof shownMachine>;

const pendingMachine = z.object({
  name: z.string(),
  /** The ID of the join token that the machine uses. */
  token: z.string(),
  ...shownMachineShape,
  askedAt: z.string(),
  expiresAt: z.string(),
  /** The machine that has the name now; null if no machine has it any more. */
  pinned: z.nullable(z.extend(shownMachine, { pinnedAt: z.string(), hasReported: z.boolean() })),
});
/** A machine that waits for a name which belongs to another key. */
export type PendingMachine = z.infer<typeof pendingMachine>;

/** The body of a 200 answer to GET /v1/pending: a page, oldest first. */
export const pendingSchema = z.object({ pending: z.array(pendingMachine), next });
export type PendingAnswer = z.infer<typeof pendingSchema>;

const auditEntry = z.object({
  id: z.number(),
  at: z.string(),
  /** The author: an operator (`admin secret`, `alice@example.com`), `token ID`, or `machine THUMBPRINT`. */
  who: z.string(),
  /** The action, for example `machine.enrol`. */
  what: z.string(),
  /** The name of the affected Node, or the ID of the affected token. */
  target: z.string(),
  detail: z.string(),
});
export type AuditEntry = z.infer<typeof auditEntry>;

/** The body of a 200 answer to GET /v1/audit, newest first. */
export const auditSchema = z.object({ entries: z.array(auditEntry) });
export type AuditAnswer = z.infer<typeof auditSchema>;

const originUse = z.object({
  origin: z.string(),
  /** true if ORIGINS contains the origin. Reports to all other origins are refused. */
  isConfigured: z.boolean(),
  /** The time of the last use, exact to a day; null if no machine has used the origin. */
  lastUsedAt: z.nullable(z.string()),
  /** The number of machines whose last report used this origin. */
  machines: z.number(),
});
export type OriginUse = z.infer<typeof originUse>;

/** The body of a 200 answer to GET /v1/origins, the configured origins first. */
export const originsSchema = z.object({ origins: z.array(originUse) });
export type OriginsAnswer = z.infer<typeof originsSchema>;

const originMachine = z.object({
  name: z.string(),
  /** The time of the last use, exact to a day. */
  lastUsedAt: z.string(),
});
export type OriginMachine = z.infer<typeof originMachine>;

/** The body of a 200 answer to GET /v1/origins/machines, sorted by name. */
export const originMachinesSchema = z.object({ machines: z.array(originMachine) });
export type OriginMachinesAnswer = z.infer<typeof originMachinesSchema>;

/** The most used fields in the body of a 200 answer to GET /v1/nodes/{name}. */
export const shownNodeSchema = z.object({
  name: z.string(),
  /** The RFC 7638 thumbprint of the machine's key. */
  thumbprint: z.string(),
  /** One of PHASES; null before the first report. */
  phase: z.nullable(z.string()),
  /** true if the last known Node is Ready. */
  isReady: z.boolean(),
  /** The start of the silence; null if the machine is not known to be silent. */
  silentSince: z.nullable(z.string()),
  /** The time of the last report; null after an eviction of the node object, which does not store it. */
  lastReportAt: z.nullable(z.string()),
  /** The setting of an operator, one of RUNTIME_NEEDS. */
  runtime: z.string(),
  /**
   * The conditions that the last report decided. The apiserver may not have stored them yet, and its node controller
   * may have replaced them. If no report of the machine counts, all are Unknown. An earlier Worker does not send
   * `reason` and `since`, the time of the last transition.
   */
  conditions: z.array(
    z.object({
      type: z.string(),
      status: z.string(),
      reason: z.optional(z.string()),
      message: z.optional(z.string()),
      since: z.optional(z.string()),
    }),
  ),
});

/** A time; null if it is not known, or there is none. */
const time = z.nullable(z.string());
const thresholds = z.record(z.string(), z.string());

/** A Node, facts or vitals: an object whose schema is defined elsewhere; null if not known. */
const whole = z.nullable(z.custom<object>((value) => typeof value === "object"));

/** The field managers of labels and taints, as far as the apiserver records them. */
const managers = z.object({
  /** The field manager of each label, by the label's key. */
  labels: z.record(z.string(), z.string()),
  /** The field manager of each taint, by `key:effect`. */
  taints: z.record(z.string(), z.string()),
});
export type ShownManagers = z.infer<typeof managers>;

const shownEvent = z.object({
  /** `Normal` or `Warning`. */
  type: z.string(),
  reason: z.string(),
  message: z.string(),
  count: z.number(),
  firstAt: z.string(),
  lastAt: z.string(),
  /** `sent`: the apiserver has the event. `waiting`: the event is still in the outbox. */
  state: z.enum(["sent", "waiting"]),
});
export type ShownEvent = z.infer<typeof shownEvent>;

/** The 200 answer to GET /v1/nodes/{name}, which wakes the node object: all that the Worker knows of a machine. */
export const wholeNodeSchema = z.extend(shownNodeSchema, {
  /** The machine's summary in the fleet index; null if the index has none yet. */
  summary: z.nullable(fleetMachineSchema),
  /** The Node as the Worker last read or wrote it. */
  node: whole,
  /** A kubelet's allocatable resources, where `node` has 0; null if not known. Earlier Workers omit the field. */
  allocatable: z.optional(z.nullable(thresholds)),
  /** The last valid facts, as the machine sent them. */
  facts: whole,
  /** The first fault of later facts that were refused; absent if no facts were refused since the node object woke. */
  factsRefused: z.optional(z.object({ path: z.string(), message: z.string() })),
  /** The vitals of the last report; null after an eviction. `skewMs` is how far the machine's clock was ahead. */
  vitals: whole,
  /** The eviction thresholds: the configured ones, or the kubelet's defaults. */
  thresholds: z.object({ hard: thresholds, soft: thresholds }),
  skewMs: z.nullable(z.number()),
  /** true if the machine's clock differs by more than a minute. */
  isSkewed: z.boolean(),
  transport: z.string(),
  /** The times of the lease's expiry, the status's next periodic write, and the node object's alarm. */
  deadlines: z.object({ lease: time, status: time, alarm: time }),
  /** The numbers of events that wait for the apiserver, and of dropped ones. `oldest`: the oldest event's time. */
  outbox: z.object({ waiting: z.number(), oldest: time, dropped: z.number() }),
  key: z.object({
    thumbprint: z.string(),
    /** The ID of the join token that the machine enrolled with. */
    token: z.string(),
    pinnedAt: z.string(),
    /** The thumbprint of the machine's next key, which replaces the key with its first report; null if none. */
    next: z.nullable(z.string()),
    isRefused: z.boolean(),
  }),
  machine: z.object({ machineID: z.string(), systemUUID: z.string() }),
  /** The start of the last period without an answer, as the machine has reported it. */
  outageSince: time,
  /** The writers of the labels and taints in `node`. Earlier Workers omit `managers` and `events`. */
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
  /** The line, for example `Ready became False: node is shutting down`. */
  text: z.string(),
});
export type HistoryEntry = z.infer<typeof historyEntry>;

/** The body of a 200 answer to GET /v1/nodes/{name}/history, newest first. */
export const historySchema = z.object({ entries: z.array(historyEntry) });
export type HistoryAnswer = z.infer<typeof historySchema>;

const clusterEvent = z.object({ id: z.number(), at: z.string(), text: z.string() });
export type ClusterEvent = z.infer<typeof clusterEvent>;

/** The body of a 200 answer to GET /v1/cluster/history: the events of the watch of the Nodes, newest first. */
export const clusterHistorySchema = z.object({ entries: z.array(clusterEvent) });
export type ClusterHistoryAnswer = z.infer<typeof clusterHistorySchema>;

/** The body of a 200 answer to GET /v1/nodes/{name}/questions. */
export const questionsSchema = z.object({
  /** The names of the questions that the machine answers now. */
  on: z.array(z.string()),
  /** Seconds within which the machine takes a question, with its next report over HTTP. Absent: it has a socket. */
  withinSeconds: z.optional(z.number()),
});
export type QuestionsAnswer = z.infer<typeof questionsSchema>;

/** The body of a 200 answer to GET /v1/nodes/{name}/clones. */
export const sendersSchema = z.object({
  /** The known duplicate senders; null if there are none. */
  double: z.nullable(
    z.object({
      /** `cloned` or `two shims`. */
      phase: z.string(),
      since: z.string(),
      lastTurn: z.string(),
      turns: z.number(),
    }),
  ),
  /** The latest senders, newest first. */
  senders: z.array(
    z.object({
      machineID: z.string(),
      bootID: z.string(),
      /** The first characters of the digest of the sender's startId. */
      process: z.string(),
      /** The network address of that turn; "" if not known. Earlier Workers do not send the field. */
      address: z.optional(z.string()),
      /** The time of the sender's first known turn. Earlier Workers do not send the field. */
      firstAt: z.optional(z.string()),
      /** The time of the sender's last turn, or of its first report. */
      since: z.string(),
      isBelieved: z.boolean(),
    }),
  ),
});
export type ListedSenders = z.infer<typeof sendersSchema>;

/** The body of a 202 answer to POST /v1/nodes/{name}/clear. */
export const orderedClearingSchema = z.object({
  /** Since when the machine is silent; null if it reports, so that its next report ends the condition. */
  silentSince: z.nullable(z.string()),
});
export type OrderedClearing = z.infer<typeof orderedClearingSchema>;

const readinessCheck = z.object({
  /** The checked subject: a variable's or secret's name, or for example `token`, `registry`, `apiserver`, `features`. */
  check: z.string(),
  /** `ok`, `warning` or `failed`. */
  state: z.string(),
  message: z.string(),
  /** The remedy; absent if the check is ok. */
  cure: z.optional(z.string()),
  checkedAt: z.string(),
  /** The time from which on the answering isolate has seen the check in this state. */
  since: z.string(),
});
/** The answer to GET /readyz: 200, or 503 if a check has failed. `state` is the state of the worst check. */
export const readinessSchema = z.object({
  state: z.string(),
  /** The Worker's version. */
  version: z.optional(z.string()),
  checks: z.array(readinessCheck),
});
export type ReadinessAnswer = z.infer<typeof readinessSchema>;
