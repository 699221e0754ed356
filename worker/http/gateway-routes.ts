// The sockets' route: it verifies all that a machine says of itself before an object is woken, and passes it to the
// machine's gateway. What goes over the socket is the gateway's.
import { type Context, Hono } from "hono";
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import { connectQuerySchema } from "../../shared/protocol/claims.ts";
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import { gateway, origins, registry } from "../env.ts";
import { GATEWAY_OPENING, type GatewayOpening } from "../gateway/gateway-object.ts";
import { type Connecting, connectTicket, isConnectTicket, isIssuedKid } from "../identity/issued.ts";
import { claimedKid, FOR_ANOTHER_ORIGIN, verifyConnect } from "../identity/jwt.ts";
import { refuseUnconfigured } from "./configured.ts";
import { refuseUnproven } from "./failure-limits.ts";
import { queryOf } from "./queries.ts";
import { type App, bearer, clientAddress, macKeysOf, refuse } from "./responses.ts";
import { currentMs } from "../clock.ts";

export const gatewayRoutes = new Hono<App>();

const PATH = "/v1/gateways/:gateway/nodes/:name";
/** A number has one spelling. Those that nobody has assigned have no ticket. */
const NUMBER = /^[1-9]\d{0,8}$/;

/** What an answer to a report says of the machine's socket. */
export async function socketAt(
  c: Context<App>,
  connecting: Connecting,
): Promise<NonNullable<ReportAnswer["socket"]>> {
  const ticket = await connectTicket(macKeysOf(c), connecting, currentMs());
  const path = `/v1/gateways/${connecting.gateway}/nodes/${connecting.name}`;
  return { path: `${path}?t=${encodeURIComponent(ticket)}`, withinMs: GATEWAY_LIMITS.comeBackMs };
}

gatewayRoutes.get(PATH, async (c) => {
  const opening = await verifiedOpening(c);
  if (opening instanceof Response) return opening;
  const headers = { upgrade: "websocket", [GATEWAY_OPENING]: JSON.stringify(opening) };
  const response = await gateway(c.env, opening.gateway).fetch(new Request(c.req.raw.url, { headers }));
  const { webSocket } = response;
  return webSocket
    ? new Response(null, { status: 101, webSocket })
    : refusedBy(c, opening, await response.text());
});

/** What costs the least is looked at first; of a signature only where this Worker has told its machine to come. */
async function verifiedOpening(c: Context<App, typeof PATH>): Promise<GatewayOpening | Response> {
  const unconfigured = refuseUnconfigured(c);
  if (unconfigured) return unconfigured;
  if (!NUMBER.test(c.req.param("gateway"))) return refuse("not-found");
  const isUpgrade = c.req.raw.method === "GET" && c.req.header("upgrade")?.toLowerCase() === "websocket";
  if (!isUpgrade) return refuse("upgrade-required");
  const query = queryOf(c, connectQuerySchema);
  if (query instanceof Response) return query;
  const { name, path } = { name: c.req.param("name"), path: c.req.path };
  const token = bearer(c.req.header("authorization"));
  const kid = token && claimedKid(token);
  if (!kid || !(await isIssuedKid(macKeysOf(c), name, kid))) return refuseUnproven(c, "unauthenticated");
  const connecting = { name, kid, gateway: Number(c.req.param("gateway")) };
  if (!(await isConnectTicket(macKeysOf(c), connecting, query.t, currentMs())))
    return refuseUnproven(c, "unauthenticated");
  const request = { thumbprint: thumbprintIn(kid), name, path, origins: origins(c.env) };
  const claims = await verifyConnect(token, request);
  if (!claims.ok && claims.error === FOR_ANOTHER_ORIGIN) return refuse("wrong-origin");
  if (!claims.ok) return refuseUnproven(c, "unauthenticated");
  const { session } = claims.value;
  return { ...connecting, session, ticket: query.t, address: clientAddress(c) };
}

/** Of a kid that this Worker issued. */
const thumbprintIn = (kid: string) => kid.split(".")[1] ?? "";

/** The gateway's answer is a text where it takes no socket. */
async function refusedBy(
  c: Context<App>,
  { gateway: from, name, kid }: GatewayOpening,
  text: string,
): Promise<Response> {
  if (text === "used ticket") return refuseUnproven(c, "unauthenticated");
  const [, awaySeconds] = /^sent away (\d+)$/.exec(text) ?? [];
  if (awaySeconds !== undefined) return refuse("rate-limited", { retryAfterSeconds: Number(awaySeconds) });
  if (text !== "full") throw new Error(`gateway ${from} answers: ${text}`);
  const other = await registry(c.env).reassign({ name, thumbprint: thumbprintIn(kid), from });
  if (other !== null && other !== from) await c.env.NODES.getByName(name).assignGateway(other);
  return refuse("try-another", { retryAfterSeconds: 1 });
}
