// The routes that say whether the Worker works, and how much it does.
import { readinessQuerySchema } from "../../../shared/protocol/operator-api.ts";
import { readinessSchema } from "../../../shared/protocol/operator-answers.ts";
import { query, type Route, type RouteAnswer } from "../route.ts";

const readinessAnswer = (what: string): RouteAnswer => ({
  what,
  content: { "application/json": { name: "Readiness", schema: readinessSchema }, "text/plain": "text" },
});

export const HEALTH_ROUTES: readonly Route[] = [
  {
    method: "GET",
    path: "/livez",
    id: "getLiveness",
    group: "health",
    who: "anybody",
    what: "Whether the Worker is alive",
    answers: { 200: { what: "`ok`; nothing else is said.", content: { "text/plain": "text" } } },
  },
  {
    method: "GET",
    path: "/readyz",
    id: "getReadiness",
    group: "health",
    who: "view",
    what: "Whether the deployment works, what does not, and what to do about it",
    more: "The apiserver is asked once in 10 s at most, however many ask.",
    query: query(readinessQuerySchema, { verbose: "Whatever it says: lines to read instead of JSON." }),
    answers: { 200: readinessAnswer("No check has failed."), 503: readinessAnswer("A check has failed.") },
  },
  {
    method: "GET",
    path: "/metrics",
    id: "getMetrics",
    group: "health",
    who: "view",
    what: "The fleet in numbers, for Prometheus",
    more: "The scrape secret opens this path as well. OpenMetrics, unless the header Accept takes plain text alone.",
    answers: {
      200: {
        what: "The metrics.",
        content: { "text/plain": "text", "application/openmetrics-text": "text" },
      },
    },
  },
];
