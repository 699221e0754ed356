// Lists all routes of the Worker: method and path, the allowed callers, the parameters and body, and the reasons to
// refuse a request. The router, the API's description and its clients follow this table.
import type * as z from "zod/mini";
import type { Reason } from "./answers.ts";
import {
  bulkQuerySchema,
  bulkRequestSchema,
  newOperatorSchema,
  newRolloutSchema,
  type ReadingRole,
  revocationsQuerySchema,
  signInSchema,
  silentNodesQuerySchema,
} from "./administration-api.ts";
import { answerBodySchema, askSchema } from "./asking.ts";
import { backupPageSchema, backupQuerySchema } from "./backup.ts";
import { connectQuerySchema, enrolmentSchema, rotationSchema, upgradeSchema } from "./claims.ts";
import { feedQuerySchema } from "./feed.ts";
import {
  fleetHistoryQuerySchema,
  machinesQuerySchema,
  outageQuerySchema,
  outagesQuerySchema,
  usageQuerySchema,
} from "./fleet-api.ts";
import { tokenRequestSchema } from "./join-tokens.ts";
import {
  auditQuerySchema,
  clearSchema,
  clusterHistoryQuerySchema,
  historyQuerySchema,
  nodeChangeSchema,
  originMachinesQuerySchema,
  readinessQuerySchema,
  rowsQuerySchema,
  thumbprintSchema,
  timelineQuerySchema,
} from "./operator-api.ts";
import { wholeListSchema } from "./parameters.ts";
import { newMuteSchema, newReceiverSchema, receiverChangeSchema } from "./receiver-api.ts";
import { reportSchema } from "./report.ts";
import { newRulesSchema, rulesContinueSchema, rulesTrialSchema, rulesUndoSchema } from "./rules.ts";

/** The callers that a route allows. A machine signs requests. For an operator it is the least role. */
export type Caller = "anybody" | "machine" | ReadingRole;

export interface RouteRules {
  who: Caller;
  /** true if the route wakes a node object, which costs as much as a report. */
  wakes?: true;
  /** The schema of the query. A route without a schema refuses every parameter. */
  query?: z.ZodMiniObject;
  body?: z.core.$ZodType;
  /** The reasons of the route's refusals, in addition to those of all routes with the same callers. */
  reasons?: readonly Reason[];
}

/** The reasons to refuse a request that a machine has signed. */
const SIGNED = ["invalid-json", "key-revoked", "ticket-stale"] as const;
/** The reasons to refuse a request to a route that checks a credential but does not require one. */
const ANYBODY = ["forbidden", "invalid-query", "rate-limited", "not-configured", "internal"] as const;
/** The reasons why a machine is not asked. */
const UNASKED = ["not-found", "machine-silent", "no-socket", "question-off", "busy"] as const;

