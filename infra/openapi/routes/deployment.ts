// Describes the routes about the deployment: tokens, operators, sessions, bulk actions, logs, backups, health.
import {
  bulkPlanSchema,
  bulkSchema,
  bulksSchema,
  createdOperatorSchema,
  operatorsSchema,
  revocationsSchema,
  sessionCodeSchema,
  sessionSchema,
  sessionsSchema,
  settingsSchema,
  silentNodesSchema,
  startedBulkSchema,
  startedSessionSchema,
} from "../../../shared/protocol/administration-answers.ts";
import { backupAnswerSchema, importStateSchema } from "../../../shared/protocol/backup.ts";
import { indexStateSchema } from "../../../shared/protocol/fleet-answers.ts";
import {
  auditSchema,
  clusterHistorySchema,
  mintedTokenSchema,
  originMachinesSchema,
  originsSchema,
  readinessSchema,
  tokensSchema,
} from "../../../shared/protocol/operator-answers.ts";
import { grouped, FORMAT, json, LINES, list, LISTED, type RouteAnswer } from "../description.ts";

const before = "Only entries before the one with this ID: the next page.";
const readinessAnswer = (what: string): RouteAnswer => ({
  what,
  content: { "application/json": { name: "Readiness", schema: readinessSchema }, "text/plain": "text" },
});

