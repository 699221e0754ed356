// Describes the routes about the deployment: tokens, operators, sessions, bulk actions, logs, backups, health.
import {
  bulkPlanSchema,
  bulkSchema,
  bulksSchema,
  createdOperatorSchema,
  operatorsSchema,
  revocationsSchema,
  settingsSchema,
  silentNodesSchema,
  startedBulkSchema,
} from "../../../shared/protocol/administration-answers.ts";
import { backupAnswerSchema, importStateSchema } from "../../../shared/protocol/backup.ts";
import { indexStateSchema } from "../../../shared/protocol/index-answers.ts";
import {
  auditSchema,
  clusterHistorySchema,
  mintedTokenSchema,
  originMachinesSchema,
  originsSchema,
  readinessSchema,
  tokensSchema,
} from "../../../shared/protocol/operator-answers.ts";
import {
  sessionCodeSchema,
  sessionSchema,
  sessionsSchema,
  startedSessionSchema,
} from "../../../shared/protocol/session-answers.ts";
import {
  type Descriptions,
  DONE,
  FORMAT,
  json,
  LINES,
  list,
  LISTED,
  type RouteAnswer,
} from "../description.ts";

const before = "Only what came before the entry of this ID: the next page.";
const readinessAnswer = (what: string): RouteAnswer => ({
  what,
  content: { "application/json": { name: "Readiness", schema: readinessSchema }, "text/plain": "text" },
});

