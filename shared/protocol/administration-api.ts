// The queries and bodies of operators' requests about operators, and about many machines at once. The answers are in
// administration-answers.ts; who may ask is not decided here.
import * as z from "zod/mini";
import { filterShape } from "./fleet-api.ts";
import { BULK_LIMITS, LIMITS, OPERATOR_LIMITS } from "./limits.ts";
import { pageLimit } from "./parameters.ts";

/** `view` reads, `admin` changes as well, `metrics` reads the metrics alone. */
const OPERATOR_ROLES = ["view", "admin", "metrics"] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** The body of POST /v1/operators. A name is no mail address and has no space, so that logs are unambiguous. */
export const newOperatorSchema = z.strictObject({
  name: z
    .string()
    .check(
      z.maxLength(OPERATOR_LIMITS.nameLength),
      z.regex(/^[a-z\d]([-._a-z\d]*[a-z\d])?$/, "must be lower case letters, digits, '-', '.' and '_'"),
    ),
  role: z.enum(OPERATOR_ROLES),
  expiresInSeconds: z.int().check(z.minimum(1), z.maximum(OPERATOR_LIMITS.expiresInSeconds)),
});
export type NewOperator = z.infer<typeof newOperatorSchema>;

/** The query of GET /v1/revocations. */
export const revocationsQuerySchema = z.strictObject({
  /** The `next` of the page before. */
  after: z.optional(
    z
      .string()
      .check(z.regex(new RegExp(`^\\d{1,16}\\.[\\w-]{${LIMITS.digestLength}}$`), "must be a page's `next`")),
  ),
  limit: pageLimit,
});
export type RevocationsQuery = z.infer<typeof revocationsQuerySchema>;

/** The query of GET /v1/silent-nodes. */
export const silentNodesQuerySchema = z.strictObject({
  days: z.coerce.number().check(z.int(), z.minimum(1), z.maximum(BULK_LIMITS.silentDays)),
});

const BULK_ACTIONS = ["register", "revoke", "forget", "believe"] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];

/** The body of POST /v1/bulk. */
export const bulkRequestSchema = z
  .strictObject({
    action: z.enum(BULK_ACTIONS),
    /** What machines are found by, as in the query of GET /v1/machines. */
    filter: z.optional(
      z
        .strictObject(filterShape)
        .check(
          z.refine((filter) => Object.keys(filter).length > 0, "must have a term: all machines have none"),
        ),
    ),
    names: z.optional(
      z
        .array(z.string().check(z.maxLength(LIMITS.nameLength)))
        .check(z.minLength(1), z.maxLength(BULK_LIMITS.machines)),
    ),
    dryRun: z.optional(z.literal(true)),
    /** Of the dry run of the same request. */
    confirmation: z.optional(z.string().check(z.maxLength(LIMITS.idLength))),
  })
  .check(
    z.superRefine(({ dryRun, confirmation, filter, names }, context) => {
      const fault = (path: string, message: string) =>
        context.addIssue({ code: "custom", path: [path], message });
      if ((filter === undefined) === (names === undefined)) fault("filter", "send either a filter, or names");
      if ((dryRun === undefined) === (confirmation === undefined))
        fault("dryRun", "send either dryRun: true, or the confirmation of a dry run");
    }),
  );

/** The query of GET /v1/bulk/{id}. */
export const bulkQuerySchema = z.strictObject({
  /** Only failures of names that sort behind this one: the next page. */
  after: z._default(z.string(), ""),
  limit: pageLimit,
});
export type BulkQuery = z.infer<typeof bulkQuerySchema>;
