// Defines the schemas of the answers about operators, their sessions, and actions on many machines. The Worker
// imports only the types, so that its bundle lacks the schemas. Times are RFC 3339. A text that only people read
// has no enum.
import * as z from "zod/mini";
import { backupPageSchema } from "./backup.ts";

const listedOperator = z.object({
  name: z.string(),
  /** `view`, `operator`, `admin` or `metrics`. */
  role: z.string(),
  /** The label selector of the operator's machines; absent if the operator's role is for all machines. */
  selector: z.optional(z.string()),
  /** `valid`, `expired` or `revoked`. */
  state: z.string(),
  createdAt: z.string(),
  createdBy: z.string(),
  expiresAt: z.string(),
  /** The time of the last use, exact to an hour; null if the secret was never used. */
  lastUsedAt: z.nullable(z.string()),
  revokedAt: z.optional(z.string()),
});
/** An operator with a name, without the secret. */
export type ListedOperator = z.infer<typeof listedOperator>;

/** The body of a 201 answer to POST /v1/operators, the only answer with the secret. */
export const createdOperatorSchema = z.extend(listedOperator, { secret: z.string() });
export type CreatedOperator = z.infer<typeof createdOperatorSchema>;

/** The body of a 200 answer to GET /v1/operators, sorted by name. */
export const operatorsSchema = z.object({ operators: z.array(listedOperator) });
export type OperatorsAnswer = z.infer<typeof operatorsSchema>;

const revocation = z.object({
  /** The RFC 7638 thumbprint of the refused key. */
  thumbprint: z.string(),
  name: z.string(),
  at: z.string(),
  /** `revoked`, `forgotten`, `rejected`, `rotated` or `taken over`; "" if an earlier Worker stored no reason. */
  why: z.string(),
});

/** The body of a 200 answer to GET /v1/revocations, newest first. */
export const revocationsSchema = z.object({
  revocations: z.array(revocation),
  /** The parameter `after` of the next page; null on the last page. */
  next: z.nullable(z.string()),
});
export type RevocationsAnswer = z.infer<typeof revocationsSchema>;

const settingInForce = z.object({
  name: z.string(),
  /** The value of a variable; null if invalid, as it might contain a password. `present` or `absent` for a secret. */
  value: z.nullable(z.string()),
  /** `default`, `variable` or `secret`. */
  source: z.string(),
  /** `ok`, `warning` or `failed`, as in GET /readyz. */
  state: z.string(),
});
export type SettingInForce = z.infer<typeof settingInForce>;

/** The body of a 200 answer to GET /v1/settings. */
export const settingsSchema = z.object({ settings: z.array(settingInForce) });
export type SettingsAnswer = z.infer<typeof settingsSchema>;

const silentNode = z.object({ name: z.string(), silentSince: z.string() });

/** The body of a 200 answer to GET /v1/silent-nodes, the longest silence first. */
export const silentNodesSchema = z.object({
  nodes: z.array(silentNode),
  /** The number of days of silence after which the Worker removes a Node; null if it never does. */
  removedAfterDays: z.nullable(z.number()),
});
export type SilentNodesAnswer = z.infer<typeof silentNodesSchema>;

const bulkMatch = z.object({
  name: z.string(),
  /** One of FLEET_STATES; null if the fleet index does not know the machine yet. */
  state: z.nullable(z.string()),
  /** The effect of the action on the machine. `none: …` if there is none, so that the action skips the machine. */
  effect: z.string(),
});
export type BulkMatch = z.infer<typeof bulkMatch>;

/** The body of a 200 answer to POST /v1/bulk with `dryRun`, which changes nothing. */
export const bulkPlanSchema = z.object({
  action: z.string(),
  /** The affected and the skipped machines, sorted by name. */
  matches: z.array(bulkMatch),
  /** The requested names that belong to no machine. */
  unknown: z.array(z.string()),
  /** The number of machines that the action would change. */
  total: z.number(),
  /** The confirmation for the action itself; null if no machine would change. */
  confirmation: z.nullable(z.string()),
  expiresAt: z.string(),
});
export type BulkPlan = z.infer<typeof bulkPlanSchema>;

