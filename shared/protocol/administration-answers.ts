// Schemas of the answers about operators, their sessions, and actions on many machines. The Worker imports only their types,
// so that its bundle lacks the schemas. Times are RFC 3339. Words that only people read have no enum.
import * as z from "zod/mini";

const listedOperator = z.object({
  name: z.string(),
  /** view, admin, metrics */
  role: z.string(),
  /** valid, expired, revoked */
  state: z.string(),
  createdAt: z.string(),
  createdBy: z.string(),
  expiresAt: z.string(),
  /** Exact to an hour; null if never. */
  lastUsedAt: z.nullable(z.string()),
  revokedAt: z.optional(z.string()),
});
/** An operator without the secret. */
export type ListedOperator = z.infer<typeof listedOperator>;

/** 201 to POST /v1/operators: the only answer with the secret. */
export const createdOperatorSchema = z.extend(listedOperator, { secret: z.string() });
export type CreatedOperator = z.infer<typeof createdOperatorSchema>;

/** 200 to GET /v1/operators, sorted by name. */
export const operatorsSchema = z.object({ operators: z.array(listedOperator) });
export type OperatorsAnswer = z.infer<typeof operatorsSchema>;

const revocation = z.object({
  /** RFC 7638 thumbprint of the refused key. */
  thumbprint: z.string(),
  name: z.string(),
  at: z.string(),
  /** revoked, forgotten, rejected, rotated, taken over; "" if an earlier Worker revoked the key without a reason. */
  why: z.string(),
});

/** 200 to GET /v1/revocations; newest first. */
export const revocationsSchema = z.object({
  revocations: z.array(revocation),
  /** null on the last page. */
  next: z.nullable(z.string()),
});
export type RevocationsAnswer = z.infer<typeof revocationsSchema>;

const settingInForce = z.object({
  name: z.string(),
  /** For a secret: present, absent. null if the value is invalid, since it might contain a password. */
  value: z.nullable(z.string()),
  /** default, variable, secret */
  source: z.string(),
  /** ok, warning, failed, as in GET /readyz. */
  state: z.string(),
});
export type SettingInForce = z.infer<typeof settingInForce>;

/** 200 to GET /v1/settings. */
export const settingsSchema = z.object({ settings: z.array(settingInForce) });
export type SettingsAnswer = z.infer<typeof settingsSchema>;

const silentNode = z.object({ name: z.string(), silentSince: z.string() });

/** 200 to GET /v1/silent-nodes, the longest silence first. */
export const silentNodesSchema = z.object({
  nodes: z.array(silentNode),
  /** After this number of days the Node is removed; null if never. */
  removedAfterDays: z.nullable(z.number()),
});
export type SilentNodesAnswer = z.infer<typeof silentNodesSchema>;

const bulkMatch = z.object({
  name: z.string(),
  /** One of FLEET_STATES; null if the fleet index does not know the machine yet. */
  state: z.nullable(z.string()),
  /** What the action would do to the machine; `none: …` if nothing, so that the action leaves it out. */
  effect: z.string(),
});
export type BulkMatch = z.infer<typeof bulkMatch>;

/** 200 to POST /v1/bulk with `dryRun`: nothing has changed. */
export const bulkPlanSchema = z.object({
  action: z.string(),
  /** The affected and skipped machines, sorted by name. */
  matches: z.array(bulkMatch),
  /** Requested names that no machine has. */
  unknown: z.array(z.string()),
  /** The number of machines that the action would change. */
  total: z.number(),
  /** null if there is nothing to do. */
  confirmation: z.nullable(z.string()),
  expiresAt: z.string(),
});
export type BulkPlan = z.infer<typeof bulkPlanSchema>;

const bulkShape = {
  id: z.string(),
  /** register, revoke, forget, believe, remove-node */
  action: z.string(),
  createdBy: z.string(),
  createdAt: z.string(),
  /** running, done, stopped */
  state: z.string(),
  endedAt: z.nullable(z.string()),
  total: z.number(),
  done: z.number(),
  failed: z.number(),
  remaining: z.number(),
};
const bulkProgress = z.object(bulkShape);
export type BulkProgress = z.infer<typeof bulkProgress>;

/** 202 to POST /v1/bulk with a confirmation. */
export const startedBulkSchema = bulkProgress;

/** 200 to GET /v1/bulk; newest first. */
export const bulksSchema = z.object({ bulks: z.array(bulkProgress) });
export type BulksAnswer = z.infer<typeof bulksSchema>;

/** 200 to GET /v1/bulk/{id}. */
export const bulkSchema = z.object({
  ...bulkShape,
  /** A page, sorted by name. */
  failures: z.array(z.object({ name: z.string(), reason: z.string() })),
});
export type BulkAnswer = z.infer<typeof bulkSchema>;

/** 201 to POST /v1/session, with the cookie. */
export const startedSessionSchema = z.object({
  who: z.string(),
  /** view, admin */
  role: z.string(),
  expiresAt: z.string(),
});
export type StartedSession = z.infer<typeof startedSessionSchema>;

/** 200 to GET /v1/session. */
export const sessionSchema = z.object({
  /** null if the request has no credential, or its session has ended. */
  operator: z.nullable(
    z.object({
      who: z.string(),
      /** view, admin */
      role: z.string(),
      by: z.enum(["session", "access", "secret"]),
      /** null if the credential does not expire. */
      expiresAt: z.nullable(z.string()),
    }),
  ),
  /** The configured ways to sign in: an admin or view secret, and Cloudflare Access. */
  ways: z.object({ secret: z.boolean(), access: z.boolean() }),
});
export type SessionAnswer = z.infer<typeof sessionSchema>;

/** 201 to POST /v1/session/codes: the only answer with the code. */
export const sessionCodeSchema = z.object({ code: z.string(), expiresAt: z.string() });
export type SessionCode = z.infer<typeof sessionCodeSchema>;

const listedSession = z.object({
  /** The ID is no credential. */
  id: z.string(),
  who: z.string(),
  /** The role now: view, admin. */
  role: z.string(),
  createdAt: z.string(),
  expiresAt: z.string(),
  /** The address of the sign-in; "" if the platform does not provide it. */
  address: z.string(),
  /** The browser's User-Agent; "" if it has none. */
  browser: z.string(),
  /** True for the session of this request. */
  isThis: z.boolean(),
});
export type ListedSession = z.infer<typeof listedSession>;

/** 200 to GET /v1/sessions; newest first. */
export const sessionsSchema = z.object({ sessions: z.array(listedSession) });
export type SessionsAnswer = z.infer<typeof sessionsSchema>;
