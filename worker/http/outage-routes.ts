// Outages, as the fleet index has them: no machine's object is asked.
import { Hono } from "hono";
import {
  type Outage,
  type OutageAnswer,
  outageIdSchema,
  outageQuerySchema,
  type OutagesAnswer,
  outagesQuerySchema,
} from "../../shared/protocol/outages.ts";
import { fleetIndex } from "../env.ts";
import { pagedList } from "./lists.ts";
import { operator } from "./operator-access.ts";
import { queryOf } from "./queries.ts";
import { type App, refuse } from "./responses.ts";

export const outageRoutes = new Hono<App>();

const COLUMNS = ["id", "network", "startedAt", "endedAt", "machines", "silent", "was", "names"] as const;

outageRoutes.get("/v1/outages", operator, async (c) => {
  const query = queryOf(c, outagesQuerySchema);
  if (query instanceof Response) return query;
  const { format: _, limit: __, ...wanted } = query;
  return pagedList<Outage, string>(c, query, COLUMNS, async (limit, before = wanted.before) => {
    const body = (await fleetIndex(c.env).outages({ ...wanted, before, limit })) satisfies OutagesAnswer;
    return { rows: body.outages, body, next: body.next };
  });
});

outageRoutes.get("/v1/outages/:id", operator, async (c) => {
  const query = queryOf(c, outageQuerySchema);
  if (query instanceof Response) return query;
  const id = outageIdSchema.safeParse(c.req.param("id"));
  const outage = id.success ? await fleetIndex(c.env).outage(id.data, query) : null;
  return outage ? c.json(outage satisfies OutageAnswer) : refuse("not-found");
});
