// The operators' routes about actions on many machines: a dry run, its confirmation, how far it is, and its end. GET needs
// the role view, everything else admin.
import { Hono } from "hono";
import type {
  BulkAnswer,
  BulkPlan,
  BulkProgress,
  BulksAnswer,
} from "../../shared/protocol/administration-answers.ts";
import { bulkQuerySchema, bulkRequestSchema } from "../../shared/protocol/administration-api.ts";
import { canonicalJson } from "../../shared/protocol/digest.ts";
import { BULK_LIMITS, PAGE_LIMITS } from "../../shared/protocol/limits.ts";
import { success } from "../../shared/result.ts";
import { fleetIndex, registry } from "../env.ts";
import { digestOf } from "../identity/jwt.ts";
import { operator } from "./operator-access.ts";
import { noQuery, queryOf } from "./queries.ts";
import { type App, invalidBody, json, refuse } from "./responses.ts";

export const bulkRoutes = new Hono<App>();

bulkRoutes.post("/v1/bulk", operator, noQuery, async (c) => {
  const body = bulkRequestSchema.safeParse(await json(c.req.raw));
  if (!body.success) return invalidBody(body.error);
  const { dryRun: _, confirmation, ...asked } = body.data;
  const request = await digestOf(canonicalJson(asked));
  const { who } = c.var.operator;
  if (confirmation !== undefined) {
    const started = await registry(c.env).startBulk({ request, confirmation, who });
    return started.ok
      ? c.json(started.value satisfies BulkProgress, 202)
      : refuse("conflict", { detail: started.error });
  }
  const { action, filter, names = [] } = asked;
  const index = fleetIndex(c.env);
  const found = filter ? await index.standingsOf(filter) : success(await index.standings(names));
  if (!found.ok) return refuse("invalid-body", { detail: found.error, pointer: "/filter/beside" });
  const machines = found.value;
  const length = machines.reduce((sum, { name }) => sum + name.length, 0);
  if (machines.length > BULK_LIMITS.machines || length > BULK_LIMITS.namesLength)
    return refuse("invalid-body", { detail: TOO_MANY, pointer: "/filter" });
  const plan = { action, request, who, machines };
  return c.json((await registry(c.env).planBulk(plan)) satisfies BulkPlan);
});

bulkRoutes.get("/v1/bulk", operator, noQuery, async (c) =>
  c.json({ bulks: await registry(c.env).listBulks(PAGE_LIMITS.entriesByDefault) } satisfies BulksAnswer),
);

bulkRoutes.get("/v1/bulk/:id", operator, async (c) => {
  const query = queryOf(c, bulkQuerySchema);
  if (query instanceof Response) return query;
  const shown = await registry(c.env).showBulk(numberOf(c.req.param("id")), query);
  return shown ? c.json(shown satisfies BulkAnswer) : refuse("not-found");
});

bulkRoutes.delete("/v1/bulk/:id", operator, noQuery, async (c) => {
  const stopped = await registry(c.env).stopBulk(numberOf(c.req.param("id")), c.var.operator.who);
  return stopped.ok ? c.body(null, 204) : refuse("not-found");
});

/** 0: it is none, and nothing has that one. */
const numberOf = (id: string) => (/^\d{1,15}$/.test(id) ? Number(id) : 0);

const TOO_MANY = `More than ${BULK_LIMITS.machines} machines match: narrow the filter.`;
