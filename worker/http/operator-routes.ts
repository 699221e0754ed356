// The operators' routes: tokens, pending machines, actions on a machine, the audit log. GET needs the role view,
// everything else admin.
import { Hono } from "hono";
import { tokenRequestSchema } from "../../shared/protocol/join-tokens.ts";
import type {
  AuditAnswer,
  ClusterHistoryAnswer,
  HistoryAnswer,
  ListedSenders,
  ListedToken,
  MintedToken,
  OriginMachine,
  OriginMachinesAnswer,
  OriginsAnswer,
  OriginUse,
  PendingAnswer,
  PendingMachine,
  WholeNode,
  TokensAnswer,
} from "../../shared/protocol/operator-answers.ts";
import {
  auditQuerySchema,
  clusterHistoryQuerySchema,
  historyQuerySchema,
  nodeChangeSchema,
  originMachinesQuerySchema,
  thumbprintSchema,
} from "../../shared/protocol/operator-api.ts";
import { wholeListSchema } from "../../shared/protocol/parameters.ts";
import { clusterObject, type Environment, fleetIndex, registry } from "../env.ts";
import { entryList, pagedList, type PageOfEntries, wholeList } from "./lists.ts";
import { operator } from "./operator-access.ts";
import { noQuery, queryOf } from "./queries.ts";
import { answered, type App, forget, invalidBody, json, refuse } from "./responses.ts";
import { shownMachine } from "../fleet/shown-machine.ts";
import type { NodeObject } from "../machine/node-object.ts";

export const operatorRoutes = new Hono<App>();

const TOKEN_COLUMNS = [
  "id",
  "names",
  "rejoin",
  "uses",
  "used",
  "reserved",
  "state",
  "createdAt",
  "createdBy",
  "expiresAt",
  "revokedAt",
] as const;
const PENDING_COLUMNS = [
  "name",
  "thumbprint",
  "token",
  "machineID",
  "systemUUID",
  "address",
  "askedAt",
] as const;
const ORIGIN_COLUMNS = ["origin", "isConfigured", "lastUsedAt", "machines"] as const;

operatorRoutes.post("/v1/tokens", operator, noQuery, async (c) => {
  const request = tokenRequestSchema.safeParse(await json(c.req.raw));
  if (!request.success) return invalidBody(request.error);
  return c.json(
    (await registry(c.env).mintToken(request.data, c.var.operator.who)) satisfies MintedToken,
    201,
  );
});

operatorRoutes.get("/v1/tokens", operator, async (c) => {
  const query = queryOf(c, wholeListSchema);
  if (query instanceof Response) return query;
  const { tokens } = { tokens: await registry(c.env).listTokens() } satisfies TokensAnswer;
  return wholeList<ListedToken>(c, query.format, "tokens", tokens, TOKEN_COLUMNS);
});

operatorRoutes.delete("/v1/tokens/:id", operator, noQuery, async (c) => {
  const revoked = await registry(c.env).revokeToken(c.req.param("id"), c.var.operator.who);
  return revoked.ok ? c.body(null, 204) : refuse("not-found");
});

operatorRoutes.get("/v1/pending", operator, async (c) => {
  const query = queryOf(c, wholeListSchema);
  if (query instanceof Response) return query;
  const { pending } = { pending: await registry(c.env).listPending() } satisfies PendingAnswer;
  return wholeList<PendingMachine>(c, query.format, "pending", pending, PENDING_COLUMNS);
});

operatorRoutes.get("/v1/audit", operator, async (c) => {
  const query = queryOf(c, auditQuerySchema);
  if (query instanceof Response) return query;
  const read = (page: PageOfEntries) => registry(c.env).audit({ ...query, ...page });
  return entryList<AuditAnswer["entries"][number]>(
    c,
    query,
    ["id", "at", "who", "what", "target", "detail"],
    read,
  );
});

operatorRoutes.get("/v1/cluster/history", operator, async (c) => {
  const query = queryOf(c, clusterHistoryQuerySchema);
  if (query instanceof Response) return query;
  const read = (page: PageOfEntries) => clusterObject(c.env).history(page);
  return entryList<ClusterHistoryAnswer["entries"][number]>(c, query, ["id", "at", "text"], read);
});

operatorRoutes.get("/v1/origins", operator, async (c) => {
  const query = queryOf(c, wholeListSchema);
  if (query instanceof Response) return query;
  const { origins } = { origins: await registry(c.env).listOrigins() } satisfies OriginsAnswer;
  return wholeList<OriginUse>(c, query.format, "origins", origins, ORIGIN_COLUMNS);
});

operatorRoutes.get("/v1/origins/machines", operator, async (c) => {
  const query = queryOf(c, originMachinesQuerySchema);
  if (query instanceof Response) return query;
  const columns = ["name", "lastUsedAt"] as const;
  return pagedList<OriginMachine, string>(c, query, columns, async (limit, after = query.after) => {
    const machines = await registry(c.env).listOriginMachines({ ...query, after, limit });
    const body = { machines } satisfies OriginMachinesAnswer;
    return { rows: machines, body, next: machines.length < limit ? null : (machines.at(-1)?.name ?? null) };
  });
});