const bulkShape = {
  id: z.string(),
  /** `register`, `revoke`, `forget`, `believe` or `remove-node`. */
  action: z.string(),
  createdBy: z.string(),
  createdAt: z.string(),
  /** `running`, `done` or `stopped`. */
  state: z.string(),
  endedAt: z.nullable(z.string()),
  total: z.number(),
  done: z.number(),
  failed: z.number(),
  remaining: z.number(),
};
const bulkProgress = z.object(bulkShape);
export type BulkProgress = z.infer<typeof bulkProgress>;

/** The body of a 202 answer to POST /v1/bulk with a confirmation. */
export const startedBulkSchema = bulkProgress;

/** The body of a 200 answer to GET /v1/bulk, newest first. */
export const bulksSchema = z.object({ bulks: z.array(bulkProgress) });
export type BulksAnswer = z.infer<typeof bulksSchema>;

/** The body of a 200 answer to GET /v1/bulk/{id}. */
export const bulkSchema = z.object({
  ...bulkShape,
  /** A page of the machines for which the action failed, sorted by name. */
  failures: z.array(z.object({ name: z.string(), reason: z.string() })),
});
export type BulkAnswer = z.infer<typeof bulkSchema>;

/** The body of a 201 answer to POST /v1/session. The answer's header sets the cookie. */
export const startedSessionSchema = z.object({
  who: z.string(),
  /** `view`, `operator` or `admin`. */
  role: z.string(),
  expiresAt: z.string(),
});
export type StartedSession = z.infer<typeof startedSessionSchema>;

/** The body of a 200 answer to GET /v1/session. */
export const sessionSchema = z.object({
  /** The operator; null if the request has no credential, or the session has ended. */
  operator: z.nullable(
    z.object({
      who: z.string(),
      /** `view`, `operator` or `admin`. */
      role: z.string(),
      /** The label selector of the operator's machines; absent if the operator's role is for all machines. */
      selector: z.optional(z.string()),
      by: z.enum(["session", "access", "secret"]),
      /** The time at which the credential expires; null if it never does. */
      expiresAt: z.nullable(z.string()),
    }),
  ),
  /** The configured ways to sign in: with an admin or view secret, and by Cloudflare Access. */
  ways: z.object({ secret: z.boolean(), access: z.boolean() }),
  /** The deployment's name; absent without an operator. */
  deployment: z.optional(z.string()),
  /** The address of the documentation, without a slash at its end; absent without DOCS_URL. */
  docs: z.optional(z.string()),
});
export type SessionAnswer = z.infer<typeof sessionSchema>;

/** The body of a 201 answer to POST /v1/session/codes, the only answer with the code. */
export const sessionCodeSchema = z.object({ code: z.string(), expiresAt: z.string() });
export type SessionCode = z.infer<typeof sessionCodeSchema>;

const listedSession = z.object({
  /** The session's ID, which is no credential. */
  id: z.string(),
  who: z.string(),
  /** The operator's present role: `view`, `operator` or `admin`. */
  role: z.string(),
  createdAt: z.string(),
  expiresAt: z.string(),
  /** The address from which the operator signed in; "" if the platform does not provide it. */
  address: z.string(),
  /** The browser's User-Agent; "" if the browser sends none. */
  browser: z.string(),
  /** true for the session of this request. */
  isThis: z.boolean(),
});
export type ListedSession = z.infer<typeof listedSession>;

/** The body of a 200 answer to GET /v1/sessions, newest first. */
export const sessionsSchema = z.object({ sessions: z.array(listedSession) });
export type SessionsAnswer = z.infer<typeof sessionsSchema>;

/** The body of a 200 answer to GET /v1/backup. */
export const backupAnswerSchema = z.object({
  page: backupPageSchema,
  /** The parameter `after` of the next page; null on the last page. */
  next: z.nullable(z.string()),
});
export type BackupAnswer = z.infer<typeof backupAnswerSchema>;

/** The body of a 200 answer to GET and POST /v1/imports. */
export const importStateSchema = z.object({
  /** The last import; null if there was none. */
  import: z.nullable(
    z.object({
      /** The backup's ID. */
      id: z.string(),
      isDone: z.boolean(),
      at: z.string(),
      who: z.string(),
      /** The number of the next page. After the import it is the number after the last page. */
      nextPage: z.number(),
      /** The number of machines in the backup whose keys are valid. */
      machines: z.number(),
      /** The number of these machines that have reported since the import. */
      back: z.number(),
      /** The first names of machines that have not reported since the import. */
      notBack: z.array(z.string()),
    }),
  ),
});
export type ImportState = z.infer<typeof importStateSchema>;
