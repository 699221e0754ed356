// The operators' routes about what happens: outages, and the feed. None of them wakes a machine's object.
import { feedQuerySchema, feedTicketSchema } from "../../../shared/protocol/feed.ts";
import {
  outageQuerySchema,
  outageSchema,
  outagesQuerySchema,
  outagesSchema,
} from "../../../shared/protocol/outages.ts";
import { LINES, list, LISTED } from "../lists.ts";
import { json, query, type Route } from "../route.ts";

const LIMIT = "How many entries: 1 to 1,000; 100 where it is absent.";

export const LIVE_ROUTES: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/outages",
    id: "listOutages",
    group: "fleet",
    who: "view",
    what: "List outages: machines of one network that fell silent together; open ones first, then the latest",
    more: LINES,
    query: query(outagesQuerySchema, {
      since: "That were not over by this time (RFC 3339).",
      until: "That had begun before this time.",
      before: "The `next` of the page before.",
      ...LISTED,
    }),
    answers: { 200: list("A page.", "Outages", outagesSchema) },
  },
  {
    method: "GET",
    path: "/v1/outages/{id}",
    id: "getOutage",
    group: "fleet",
    who: "view",
    what: "Show an outage with its machines, by name",
    query: query(outageQuerySchema, {
      after: "Only names that sort behind this one: the next page.",
      limit: LIMIT,
    }),
    answers: { 200: json("The outage.", "Outage", outageSchema) },
    refusals: ["not-found"],
  },
  {
    method: "GET",
    path: "/v1/feed",
    id: "openFeed",
    group: "fleet",
    who: "view",
    what: "Follow the fleet over a WebSocket: all machines, then each change within a second",
    more: "What goes over it, docs/feed.md says. A ticket lets in as well.",
    query: query(feedQuerySchema, { cursor: "The last one that the client has acted on." }),
    answers: { 101: { what: "The WebSocket." } },
    refusals: ["upgrade-required"],
  },
  {
    method: "POST",
    path: "/v1/feed/tickets",
    id: "makeFeedTicket",
    group: "fleet",
    who: "view",
    what: "Get a ticket that opens one feed within 30 seconds, for browsers, which send no header with a WebSocket",
    answers: { 201: json("The ticket.", "FeedTicket", feedTicketSchema) },
  },
];