export const DEPLOYMENT_DESCRIPTIONS = {
  "POST /v1/tokens": {
    id: "mintToken",
    group: "tokens",
    what: "Mint a join token",
    more: "Labels, taints and roles are to be such as an apiserver takes of a kubelet, and none of rollcall's own.",
    answers: { 201: json("The token: the only answer with its secret.", "MintedToken", mintedTokenSchema) },
  },
  "GET /v1/tokens": {
    id: "listTokens",
    group: "tokens",
    what: "List join tokens, newest first",
    about: FORMAT,
    answers: { 200: list("All tokens, without their secrets.", "Tokens", tokensSchema) },
  },
  "DELETE /v1/tokens/{id}": {
    id: "revokeToken",
    group: "tokens",
    what: "Revoke a join token",
    more: "Nobody enrols with it any more; machines that did go on.",
    answers: DONE,
  },
  "POST /v1/operators": {
    id: "createOperator",
    group: "operators",
    what: "Make an operator with a name",
    more: "The audit log calls them `operator NAME`. A name can be given again once its operator is revoked or has expired. A session makes none.",
    answers: {
      201: json("The operator: the only answer with the secret.", "CreatedOperator", createdOperatorSchema),
    },
  },
  "GET /v1/operators": {
    id: "listOperators",
    group: "operators",
    what: "List operators with names",
    answers: { 200: json("All of them, without their secrets, by name.", "Operators", operatorsSchema) },
  },
  "DELETE /v1/operators/{id}": {
    id: "revokeOperator",
    group: "operators",
    what: "Revoke the operator with this name",
    more: "Their secret is refused at once where that was asked for, and within 10 seconds everywhere.",
    answers: DONE,
  },
  "GET /v1/revocations": {
    id: "listRevocations",
    group: "tokens",
    what: "List the keys that are refused for ever, newest first",
    about: {
      after: "The `next` of the page before.",
      limit: "How many entries: 1 to 1,000; 100 where it is absent.",
    },
    answers: { 200: json("A page.", "Revocations", revocationsSchema) },
  },
  "GET /v1/settings": {
    id: "getSettings",
    group: "deployment",
    what: "The settings in force",
    more: "Of secrets only whether they are there.",
    answers: { 200: json("Each with where it comes from.", "Settings", settingsSchema) },
  },
  "GET /v1/silent-nodes": {
    id: "listSilentNodes",
    group: "fleet",
    what: "The Nodes of machines that have been silent for so many days",
    more: "Whom the variable REMOVE_SILENT_NODES_DAYS would touch: at most 10,000, the longest silence first.",
    about: { days: "1 to 3,650." },
    answers: { 200: json("All of them.", "SilentNodes", silentNodesSchema) },
  },
  "POST /v1/session": {
    id: "signIn",
    group: "operators",
    what: "Sign in from a browser: by a secret, or by a code",
    more: "The answer sets the session's cookie, for 12 hours. The role metrics has no sessions. A code is good once.",
    answers: { 201: json("Who has signed in, with the cookie.", "StartedSession", startedSessionSchema) },
  },
  "GET /v1/session": {
    id: "getSession",
    group: "operators",
    what: "Who asks, and which ways in there are",
    more: "Who sends no credential, or a session's cookie that is over, is nobody, and has failed at nothing.",
    answers: { 200: json("`operator` is null where it is nobody.", "Session", sessionSchema) },
  },
  "DELETE /v1/session": {
    id: "signOut",
    group: "operators",
    what: "Sign out: end the session that asks, and take its cookie back",
    answers: DONE,
  },
  "POST /v1/session/codes": {
    id: "makeSessionCode",
    group: "operators",
    what: "Get a code that signs one browser in within 10 minutes, as who asks",
    more: "By a secret alone: a session, and whoever comes through Cloudflare Access, gets none.",
    answers: { 201: json("The only answer with the code.", "SessionCode", sessionCodeSchema) },
  },
  "GET /v1/sessions": {
    id: "listSessions",
    group: "operators",
    what: "List who has signed in from a browser, newest first",
    answers: { 200: json("All sessions that are good; an ID opens none.", "Sessions", sessionsSchema) },
  },
  "DELETE /v1/sessions/{id}": {
    id: "revokeSession",
    group: "operators",
    what: "Revoke a session",
    more: "It is refused at once where that was asked for, and within 10 seconds everywhere.",
    answers: DONE,
  },
  "POST /v1/bulk": {
    id: "actOnMany",
    group: "bulk",
    what: "Act on many machines: a dry run, or its confirmation",
    more:
      "With `dryRun` nothing changes. The same body with the answer's `confirmation` in its place executes that list, " +
      "in the background; a confirmation is good once, for ten minutes, for the same operator.",
    answers: {
      200: json("Of a dry run: whom it would touch.", "BulkPlan", bulkPlanSchema),
      202: json("Of a confirmation: it has begun.", "StartedBulk", startedBulkSchema),
    },
  },
  "GET /v1/bulk": {
    id: "listBulks",
    group: "bulk",
    what: "The latest 100 actions on many machines, newest first",
    answers: { 200: json("Each with how far it is.", "Bulks", bulksSchema) },
  },
  "GET /v1/bulk/{id}": {
    id: "getBulk",
    group: "bulk",
    what: "How far an action on many machines is",
    about: {
      after: "Only failures of names that sort behind this one: the next page.",
      limit: "How many failures: 1 to 1,000; 100 where it is absent.",
    },
    answers: { 200: json("With a page of what failed, by name.", "Bulk", bulkSchema) },
  },
  "DELETE /v1/bulk/{id}": {
    id: "stopBulk",
    group: "bulk",
    what: "Stop an action on many machines",
    more: "What has begun ends, nothing else begins.",
    answers: DONE,
  },
  "GET /v1/audit": {
    id: "getAudit",
    group: "deployment",
    what: "Who did what to whom, newest first",
    about: {
      by: "What operators did, what machines caused, or which enrolments were refused: three logs, each with IDs of its own.",
      target: "Only what was done to this Node or token.",
      before,
      ...LISTED,
    },
    answers: { 200: list("A page.", "Audit", auditSchema) },
  },
  "GET /v1/index": {
    id: "getIndex",
    group: "deployment",
    what: "Show the state of the fleet index itself: its last repair, its last daily check, its log",
    answers: { 200: json("The state.", "IndexState", indexStateSchema) },
  },
  "POST /v1/index/repair": {
    id: "repairIndex",
    group: "deployment",
    what: "Have all machines' objects tell the fleet index everything again",
    more: "Fifty a second are asked. A repair that is under way goes on.",
    answers: { 202: json("It is under way.", "IndexState", indexStateSchema) },
  },
  "GET /v1/backup": {
    id: "getBackup",
    group: "deployment",
    what: "A page of a backup: keys, join tokens, operators, the audit log, notifications",
    more: "Without secrets: receivers' are encrypted under KID_MAC_KEYS. Each page has a MAC by these keys.",
    about: { after: "The `next` of the page before; absent: a new backup begins." },
    answers: { 200: json("A page.", "BackupAnswer", backupAnswerSchema) },
  },
  "GET /v1/imports": {
    id: "getImport",
    group: "deployment",
    what: "Show what was imported last, and which machines have not reported since",
    answers: { 200: json("How far it is.", "ImportState", importStateSchema) },
  },
  "POST /v1/imports": {
    id: "importPage",
    group: "deployment",
    what: "Import the next page of a backup; the last one makes all of them count",
    more: "Only into a deployment without machines, of the same DEPLOYMENT and with the backup's KID_MAC_KEYS. Repeatable.",
    answers: { 200: json("How far it is.", "ImportState", importStateSchema) },
  },
  "DELETE /v1/imports": {
    id: "abandonImport",
    group: "deployment",
    what: "End an import that is under way; nothing of it is kept",
    answers: DONE,
  },
  "GET /v1/cluster/history": {
    id: "getClusterHistory",
    group: "deployment",
    what: "When the Nodes were not watched, and why; newest first",
    about: { before, ...LISTED },
    answers: { 200: list("A page.", "ClusterHistory", clusterHistorySchema) },
  },
  "GET /v1/origins": {
    id: "listOrigins",
    group: "deployment",
    what: "List the origins by which machines reach the Worker, the configured ones first",
    about: FORMAT,
    answers: { 200: list("All of them.", "Origins", originsSchema) },
  },
  "GET /v1/origins/machines": {
    id: "listOriginMachines",
    group: "deployment",
    what: "List the machines that used an origin last, by name",
    more: LINES,
    about: {
      origin: "The origin.",
      after: "Only names that sort behind this one: the next page.",
      ...LISTED,
    },
    answers: { 200: list("A page.", "OriginMachines", originMachinesSchema) },
  },
  "GET /livez": {
    id: "getLiveness",
    group: "health",
    what: "Whether the Worker is alive",
    answers: { 200: { what: "`ok`; nothing else is said.", content: { "text/plain": "text" } } },
  },
  "GET /readyz": {
    id: "getReadiness",
    group: "health",
    what: "Whether the deployment works, what does not, and what to do about it",
    more: "The apiserver is asked once in 10 s at most, however many ask.",
    about: { verbose: "Whatever it says: lines to read instead of JSON." },
    answers: { 200: readinessAnswer("No check has failed."), 503: readinessAnswer("A check has failed.") },
  },
  "GET /metrics": {
    id: "getMetrics",
    group: "health",
    what: "The fleet in numbers, for Prometheus",
    more: "The scrape secret opens this path as well. OpenMetrics, unless the header Accept takes plain text alone.",
    answers: {
      200: {
        what: "The metrics.",
        content: { "text/plain": "text", "application/openmetrics-text": "text" },
      },
    },
  },
} as const satisfies Partial<Descriptions>;
