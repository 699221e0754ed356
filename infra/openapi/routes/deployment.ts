// The operators' routes about the deployment: the audit log, its origins, the watch of its Nodes.
import {
  auditQuerySchema,
  clusterHistoryQuerySchema,
  originMachinesQuerySchema,
} from "../../../shared/protocol/operator-api.ts";
import { indexStateSchema } from "../../../shared/protocol/index-answers.ts";
import {
  backupAnswerSchema,
  backupPageSchema,
  backupQuerySchema,
  importStateSchema,
} from "../../../shared/protocol/backup.ts";
import { wholeListSchema } from "../../../shared/protocol/parameters.ts";
import {
  auditSchema,
  clusterHistorySchema,
  originMachinesSchema,
  originsSchema,
} from "../../../shared/protocol/operator-answers.ts";
import { FORMAT, LINES, list, LISTED } from "../lists.ts";
import { DONE, json, query, type Route } from "../route.ts";

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
    path: "/v1/backup",
    id: "getBackup",
    group: "deployment",
    who: "admin",
    what: "A page of a backup: keys, join tokens, operators, the audit log, notifications",
    more: "Without secrets: receivers' are encrypted under KID_MAC_KEYS. Each page has a MAC by these keys.",
    query: query(backupQuerySchema, { after: "The `next` of the page before; absent: a new backup begins." }),
    answers: { 200: json("A page.", "BackupAnswer", backupAnswerSchema) },
  },
  {
    method: "GET",
    path: "/v1/imports",
    id: "getImport",
    group: "deployment",
    who: "view",
    what: "Show what was imported last, and which machines have not reported since",
    answers: { 200: json("How far it is.", "ImportState", importStateSchema) },
  },
  {
    method: "POST",
    path: "/v1/imports",
    id: "importPage",
    group: "deployment",
    who: "admin",
    what: "Import the next page of a backup; the last one makes all of them count",
    more: "Only into a deployment without machines, of the same DEPLOYMENT and with the backup's KID_MAC_KEYS. Repeatable.",
    body: backupPageSchema,
    answers: { 200: json("How far it is.", "ImportState", importStateSchema) },
    refusals: ["conflict"],
  },
  {
    method: "DELETE",
    path: "/v1/imports",
    id: "abandonImport",
    group: "deployment",
    who: "admin",
    what: "End an import that is under way; nothing of it is kept",
    answers: DONE,
    refusals: ["not-found"],
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
