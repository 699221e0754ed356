// The routes of actions on many machines.
import {
  bulkPlanSchema,
  bulkSchema,
  bulksSchema,
  startedBulkSchema,
} from "../../../shared/protocol/administration-answers.ts";
import { bulkQuerySchema, bulkRequestSchema } from "../../../shared/protocol/administration-api.ts";
import { DONE, json, query, type Route } from "../route.ts";

export const BULK_ROUTES: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/bulk",
    id: "actOnMany",
    group: "bulk",
    who: "admin",
    what: "Act on many machines: a dry run, or its confirmation",
    more:
      "With `dryRun` nothing changes. The same body with the answer's `confirmation` in its place executes that list, " +
      "in the background; a confirmation is good once, for ten minutes, for the same operator.",
    body: bulkRequestSchema,
    answers: {
      200: json("Of a dry run: whom it would touch.", "BulkPlan", bulkPlanSchema),
      202: json("Of a confirmation: it has begun.", "StartedBulk", startedBulkSchema),
    },
    refusals: ["conflict"],
  },
  {
    method: "GET",
    path: "/v1/bulk",
    id: "listBulks",
    group: "bulk",
    who: "view",
    what: "The latest 100 actions on many machines, newest first",
    answers: { 200: json("Each with how far it is.", "Bulks", bulksSchema) },
  },
  {
    method: "GET",
    path: "/v1/bulk/{id}",
    id: "getBulk",
    group: "bulk",
    who: "view",
    what: "How far an action on many machines is",
    query: query(bulkQuerySchema, {
      after: "Only failures of names that sort behind this one: the next page.",
      limit: "How many failures: 1 to 1,000; 100 where it is absent.",
    }),
    answers: { 200: json("With a page of what failed, by name.", "Bulk", bulkSchema) },
    refusals: ["not-found"],
  },
  {
    method: "DELETE",
    path: "/v1/bulk/{id}",
    id: "stopBulk",
    group: "bulk",
    who: "admin",
    what: "Stop an action on many machines",
    more: "What has begun ends, nothing else begins.",
    answers: DONE,
    refusals: ["not-found"],
  },
];
