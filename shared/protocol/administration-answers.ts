// What the Worker answers to operators about operators, and about many machines at once. The Worker imports the types
// alone, so that its bundle has none of the schemas. Times are RFC 3339; words that only people read have no enum.
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
  /** To within an hour; null: never. */
  lastUsedAt: z.nullable(z.string()),
  revokedAt: z.optional(z.string()),
});
/** An operator as it is listed: never the secret. */
export type ListedOperator = z.infer<typeof listedOperator>;

/** 201 to POST /v1/operators: the only answer that holds the secret. */
export const createdOperatorSchema = z.extend(listedOperator, { secret: z.string() });
export type CreatedOperator = z.infer<typeof createdOperatorSchema>;

/** 200 to GET /v1/operators; by name. */
export const operatorsSchema = z.object({ operators: z.array(listedOperator) });
export type OperatorsAnswer = z.infer<typeof operatorsSchema>;

const revocation = z.object({
  /** RFC 7638, of the key that is refused for ever. */
  thumbprint: z.string(),
  name: z.string(),
  at: z.string(),
  /** revoked, forgotten, rejected, rotated, taken over; "": from before that was noted. */
  why: z.string(),
});

/** 200 to GET /v1/revocations; newest first. */
export const revocationsSchema = z.object({
  revocations: z.array(revocation),
  /** null: this is the last page. */
  next: z.nullable(z.string()),
});
export type RevocationsAnswer = z.infer<typeof revocationsSchema>;

const settingInForce = z.object({
  name: z.string(),
  /** Of a secret: present, absent. null: it is wrong, and might have a password in it. */
  value: z.nullable(z.string()),
  /** default, variable, secret */
  source: z.string(),
  /** ok, warning, failed: as GET /readyz says. */
  state: z.string(),
});
export type SettingInForce = z.infer<typeof settingInForce>;

/** 200 to GET /v1/settings. */
export const settingsSchema = z.object({ settings: z.array(settingInForce) });
export type SettingsAnswer = z.infer<typeof settingsSchema>;

const silentNode = z.object({ name: z.string(), silentSince: z.string() });

/** 200 to GET /v1/silent-nodes: the longest silence first. */
export const silentNodesSchema = z.object({
  nodes: z.array(silentNode),
  /** After how many days they are removed; null: never. */
  removedAfterDays: z.nullable(z.number()),
});
export type SilentNodesAnswer = z.infer<typeof silentNodesSchema>;

const bulkMatch = z.object({
  name: z.string(),
  /** One of FLEET_STATES; null: the fleet index does not know it yet. */
  state: z.nullable(z.string()),
  /** What would become of it; `none: …` where nothing would, so that it is left out. */
  effect: z.string(),
});
export type BulkMatch = z.infer<typeof bulkMatch>;

/** 200 to POST /v1/bulk with `dryRun`: nothing has changed. */
export const bulkPlanSchema = z.object({
  action: z.string(),
  /** By name. */
  matches: z.array(bulkMatch),
  /** Of the names that were asked for, those that no machine has. */
  unknown: z.array(z.string()),
  /** How many would be touched. */
  total: z.number(),
  /** null: there is nothing to do. */
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
  /** By name, a page of them. */
  failures: z.array(z.object({ name: z.string(), reason: z.string() })),
});
export type BulkAnswer = z.infer<typeof bulkSchema>;
