// Defines the schemas of requests about operators, their sessions, rollouts, and actions on many machines.
import * as z from "zod/mini";
import { parseOperatorSelector } from "../fleet/search-filter.ts";
import { filterShape } from "./fleet-api.ts";
import { BULK_LIMITS, LIMITS, OPERATOR_LIMITS, ROLLOUT_LIMITS } from "./limits.ts";
import { afterRow, pageLimit } from "./parameters.ts";
import { labelSelector, plainText, within } from "./schema.ts";

/**
 * The roles of operators. `view` may read, `operator` may also ask machines questions, `admin` may also change, and
 * `metrics` may read only the metrics.
 */
export const OPERATOR_ROLES = ["view", "operator", "admin", "metrics"] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** The roles in increasing order: each role may do all that the roles before it may. */
export const INCREASING = ["view", "operator", "admin"] as const;
/** A role that may read, and sign in from a browser. */
export type ReadingRole = (typeof INCREASING)[number];

/** Reports whether the role may do all that `least` may. The role `metrics` may not. */
export const isAtLeast = (role: OperatorRole, least: ReadingRole): role is ReadingRole =>
  INCREASING.findIndex((each) => each === role) >= INCREASING.indexOf(least);

/** The body of POST /v1/operators. A name contains no space and no `@`, so that logs are unambiguous. */
export const newOperatorSchema = z
  .strictObject({
    name: z
      .string()
      .check(
        z.maxLength(OPERATOR_LIMITS.nameLength),
        z.regex(/^[a-z\d]([-._a-z\d]*[a-z\d])?$/, "must be lower case letters, digits, '-', '.' and '_'"),
      ),
    role: z.enum(OPERATOR_ROLES),
    /** A label selector, as kubectl's -l: the operator sees only the machines that match. If absent, all machines. */
    selector: z.optional(plainText(OPERATOR_LIMITS.selectorLength)),
    expiresInSeconds: z.int().check(z.minimum(1), z.maximum(OPERATOR_LIMITS.expiresInSeconds)),
  })
  .check(
    z.superRefine(({ role, selector }, context) => {
      const fault = (message: string) => context.addIssue({ code: "custom", path: ["selector"], message });
      if (selector === undefined) return;
      const parsed = parseOperatorSelector(selector);
      if (!parsed.ok) fault(parsed.error);
      if (role === "metrics") fault("the metrics count all machines: the role metrics has no selector");
    }),
  );
export type NewOperator = z.infer<typeof newOperatorSchema>;

/** The query of GET /v1/revocations. */
export const revocationsQuerySchema = z.strictObject({
  after: afterRow,
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
    /** The filter of machines, with the terms of GET /v1/machines. */
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
    /** The confirmation from the answer to a dry run of the same request. */
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
  /** If present, the answer has only failures whose machines' names sort after this text. */
  after: z._default(z.string(), ""),
  limit: pageLimit,
});
export type BulkQuery = z.infer<typeof bulkQuerySchema>;

/** Matches a package's version. The version becomes an argument of a package manager, so its form is strict. */
export const RELEASE = /^\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[a-z\d]+(?:\.[a-z\d]+)*)?$/i;

/** The body of PUT /v1/rollout. */
export const newRolloutSchema = z.strictObject({
  /** The shim's version, as 0.2.0 or 0.3.0-rc.1. */
  version: z
    .string()
    .check(
      z.maxLength(ROLLOUT_LIMITS.versionLength),
      z.regex(RELEASE, "must be a version: 0.2.0, 0.3.0-rc.1"),
    ),
  /** The percentage of the matching machines that get the version. */
  percent: within(ROLLOUT_LIMITS.percent),
  /** A label selector in kubectl's syntax: `site=berlin,tier!=gpu`. "" matches all machines. */
  selector: z._default(labelSelector(LIMITS.textLength), ""),
  /** The largest percentage of silent machines among those that got the version. With more the rollout stops. */
  mostSilentPercent: z._default(within(ROLLOUT_LIMITS.mostSilentPercent), 2),
  /** The number of machines that may have got the version without having reported with it yet. */
  atOnce: z._default(within(ROLLOUT_LIMITS.atOnce), 50),
});
export type NewRollout = z.output<typeof newRolloutSchema>;

const given = z.optional(z.string().check(z.minLength(1)));

/** The body of POST /v1/session: a secret or a code. The route first limits the body's size. */
export const signInSchema = z
  .strictObject({
    /** The admin secret, the view secret, or the secret of an operator with a name. */
    secret: given,
    /** The code from the answer to POST /v1/session/codes. */
    code: given,
  })
  .check(
    z.superRefine(({ secret, code }, context) => {
      if ((secret === undefined) === (code === undefined))
        context.addIssue({ code: "custom", path: ["secret"], message: "send either a secret, or a code" });
    }),
  );
export type SignIn = z.infer<typeof signInSchema>;
