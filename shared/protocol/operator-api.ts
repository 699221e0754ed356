// Defines the queries and bodies of operators' requests (answers: operator-answers.ts). Times are RFC 3339.
import * as z from "zod/mini";
import { HISTORY_KINDS } from "./history-kinds.ts";
import { DROP_IN_LIMITS, LIMITS, MAINTENANCE_LIMITS } from "./limits.ts";
import { afterRow, entryID, listShape, time, words } from "./parameters.ts";
import { plainText } from "./schema.ts";

/** The body of an approval or a rejection, with the key's thumbprint (RFC 7638, SHA-256). */
export const thumbprintSchema = z.strictObject({
  thumbprint: z
    .string()
    .check(z.regex(new RegExp(`^[\\w-]{${LIMITS.digestLength}}$`), "must be a key's thumbprint")),
});

/** The machine's need for a container runtime: never ("none"), or if it has had one ("auto", the default). */
export const RUNTIME_NEEDS = ["none", "auto"] as const;
export type RuntimeNeed = (typeof RUNTIME_NEEDS)[number];

/** The stages of a maintenance, in their order. */
export const MAINTENANCE_STAGES = ["plan", "begin", "end"] as const;

const maintenance = z
  .strictObject({
    stage: z.enum(MAINTENANCE_STAGES),
    /** When the plan or the maintenance ends by itself. Absent for the stage `end`. */
    until: z.optional(z.iso.datetime({ offset: true })),
    /** The reason, for other operators. */
    comment: z._default(plainText(MAINTENANCE_LIMITS.commentLength), ""),
  })
  .check(
    z.refine(({ stage, until }) => (stage === "end") === (until === undefined), {
      path: ["until"],
      error: "must be present, except for the stage `end`",
    }),
  );

/** The body of PATCH /v1/nodes/{name}, with one field. */
export const nodeChangeSchema = z
  .strictObject({ runtime: z.optional(z.enum(RUNTIME_NEEDS)), maintenance: z.optional(maintenance) })
  .check(z.refine((change) => Object.keys(change).length === 1, "must have one field"));
export type NodeChange = z.infer<typeof nodeChangeSchema>;

/** The body of POST /v1/nodes/{name}/clear: the type of the condition to end. */
export const clearSchema = z.strictObject({
  condition: plainText(DROP_IN_LIMITS.conditionLength).check(z.minLength(1)),
  /** true withdraws an order that the machine has not followed yet. */
  withdraw: z.optional(z.boolean()),
});

/** The query of GET /v1/audit. */
export const auditQuerySchema = z.strictObject({
  /** The log to read: actions of operators, effects of machines, or refused enrolments. Each log has its own IDs. */
  by: z._default(z.enum(["operators", "machines", "refusals"]), "operators"),
  /** If present, the answer has only entries about this Node or token. */
  target: z.optional(z.string()),
  before: entryID,
  ...listShape,
});
export type AuditQuery = z.infer<typeof auditQuerySchema>;

/** The query of GET /v1/tokens and GET /v1/pending. */
export const rowsQuerySchema = z.strictObject({ after: afterRow, ...listShape });

/** The query of GET /v1/origins/machines. */
export const originMachinesQuerySchema = z.strictObject({
  origin: z.string().check(z.minLength(1)),
  /** If present, the answer has only machines whose names sort after this text. */
  after: z._default(z.string(), ""),
  ...listShape,
});
export type OriginMachinesQuery = z.infer<typeof originMachinesQuerySchema>;

/** The query of GET /v1/cluster/history. */
export const clusterHistoryQuerySchema = z.strictObject({
  before: entryID,
  ...listShape,
});

/** The query of GET /v1/nodes/{name}/history. */
export const historyQuerySchema = z.strictObject({
  since: time,
  until: time,
  kind: words(HISTORY_KINDS),
  before: entryID,
  ...listShape,
});

/** The query of GET /v1/nodes/{name}/timeline. */
export const timelineQuerySchema = z.strictObject({ since: time, until: time });

/** The query of GET /readyz. */
export const readinessQuerySchema = z.strictObject({
  /** If present, the answer has lines of text instead of JSON. The value does not matter. */
  verbose: z.optional(z.string()),
});
