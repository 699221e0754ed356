// Describes the routes about the deployment: tokens, operators, sessions, bulk actions, logs, backups, health.
import {
  backupAnswerSchema,
  bulkPlanSchema,
  bulkSchema,
  bulksSchema,
  createdOperatorSchema,
  importStateSchema,
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
import {
  auditSchema,
  clusterHistorySchema,
  mintedTokenSchema,
  originMachinesSchema,
  originsSchema,
  readinessSchema,
  tokensSchema,
} from "../../../shared/protocol/operator-answers.ts";
import { indexStateSchema } from "../../../shared/protocol/fleet-answers.ts";
import { rulesSchema, rulesTrialAnswerSchema } from "../../../shared/protocol/rules.ts";
import {
  AFTER,
  BEFORE,
  BY_NAME,
  FORMAT,
  grouped,
  json,
  LIMIT,
  LINES,
  list,
  LISTED,
  PAGES,
} from "../description.ts";

const readiness = (what: string) => {
  const { content } = json(what, { readinessSchema });
  return { what, content: { ...content, "text/plain": "text" } } as const;
};

export const DEPLOYMENT_DESCRIPTIONS = {
  ...grouped("tokens", {
    "POST /v1/tokens": {
      id: "mintToken",
      what: "Create a join token",
      more: "The token may set only labels, taints and roles that the apiserver accepts from a kubelet, and none of rollcall's own. In this version an absent `may` field allows all values if `mayAll` is absent; the answer then has a note.",
      answers: { 201: json("The token, whose secret no other answer has.", { mintedTokenSchema }) },
    },
    "GET /v1/tokens": {
      id: "listTokens",
      what: "List join tokens, newest first",
      more: `A token that ended 90 days ago moves to the audit log, unless a machine has its name by the token. ${LINES}`,
      about: PAGES,
      answers: { 200: list("A page of tokens, without their secrets.", { tokensSchema }) },
    },
    "DELETE /v1/tokens/{id}": {
      id: "revokeToken",
      what: "Revoke a join token",
      more: "No machine can enrol with the token any more. Machines that have enrolled with the token continue.",
    },
    "GET /v1/revocations": {
      id: "listRevocations",
      what: "List the keys that the Worker refuses for ever, newest first",
      about: { after: AFTER, limit: LIMIT },
      answers: { 200: json("A page of keys.", { revocationsSchema }) },
    },
  }),
  ...grouped("operators", {
    "POST /v1/operators": {
      id: "createOperator",
      what: "Create an operator with a name",
      more: "The audit log names the operator `operator NAME`. The name is free again when the operator is revoked or has expired. A request with a session's cookie cannot create operators.",
      answers: { 201: json("The operator, whose secret no other answer has.", { createdOperatorSchema }) },
    },
    "GET /v1/operators": {
      id: "listOperators",
      what: "List operators with names",
      answers: { 200: json("All operators, sorted by name, without their secrets.", { operatorsSchema }) },
    },
    "DELETE /v1/operators/{id}": {
      id: "revokeOperator",
      what: "Revoke the operator with this name",
      more: "The isolate that handles the request refuses the operator's secret at once. All other isolates refuse it within 10 seconds.",
    },
    "POST /v1/session": {
      id: "signIn",
      what: "Sign in from a browser with a secret or a sign-in code",
      more: "The answer sets the session's cookie, which is valid for 12 hours. An operator with the role metrics cannot sign in. A code works once.",
      answers: { 201: json("The operator that has signed in, with the cookie.", { startedSessionSchema }) },
    },
    "GET /v1/session": {
      id: "getSession",
      what: "Show the operator that sends this request, and the ways to sign in",
      more: "A request without a credential, or with the cookie of an ended session, does not count as a failed attempt.",
      answers: { 200: json("The operator, which is null without a valid credential.", { sessionSchema }) },
    },
    "DELETE /v1/session": {
      id: "signOut",
      what: "Sign out: end the session of this request, and delete its cookie",
    },
    "POST /v1/session/codes": {
      id: "makeSessionCode",
      what: "Create a sign-in code, which signs in one browser as this operator within 10 minutes",
      more: "A request needs the operator's secret; with a session's cookie or through Cloudflare Access it gets no code.",
      answers: { 201: json("The code, which no other answer has.", { sessionCodeSchema }) },
    },
    "GET /v1/sessions": {
      id: "listSessions",
      what: "List the sessions of operators in browsers, newest first",
      answers: {
        200: json("All active sessions. A session's ID does not let anybody sign in.", { sessionsSchema }),
      },
    },
    "DELETE /v1/sessions/{id}": {
      id: "revokeSession",
      what: "Revoke a session",
      more: "The isolate that handles the request refuses the session at once. All other isolates refuse it within 10 seconds.",
    },
  }),
  ...grouped("deployment", {
    "GET /v1/settings": {
      id: "getSettings",
      what: "Show the active settings",
      more: "For a secret, the answer has only whether it is set.",
      answers: { 200: json("Each setting with its source.", { settingsSchema }) },
    },
    "GET /v1/audit": {
      id: "getAudit",
      what: "List operators' actions, machines' actions, or refused enrolments, newest first",
      about: {
        by: "Which of the three logs: `operators`, `machines` or `refusals`. Each has its own IDs.",
        target: "Only entries about this Node or token.",
        before: BEFORE,
        ...LISTED,
      },
      answers: { 200: list("A page of the log.", { auditSchema }) },
    },
    "GET /v1/index": {
      id: "getIndex",
      what: "Show the last repair of the fleet index, its last daily check, and its log",
      answers: { 200: json("The state of the index.", { indexStateSchema }) },
    },
    "POST /v1/index/repair": {
      id: "repairIndex",
      what: "Make all machines' objects send their summaries to the fleet index again",
      more: "The index asks 50 objects a second. A repair that is already running continues.",
      answers: { 202: json("The repair is running.", { indexStateSchema }) },
    },
    "GET /v1/backup": {
      id: "getBackup",
      what: "Get a page of a backup with keys, join tokens, operators, the audit log and receivers",
      more: "A backup contains no secrets except those of receivers, encrypted with KID_MAC_KEYS. Each page has a MAC made with these keys.",
      about: {
        after:
          "The `next` of the page before, of the same operator's export, within an hour of its first page. Without it, a new backup begins.",
      },
      answers: { 200: json("A page of the backup.", { backupAnswerSchema }) },
    },
    "GET /v1/imports": {
      id: "getImport",
      what: "Show the last import, and which machines have not reported since",
      answers: { 200: json("The progress of the import.", { importStateSchema }) },
    },
    "POST /v1/imports": {
      id: "importPage",
      what: "Import the next page of a backup; the last page applies all pages",
      more: "The deployment must have no machines, the backup's DEPLOYMENT and the backup's KID_MAC_KEYS. A request can be repeated.",
      answers: { 200: json("The progress of the import.", { importStateSchema }) },
    },
    "DELETE /v1/imports": {
      id: "abandonImport",
      what: "End an unfinished import and delete its pages",
    },
    "GET /v1/cluster/history": {
      id: "getClusterHistory",
      what: "List the times when the Worker did not watch the Nodes, with the reasons, newest first",
      about: { before: BEFORE, ...LISTED },
      answers: { 200: list("A page of times without a watch.", { clusterHistorySchema }) },
    },
    "GET /v1/origins": {
      id: "listOrigins",
      what: "List the origins by which machines reach the Worker, the configured ones first",
      about: FORMAT,
      answers: { 200: list("All origins.", { originsSchema }) },
    },
    "GET /v1/origins/machines": {
      id: "listOriginMachines",
      what: "List the machines whose last request went to this origin, sorted by name",
      more: LINES,
      about: { origin: "The origin.", ...BY_NAME, ...FORMAT },
      answers: { 200: list("A page of machines.", { originMachinesSchema }) },
    },
  }),
  ...grouped("fleet", {
    "GET /v1/silent-nodes": {
      id: "listSilentNodes",
      what: "List the Nodes of machines that have been silent for `days`",
      more: "The Worker would remove these Nodes if the variable REMOVE_SILENT_NODES_DAYS had this number. The longest silence is first.",
      about: { days: "1 to 3,650." },
      answers: { 200: json("At most 10,000 Nodes.", { silentNodesSchema }) },
    },
  }),
  ...grouped("rules", {
    "GET /v1/rules": {
      id: "getRules",
      what: "Show the present rules, the machines that they match, their rollout, and the earlier revisions",
      answers: { 200: json("The rules.", { rulesSchema }) },
    },
    "PUT /v1/rules": {
      id: "putRules",
      what: "Replace the whole set of rules, and start its rollout to all machines",
      more:
        "The set has a new revision. Unless the revision in `base` is present, the answer is a conflict. With more " +
        "changed Nodes than `mayChange` the rollout stops.",
      answers: { 200: json("The new rules, whose rollout has begun.", { rulesSchema }) },
    },
    "POST /v1/rules/try": {
      id: "tryRules",
      what: "Try a set of rules on a page of machines, and list the changes of their Nodes",
      more: "Changes nothing. A page has at most 50 machines, sorted by name.",
      answers: { 200: json("What would change.", { rulesTrial: rulesTrialAnswerSchema }) },
    },
    "POST /v1/rules/undo": {
      id: "undoRules",
      what: "Go back to the rules of an earlier revision, as a new revision",
      more:
        "Unless the revision in `base` is present, the answer is a conflict. To take back an undo, `to` has to state the " +
        "revision.",
      answers: { 200: json("The new rules, whose rollout has begun.", { rulesSchema }) },
    },
    "POST /v1/rules/continue": {
      id: "continueRules",
      what: "Continue a rollout of rules that has stopped",
      answers: { 200: json("The rules, whose rollout continues.", { rulesSchema }) },
    },
  }),
  ...grouped("bulk", {
    "POST /v1/bulk": {
      id: "actOnMany",
      what: "Start an action on many machines, or list its effects in advance",
      more:
        "A request with `dryRun` changes nothing, and its answer has a `confirmation`. The same body with that " +
        "`confirmation` in place of `dryRun` starts the action on the listed machines. A confirmation works once, " +
        "within ten minutes, for the same operator.",
      answers: {
        200: json("After a dry run: the machines that the action would affect.", { bulkPlanSchema }),
        202: json("After a confirmation: the action has begun.", { startedBulkSchema }),
      },
    },
    "GET /v1/bulk": {
      id: "listBulks",
      what: "List the latest 100 actions on many machines, newest first",
      answers: { 200: json("The actions, each with its progress.", { bulksSchema }) },
    },
    "GET /v1/bulk/{id}": {
      id: "getBulk",
      what: "Show the progress of an action on many machines",
      about: {
        after: "Only failures of names after this one: the next page.",
        limit: "How many failures: 1 to 1,000; 100 by default.",
      },
      answers: { 200: json("The progress, with a page of failures, sorted by machine.", { bulkSchema }) },
    },
    "DELETE /v1/bulk/{id}": {
      id: "stopBulk",
      what: "Stop an action on many machines",
      more: "The Worker completes the action for machines where it has begun, and begins it for no other machine.",
    },
  }),
  ...grouped("health", {
    "GET /livez": {
      id: "getLiveness",
      what: "Show that the Worker runs",
      answers: { 200: { what: "Always `ok`.", content: { "text/plain": "text" } } },
    },
    "GET /readyz": {
      id: "getReadiness",
      what: "Check the deployment, and show the remedy for each problem",
      more: "The Worker checks the apiserver at most once in 10 s.",
      about: { verbose: "With any value: lines of text instead of JSON." },
      answers: { 200: readiness("No check has failed."), 503: readiness("A check has failed.") },
    },
    "GET /metrics": {
      id: "getMetrics",
      what: "Get the fleet's metrics for Prometheus",
      more: "The scrape secret opens `/metrics` as well. The answer is in OpenMetrics, or in plain text if the header Accept has only that.",
      answers: {
        200: {
          what: "The metrics.",
          content: { "text/plain": "text", "application/openmetrics-text": "text" },
        },
      },
    },
  }),
};