/** The one route that wakes a machine's object to look at it. */
operatorRoutes.get("/v1/nodes/:name", operator, noQuery, async (c) => {
  const name = c.req.param("name");
  const node = await knownNode(c.env, name);
  if (!node) return refuse("not-found");
  const [shown, summary] = await Promise.all([node.show(), fleetIndex(c.env).summary(name)]);
  if (!shown) return refuse("not-found");
  const known = summary && shownMachine({ id: name, summary });
  return c.json({ ...shown, summary: known } satisfies WholeNode, 200, { "rollcall-woken": name });
});

operatorRoutes.get("/v1/nodes/:name/history", operator, async (c) => {
  const query = queryOf(c, historyQuerySchema);
  if (query instanceof Response) return query;
  const node = await knownNode(c.env, c.req.param("name"));
  if (!node) return refuse("not-found");
  const read = (page: PageOfEntries) => node.history({ ...query, ...page });
  return entryList<HistoryAnswer["entries"][number]>(c, query, ["id", "at", "kind", "text"], read);
});

operatorRoutes.post("/v1/nodes/:name/register", operator, noQuery, async (c) => {
  const name = c.req.param("name");
  const record = { who: c.var.operator.who, what: "node.register", target: name } as const;
  if (!(await registry(c.env).noteAbout(record)).ok) return refuse("not-found");
  return (await c.env.NODES.getByName(name).registerAgain()) ? c.body(null, 204) : refuse("not-found");
});

operatorRoutes.get("/v1/nodes/:name/clones", operator, noQuery, async (c) => {
  const node = await knownNode(c.env, c.req.param("name"));
  return node ? c.json((await node.clones()) satisfies ListedSenders) : refuse("not-found");
});

operatorRoutes.post("/v1/nodes/:name/believe", operator, noQuery, async (c) => {
  const name = c.req.param("name");
  const node = await knownNode(c.env, name);
  if (!node) return refuse("not-found");
  if ((await node.clones()).double === null) return refuse("one-sender");
  // What ends is in the audit log before it does.
  const record = { who: c.var.operator.who, what: "node.believe", target: name } as const;
  if (!(await registry(c.env).noteAbout(record)).ok) return refuse("not-found");
  return (await node.believe()) ? c.body(null, 204) : refuse("one-sender");
});

operatorRoutes.post("/v1/nodes/:name/approve", operator, noQuery, async (c) => {
  const body = thumbprintSchema.safeParse(await json(c.req.raw));
  if (!body.success) return invalidBody(body.error);
  const name = c.req.param("name");
  const approved = await registry(c.env).approve(name, body.data.thumbprint, c.var.operator.who);
  if (!approved.ok) return refuse("not-found");
  // The machine that had the name loses it now, not only when the new one enrols.
  await c.env.NODES.getByName(name).enrol(approved.value);
  return c.body(null, 204);
});

operatorRoutes.post("/v1/nodes/:name/reject", operator, noQuery, async (c) => {
  const body = thumbprintSchema.safeParse(await json(c.req.raw));
  if (!body.success) return invalidBody(body.error);
  const rejected = await registry(c.env).reject(
    c.req.param("name"),
    body.data.thumbprint,
    c.var.operator.who,
  );
  return rejected.ok ? c.body(null, 204) : refuse("not-found");
});

/** Like a removal, it can be repeated: the first request may not have reached the machine's object. */
operatorRoutes.post("/v1/nodes/:name/revoke", operator, noQuery, async (c) => {
  const name = c.req.param("name");
  const unpinned = await registry(c.env).unpin(name, "machine.revoke", c.var.operator.who);
  if (!unpinned.ok) return refuse("not-found");
  await c.env.NODES.getByName(name).revoke(unpinned.value);
  return c.body(null, 204);
});

operatorRoutes.patch("/v1/nodes/:name", operator, noQuery, async (c) => {
  const body = nodeChangeSchema.safeParse(await json(c.req.raw));
  if (!body.success) return invalidBody(body.error);
  const name = c.req.param("name");
  const { runtime } = body.data;
  const what = { what: "node.set", target: name, detail: `runtime ${runtime}` } as const;
  if (!(await registry(c.env).noteAbout({ who: c.var.operator.who, ...what })).ok) return refuse("not-found");
  return (await c.env.NODES.getByName(name).setNeededRuntime(runtime))
    ? c.body(null, 204)
    : refuse("not-found");
});

/** It can be repeated, and then completes what the first request did not. */
operatorRoutes.delete("/v1/nodes/:name", operator, noQuery, async (c) => {
  const name = c.req.param("name");
  if (!(await registry(c.env).knew(name))) return refuse("not-found");
  const node = c.env.NODES.getByName(name);
  const answer = await node.remove(name, c.var.operator.who);
  if (!answer.ok) return answered(c, answer);
  await forget(node);
  return c.body(null, 204);
});

/** The object of a machine with this name, or null: an object without a machine is not woken. */
async function knownNode(env: Environment, name: string): Promise<DurableObjectStub<NodeObject> | null> {
  return (await registry(env).knows(name)) ? env.NODES.getByName(name) : null;
}