export const DEPLOYMENT_DESCRIPTIONS = {
  ...grouped("tokens", {
    "POST /v1/tokens": {
      id: "mintToken",
      what: "Mint a join token",
      more: "Labels, taints and roles must be such as the apiserver accepts from a kubelet, and none of rollcall's own.",
      answers: { 201: json("The token: the only answer with its secret.", "MintedToken", mintedTokenSchema) },
    },
    "GET /v1/tokens": {
      id: "listTokens",
      what: "List join tokens, newest first",
      about: FORMAT,
      answers: { 200: list("All tokens, without their secrets.", "Tokens", tokensSchema) },
    },
    "DELETE /v1/tokens/{id}": {
      id: "revokeToken",
      what: "Revoke a join token",
      more: "No machine can enrol with it any more. Machines that did continue.",
    },
    "GET /v1/revocations": {
      id: "listRevocations",
      what: "List the keys that are refused for ever, newest first",
      about: {
        after: "The `next` of the page before.",
        limit: "How many entries: 1 to 1,000; 100 by default.",
      },
      answers: { 200: json("A page.", "Revocations", revocationsSchema) },
    },
  }),
  ...grouped("operators", {
    "POST /v1/operators": {
      id: "createOperator",
      what: "Create an operator with a name",
      more: "The audit log names them `operator NAME`. A name can be used again once its operator is revoked or has expired. A session cannot create operators.",
      answers: {
        201: json("The operator: the only answer with the secret.", "CreatedOperator", createdOperatorSchema),
      },
    },
    "GET /v1/operators": {
      id: "listOperators",
      what: "List operators with names",
      answers: {
        200: json("All operators, sorted by name, without their secrets.", "Operators", operatorsSchema),
      },
    },
    "DELETE /v1/operators/{id}": {
      id: "revokeOperator",
      what: "Revoke the operator with this name",
      more: "The location that got the request refuses the secret at once, all others within 10 seconds.",
    },
    "POST /v1/session": {
      id: "signIn",
      what: "Sign in from a browser: by a secret, or by a code",
      more: "The answer sets the session's cookie, for 12 hours. The role metrics has no sessions. A code works once.",
      answers: {
        201: json(
          "The operator that has signed in, with the cookie.",
          "StartedSession",
          startedSessionSchema,
        ),
      },
    },
    "GET /v1/session": {
      id: "getSession",
      what: "Show the operator that sends this request, and the ways to sign in",
      more: "A request without a credential, or with the cookie of an ended session, does not count as a failure.",
      answers: { 200: json("`operator` is null without a valid credential.", "Session", sessionSchema) },
    },
    "DELETE /v1/session": {
      id: "signOut",
      what: "Sign out: end this session, and delete its cookie",
    },
    "POST /v1/session/codes": {
      id: "makeSessionCode",
      what: "Get a code that signs in one browser as this operator, within 10 minutes",
      more: "Needs a secret: a session, or an operator that comes through Cloudflare Access, gets no code.",
      answers: { 201: json("The only answer with the code.", "SessionCode", sessionCodeSchema) },
    },
    "GET /v1/sessions": {
      id: "listSessions",
      what: "List the sessions of operators in browsers, newest first",
      answers: {
        200: json("All active sessions. An ID does not open a session.", "Sessions", sessionsSchema),
      },
    },
    "DELETE /v1/sessions/{id}": {
      id: "revokeSession",
      what: "Revoke a session",
      more: "The location that got the request refuses it at once, all others within 10 seconds.",
    },
  }),
  ...grouped("deployment", {
    "GET /v1/settings": {
      id: "getSettings",
      what: "Show the active settings",
      more: "Of a secret, only whether it is set.",
      answers: { 200: json("Each setting with its source.", "Settings", settingsSchema) },
    },
    "GET /v1/audit": {
      id: "getAudit",
      what: "List operators' actions, machines' changes, or refused enrolments, newest first",
      about: {
        by: "Which of the three logs: `operators`, `machines` or `refusals`. Each has its own IDs.",
        target: "Only entries about this Node or token.",
        before,
        ...LISTED,
      },
      answers: { 200: list("A page.", "Audit", auditSchema) },
    },
    "GET /v1/index": {
      id: "getIndex",
      what: "Show the state of the fleet index itself: its last repair, its last daily check, its log",
      answers: { 200: json("The state.", "IndexState", indexStateSchema) },
    },
    "POST /v1/index/repair": {
      id: "repairIndex",
      what: "Have all machines' objects send everything to the fleet index again",
      more: "Fifty objects a second are asked. A repair that is already running continues.",
      answers: { 202: json("The repair is running.", "IndexState", indexStateSchema) },
    },
    "GET /v1/backup": {
      id: "getBackup",
      what: "Get a page of a backup: keys, join tokens, operators, the audit log, notifications",
      more: "The only secrets in it are those of receivers, encrypted with KID_MAC_KEYS. Each page has a MAC by these keys.",
      about: { after: "The `next` of the page before. Without it, a new backup begins." },
      answers: { 200: json("A page.", "BackupAnswer", backupAnswerSchema) },
    },
    "GET /v1/imports": {
      id: "getImport",
      what: "Show the last import, and which machines have not reported since",
      answers: { 200: json("The progress.", "ImportState", importStateSchema) },
    },
    "POST /v1/imports": {
      id: "importPage",
      what: "Import the next page of a backup; the last one applies all pages",
      more: "Only into a deployment without machines, of the same DEPLOYMENT and with the backup's KID_MAC_KEYS. Repeatable.",
      answers: { 200: json("The progress.", "ImportState", importStateSchema) },
    },
    "DELETE /v1/imports": {
      id: "abandonImport",
      what: "End an unfinished import and delete its pages",
    },
    "GET /v1/cluster/history": {
      id: "getClusterHistory",
      what: "List when the Nodes were not watched, and why, newest first",
      about: { before, ...LISTED },
      answers: { 200: list("A page.", "ClusterHistory", clusterHistorySchema) },
    },
    "GET /v1/origins": {
      id: "listOrigins",
      what: "List the origins by which machines reach the Worker, the configured ones first",
      about: FORMAT,
      answers: { 200: list("All of them.", "Origins", originsSchema) },
    },
    "GET /v1/origins/machines": {
      id: "listOriginMachines",
      what: "List the machines that used an origin last, sorted by name",
      more: LINES,
      about: {
        origin: "The origin.",
        after: "Only names after this one: the next page.",
        ...LISTED,
      },
      answers: { 200: list("A page.", "OriginMachines", originMachinesSchema) },
    },
  }),
  ...grouped("fleet", {
    "GET /v1/silent-nodes": {
      id: "listSilentNodes",
      what: "List the Nodes of machines that have been silent for `days`",
      more: "The Nodes that the variable REMOVE_SILENT_NODES_DAYS would remove: at most 10,000, the longest silence first.",
      about: { days: "1 to 3,650." },
      answers: { 200: json("All of them.", "SilentNodes", silentNodesSchema) },
    },
  }),
  ...grouped("bulk", {
    "POST /v1/bulk": {
      id: "actOnMany",
      what: "Act on many machines: a dry run, or its confirmation",
      more:
        "With `dryRun` nothing changes. The same body with the answer's `confirmation` instead executes that list " +
        "in the background. A confirmation works once, within ten minutes, for the same operator.",
      answers: {
        200: json("Of a dry run: the machines that the action would affect.", "BulkPlan", bulkPlanSchema),
        202: json("Of a confirmation: it has begun.", "StartedBulk", startedBulkSchema),
      },
    },
    "GET /v1/bulk": {
      id: "listBulks",
      what: "List the latest 100 actions on many machines, newest first",
      answers: { 200: json("Each with its progress.", "Bulks", bulksSchema) },
    },
    "GET /v1/bulk/{id}": {
      id: "getBulk",
      what: "Show the progress of an action on many machines",
      about: {
        after: "Only failures of names after this one: the next page.",
        limit: "How many failures: 1 to 1,000; 100 by default.",
      },
      answers: {
        200: json("The progress, with a page of the failures, sorted by name.", "Bulk", bulkSchema),
      },
    },
    "DELETE /v1/bulk/{id}": {
      id: "stopBulk",
      what: "Stop an action on many machines",
      more: "Machines that have begun are completed, no others begin.",
    },
  }),
  ...grouped("health", {
    "GET /livez": {
      id: "getLiveness",
      what: "Whether the Worker is alive",
      answers: { 200: { what: "Always `ok`.", content: { "text/plain": "text" } } },
    },
    "GET /readyz": {
      id: "getReadiness",
      what: "Check the deployment, and show what to do about each problem",
      more: "The apiserver is asked at most once in 10 s.",
      about: { verbose: "With any value: lines of text instead of JSON." },
      answers: { 200: readinessAnswer("No check has failed."), 503: readinessAnswer("A check has failed.") },
    },
    "GET /metrics": {
      id: "getMetrics",
      what: "Get the fleet's metrics for Prometheus",
      more: "The scrape secret opens this path as well. The format is OpenMetrics, unless the header Accept has plain text only.",
      answers: {
        200: {
          what: "The metrics.",
          content: { "text/plain": "text", "application/openmetrics-text": "text" },
        },
      },
    },
  }),
};