export const ROUTES = {
  "GET /v1/machines": { who: "view", query: machinesQuerySchema },
  "GET /v1/history": { who: "view", query: fleetHistoryQuerySchema },
  "GET /v1/rollout": { who: "view" },
  "PUT /v1/rollout": { who: "admin", body: newRolloutSchema },
  "POST /v1/rollout/stop": { who: "admin", reasons: ["not-found"] },
  "DELETE /v1/rollout": { who: "admin", reasons: ["not-found"] },
  "GET /v1/usage": { who: "view", query: usageQuerySchema },
  "GET /v1/versions": { who: "view" },
  "GET /v1/nodes/{name}/summary": { who: "view", reasons: ["not-found"] },
  "GET /v1/receivers": { who: "view" },
  "POST /v1/receivers": { who: "admin", body: newReceiverSchema },
  "PUT /v1/receivers/{receiver}": { who: "admin", body: receiverChangeSchema, reasons: ["not-found"] },
  "DELETE /v1/receivers/{receiver}": { who: "admin", reasons: ["not-found"] },
  "POST /v1/receivers/{receiver}/test": { who: "admin", reasons: ["not-found"] },
  "GET /v1/receivers/{receiver}/letters": { who: "view", reasons: ["not-found"] },
  "POST /v1/receivers/{receiver}/letters/{id}/resend": { who: "admin", reasons: ["not-found"] },
  "GET /v1/mutes": { who: "view" },
  "POST /v1/mutes": { who: "admin", body: newMuteSchema },
  "DELETE /v1/mutes/{id}": { who: "admin", reasons: ["not-found"] },
  "GET /v1/outages": { who: "view", query: outagesQuerySchema },
  "GET /v1/outages/{id}": { who: "view", query: outageQuerySchema, reasons: ["not-found"] },
  "GET /v1/feed": { who: "view", query: feedQuerySchema, reasons: ["upgrade-required"] },
  "POST /v1/feed/tickets": { who: "view" },
  "GET /v1/pending": { who: "view", query: rowsQuerySchema },
  "GET /v1/nodes/{name}": { who: "view", wakes: true, reasons: ["not-found"] },
  "GET /v1/nodes/{name}/history": {
    who: "view",
    wakes: true,
    query: historyQuerySchema,
    reasons: ["not-found"],
  },
  "GET /v1/nodes/{name}/timeline": {
    who: "view",
    wakes: true,
    query: timelineQuerySchema,
    reasons: ["not-found"],
  },
  "GET /v1/nodes/{name}/clones": { who: "view", wakes: true, reasons: ["not-found"] },
  "GET /v1/nodes/{name}/questions": { who: "operator", wakes: true, reasons: UNASKED },
  "POST /v1/nodes/{name}/questions": { who: "operator", wakes: true, body: askSchema, reasons: UNASKED },
  "POST /v1/nodes/{name}/approve": {
    who: "admin",
    wakes: true,
    body: thumbprintSchema,
    reasons: ["not-found"],
  },
  "POST /v1/nodes/{name}/reject": { who: "admin", body: thumbprintSchema, reasons: ["not-found"] },
  "POST /v1/nodes/{name}/register": { who: "admin", wakes: true, reasons: ["not-found"] },
  "POST /v1/nodes/{name}/believe": { who: "admin", wakes: true, reasons: ["not-found", "one-sender"] },
  "POST /v1/nodes/{name}/clear": {
    who: "operator",
    wakes: true,
    body: clearSchema,
    reasons: ["not-found", "conflict"],
  },
  "POST /v1/nodes/{name}/revoke": { who: "admin", wakes: true, reasons: ["not-found"] },
  "PATCH /v1/nodes/{name}": { who: "admin", wakes: true, body: nodeChangeSchema, reasons: ["not-found"] },
  "DELETE /v1/nodes/{name}": { who: "admin", wakes: true, reasons: ["not-found", "not-removed"] },
  "POST /v1/tokens": { who: "admin", body: tokenRequestSchema },
  "GET /v1/tokens": { who: "view", query: rowsQuerySchema },
  "DELETE /v1/tokens/{id}": { who: "admin", reasons: ["not-found"] },
  "POST /v1/operators": { who: "admin", body: newOperatorSchema, reasons: ["conflict"] },
  "GET /v1/operators": { who: "view" },
  "DELETE /v1/operators/{id}": { who: "admin", reasons: ["not-found"] },
  "GET /v1/revocations": { who: "view", query: revocationsQuerySchema },
  "GET /v1/settings": { who: "view" },
  "GET /v1/silent-nodes": { who: "view", query: silentNodesQuerySchema },
  "POST /v1/session": {
    who: "anybody",
    body: signInSchema,
    reasons: [...ANYBODY, "invalid-body", "body-too-large"],
  },
  "GET /v1/session": { who: "anybody", reasons: ANYBODY },
  "DELETE /v1/session": { who: "view" },
  "POST /v1/session/codes": { who: "admin" },
  "GET /v1/sessions": { who: "admin" },
  "DELETE /v1/sessions/{id}": { who: "admin", reasons: ["not-found"] },
  "POST /v1/bulk": { who: "admin", body: bulkRequestSchema, reasons: ["conflict"] },
  "GET /v1/bulk": { who: "view" },
  "GET /v1/bulk/{id}": { who: "view", query: bulkQuerySchema, reasons: ["not-found"] },
  "DELETE /v1/bulk/{id}": { who: "admin", reasons: ["not-found"] },
  "GET /v1/rules": { who: "view" },
  "PUT /v1/rules": { who: "admin", body: newRulesSchema, reasons: ["conflict"] },
  "POST /v1/rules/try": { who: "operator", wakes: true, body: rulesTrialSchema },
  "POST /v1/rules/undo": { who: "admin", body: rulesUndoSchema, reasons: ["conflict"] },
  "POST /v1/rules/continue": { who: "admin", body: rulesContinueSchema, reasons: ["conflict"] },
  "GET /v1/audit": { who: "view", query: auditQuerySchema },
  "GET /v1/index": { who: "view" },
  "POST /v1/index/repair": { who: "admin", wakes: true },
  "GET /v1/backup": { who: "admin", query: backupQuerySchema },
  "GET /v1/imports": { who: "view" },
  "POST /v1/imports": { who: "admin", body: backupPageSchema, reasons: ["conflict"] },
  "DELETE /v1/imports": { who: "admin", reasons: ["not-found"] },
  "GET /v1/cluster/history": { who: "view", query: clusterHistoryQuerySchema },
  "GET /v1/origins": { who: "view", query: wholeListSchema },
  "GET /v1/origins/machines": { who: "view", query: originMachinesQuerySchema },
  "GET /livez": { who: "anybody" },
  "GET /readyz": { who: "view", query: readinessQuerySchema },
  "GET /metrics": { who: "view" },
  "PUT /v1/nodes/{name}/enrolment": {
    who: "machine",
    wakes: true,
    body: enrolmentSchema,
    reasons: ["token-refused", "challenge-stale", "shim-too-old", "name-pinned"],
  },
  "POST /v1/nodes/{name}/report": {
    who: "machine",
    wakes: true,
    body: reportSchema,
    reasons: [...SIGNED, "facts-unknown"],
  },
  "POST /v1/nodes/{name}/rotate": { who: "machine", wakes: true, body: rotationSchema, reasons: SIGNED },
  "POST /v1/nodes/{name}/leave": { who: "machine", wakes: true, reasons: [...SIGNED, "not-removed"] },
  "POST /v1/nodes/{name}/answers": { who: "machine", wakes: true, body: answerBodySchema, reasons: SIGNED },
  "POST /v1/nodes/{name}/upgrade": { who: "machine", wakes: true, body: upgradeSchema, reasons: SIGNED },
  "GET /v1/gateways/{gateway}/nodes/{name}": {
    who: "machine",
    query: connectQuerySchema,
    reasons: ["upgrade-required", "not-found", "try-another", "invalid-query"],
  },
} as const satisfies Record<`${"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} /${string}`, RouteRules>;

/** The name of a route: method and path, as `GET /v1/nodes/{name}`. */
export type RouteName = keyof typeof ROUTES;

type Filled<Path extends string> = Path extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Filled<After>}`
  : Path;

/** The paths of all routes with this method: any text for a part in braces, and a query may follow. */
export type PathOf<Method extends string> = {
  [Name in RouteName]: Name extends `${Method} ${infer Path}`
    ? Filled<Path> | `${Filled<Path>}?${string}`
    : never;
}[RouteName];
