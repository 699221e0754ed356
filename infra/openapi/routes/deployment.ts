// The operators' routes about the deployment: the audit log, its origins, the watch of its Nodes.
import {
  auditQuerySchema,
  clusterHistoryQuerySchema,
  originMachinesQuerySchema,
} from "../../../shared/protocol/operator-api.ts";
import {
  auditSchema,
  clusterHistorySchema,
  originMachinesSchema,
  originsSchema,
} from "../../../shared/protocol/operator-answers.ts";
import { json, query, type Route } from "../route.ts";

const limit = "How many entries.";
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
      limit,
    }),
    answers: { 200: json("A page.", "Audit", auditSchema) },
  },
  {
    method: "GET",
    path: "/v1/cluster/history",
    id: "getClusterHistory",
    group: "deployment",
    who: "view",
    what: "When the Nodes were not watched, and why; newest first",
    query: query(clusterHistoryQuerySchema, { before, limit }),
    answers: { 200: json("A page.", "ClusterHistory", clusterHistorySchema) },
  },
  {
    method: "GET",
    path: "/v1/origins",
    id: "listOrigins",
    group: "deployment",
    who: "view",
    what: "List the origins by which machines reach the Worker, the configured ones first",
    answers: { 200: json("All of them.", "Origins", originsSchema) },
  },
  {
    method: "GET",
    path: "/v1/origins/machines",
    id: "listOriginMachines",
    group: "deployment",
    who: "view",
    what: "List the machines that used an origin last, by name",
    query: query(originMachinesQuerySchema, {
      origin: "The origin.",
      after: "Only names that sort behind this one: the next page.",
      limit,
    }),
    answers: { 200: json("A page.", "OriginMachines", originMachinesSchema) },
  },
];
