// Serves the feed: a WebSocket to the fleet index, and tickets for clients that cannot send a header with a WebSocket.
import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { createMiddleware } from "hono/factory";
import { FEED_PROTOCOL, TICKET_PROTOCOL } from "../../shared/protocol/feed-names.ts";
import { type FeedTicket } from "../../shared/protocol/feed.ts";
import { FEED_LIMITS } from "../../shared/protocol/limits.ts";
import { fleetIndex, registry } from "../env.ts";
import {
  FEED_OPENING,
  type FeedHolder,
  type FeedOpening,
  type FeedRefusal,
  isTicket,
} from "../fleet/feed.ts";
import { credentialOf } from "../identity/operator.ts";
import { refuseEarly, refuseUnproven } from "./failure-limits.ts";
import { viewer } from "./operator-access.ts";
import { serve } from "./route.ts";
import { type App, bearer, isUpgrade, refuse, refuseForNow } from "./responses.ts";

export const feedRoutes = new Hono<App>();

/** Admits an operator, or a request with a ticket, which the index checks. An address above the limit must wait. */
const operatorOrTicket = createMiddleware<App>(async (c, next) => {
  const ticket = ticketOf(c);
  if (ticket === null) return viewer(c, next);
  const early = refuseEarly(c);
  if (early) return early;
  if (!isTicket(ticket)) return refuseUnproven(c, "forbidden");
  await next();
  return undefined;
});

serve(feedRoutes, "POST /v1/feed/tickets", async (c) => {
  const holder = await holderOf(c);
  const index = fleetIndex(c.env);
  const minted = await (holder.selector === undefined
    ? index.feedTicket(holder)
    : index.ticketWithin(holder));
  if (!minted) {
    const { tickets, ticketsOfOperator, ticketSeconds } = FEED_LIMITS;
    const detail = `At most ${tickets} tickets are out at once, and ${ticketsOfOperator} of one operator.`;
    return refuseForNow(detail, ticketSeconds);
  }
  const { ticket, endsMs } = minted;
  return c.json({ ticket, expiresAt: new Date(endsMs).toISOString() } satisfies FeedTicket, 201);
});

serve(
  feedRoutes,
  "GET /v1/feed",
  async (c, { query }) => {
    if (!isUpgrade(c)) return refuse("upgrade-required");
    const ticket = ticketOf(c);
    const by = ticket === null ? openingBy(await holderOf(c)) : { ticket };
    const opening: FeedOpening = { by, cursor: query.cursor ?? null };
    const headers = { upgrade: "websocket", [FEED_OPENING]: JSON.stringify(opening) };
    const response = await fleetIndex(c.env).fetch(new Request(c.req.raw.url, { headers }));
    const { webSocket } = response;
    if (!webSocket) return refused(c, (await response.text()) as FeedRefusal);
    // The registry drops machines that waited for a day, without notice to the index: each new feed requests the list.
    c.executionCtx.waitUntil(registry(c.env).tellPending());
    const isNamed = protocolsOf(c).includes(FEED_PROTOCOL);
    const answer = isNamed ? { "sec-websocket-protocol": FEED_PROTOCOL } : {};
    return new Response(null, { status: 101, webSocket, headers: answer });
  },
  { access: operatorOrTicket },
);

function refused(c: Context<App>, refusal: FeedRefusal): Response | Promise<Response> {
  if (refusal === "bad ticket") return refuseUnproven(c, "forbidden");
  const { feeds, feedsOfOperator } = FEED_LIMITS;
  return refuseForNow(`At most ${feeds} feeds are open at once, and ${feedsOfOperator} of one operator.`, 60);
}

const openingBy = (holder: FeedHolder): FeedOpening["by"] =>
  holder.selector === undefined ? holder : { ticket: "", holder };

async function holderOf(c: Context<App>): Promise<FeedHolder> {
  const { who, session, selectorText: selector } = c.var.operator;
  const own = { who, ...(selector !== undefined && { selector }) };
  if (session) return { ...own, credential: { session: session.id }, endsMs: session.expiresAtMs };
  const secret = bearer(c.req.header("authorization"));
  const credential = await credentialOf(secret, c.req.header("cf-access-jwt-assertion") ?? "");
  return { ...own, credential };
}

function ticketOf(c: Context<App>): string | null {
  const found = protocolsOf(c).find((each) => each.startsWith(TICKET_PROTOCOL));
  return found?.slice(TICKET_PROTOCOL.length) ?? null;
}

function protocolsOf(c: Context<App>): string[] {
  return (c.req.header("sec-websocket-protocol") ?? "").split(",").map((each) => each.trim());
}
