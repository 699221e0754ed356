// The operators' routes about the deployment: the audit log, its origins, the watch of its Nodes.
import {
  auditQuerySchema,
  clusterHistoryQuerySchema,
  originMachinesQuerySchema,
} from "../../../shared/protocol/operator-api.ts";
import { indexStateSchema } from "../../../shared/protocol/index-answers.ts";
import { wholeListSchema } from "../../../shared/protocol/parameters.ts";
import {
  auditSchema,
  clusterHistorySchema,
  originMachinesSchema,
  originsSchema,
} from "../../../shared/protocol/operator-answers.ts";
import { FORMAT, LINES, list, LISTED } from "../lists.ts";
import { json, query, type Route } from "../route.ts";

const before = "Only what came before the entry of this ID: the next page.";

export const DEPLOYMENT_ROUTES: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/audit",
    id: "getAudit",
    group: "deployment",
    who: "view",
    what: "Who did what to whom, newest first",
    query: query(auditQuerySchema, {
      by: "What operators did, what machines caused, or which enrolments were refused: three logs, each with IDs of its own.",
      target: "Only what was done to this Node or token.",
      before,
      ...LISTED,
    }),
    answers: { 200: list("A page.", "Audit", auditSchema) },
  },
  {
    method: "GET",
    path: "/v1/index",
    id: "getIndex",
    group: "deployment",
    who: "view",
    what: "Show the state of the fleet index itself: its last repair, its last daily check, its log",
    answers: { 200: json("The state.", "IndexState", indexStateSchema) },
  },
  {
    method: "POST",
    path: "/v1/index/repair",
    id: "repairIndex",
    group: "deployment",
    who: "admin",
    what: "Have all machines' objects tell the fleet index everything again",
    more: "Fifty a second are asked. A repair that is under way goes on.",
    wakes: true,
    answers: { 202: json("It is under way.", "IndexState", indexStateSchema) },
  },
  {
    method: "GET",
    path: "/v1/cluster/history",
    id: "getClusterHistory",
    group: "deployment",
    who: "view",
    what: "When the Nodes were not watched, and why; newest first",
    query: query(clusterHistoryQuerySchema, { before, ...LISTED }),
    answers: { 200: list("A page.", "ClusterHistory", clusterHistorySchema) },
  },
  {
    method: "GET",
    path: "/v1/origins",
    id: "listOrigins",
    group: "deployment",
    who: "view",
    what: "List the origins by which machines reach the Worker, the configured ones first",
    query: query(wholeListSchema, FORMAT),
    answers: { 200: list("All of them.", "Origins", originsSchema) },
  },
  {
    method: "GET",
    path: "/v1/origins/machines",
    id: "listOriginMachines",
    group: "deployment",
    who: "view",
    what: "List the machines that used an origin last, by name",
    more: LINES,
    query: query(originMachinesQuerySchema, {
      origin: "The origin.",
      after: "Only names that sort behind this one: the next page.",
      ...LISTED,
    }),
    answers: { 200: list("A page.", "OriginMachines", originMachinesSchema) },
  },
];
