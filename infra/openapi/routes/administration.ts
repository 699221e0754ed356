// The routes of operators with names, of refused keys and of what is in force.
import {
  createdOperatorSchema,
  operatorsSchema,
  revocationsSchema,
  settingsSchema,
  silentNodesSchema,
} from "../../../shared/protocol/administration-answers.ts";
import {
  newOperatorSchema,
  revocationsQuerySchema,
  silentNodesQuerySchema,
} from "../../../shared/protocol/administration-api.ts";
import { DONE, json, query, type Route } from "../route.ts";

export const ADMINISTRATION_ROUTES: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/operators",
    id: "createOperator",
    group: "operators",
    who: "admin",
    what: "Make an operator with a name",
    more: "The audit log calls them `operator NAME`. A name can be given again once its operator is revoked or has expired. A session makes none.",
    body: newOperatorSchema,
    answers: {
      201: json("The operator: the only answer with the secret.", "CreatedOperator", createdOperatorSchema),
    },
    refusals: ["conflict"],
  },
  {
    method: "GET",
    path: "/v1/operators",
    id: "listOperators",
    group: "operators",
    who: "view",
    what: "List operators with names",
    answers: { 200: json("All of them, without their secrets, by name.", "Operators", operatorsSchema) },
  },
  {
    method: "DELETE",
    path: "/v1/operators/{id}",
    id: "revokeOperator",
    group: "operators",
    who: "admin",
    what: "Revoke the operator with this name",
    more: "Their secret is refused at once where that was asked for, and within 10 seconds everywhere.",
    answers: DONE,
    refusals: ["not-found"],
  },
  {
    method: "GET",
    path: "/v1/revocations",
    id: "listRevocations",
    group: "tokens",
    who: "view",
    what: "List the keys that are refused for ever, newest first",
    query: query(revocationsQuerySchema, {
      after: "The `next` of the page before.",
      limit: "How many entries: 1 to 1,000; 100 where it is absent.",
    }),
    answers: { 200: json("A page.", "Revocations", revocationsSchema) },
  },
  {
    method: "GET",
    path: "/v1/settings",
    id: "getSettings",
    group: "deployment",
    who: "view",
    what: "The settings in force",
    more: "Of secrets only whether they are there.",
    answers: { 200: json("Each with where it comes from.", "Settings", settingsSchema) },
  },
  {
    method: "GET",
    path: "/v1/silent-nodes",
    id: "listSilentNodes",
    group: "fleet",
    who: "view",
    what: "The Nodes of machines that have been silent for so many days",
    more: "Whom the variable REMOVE_SILENT_NODES_DAYS would touch: at most 10,000, the longest silence first.",
    query: query(silentNodesQuerySchema, { days: "1 to 3,650." }),
    answers: { 200: json("All of them.", "SilentNodes", silentNodesSchema) },
  },
];
