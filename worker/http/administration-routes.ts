// The operators' routes about operators, revocations, settings and silent machines. GET needs the role view, everything
// else admin.
import { Hono } from "hono";
import { DEFAULTS } from "../../shared/deployment/defaults.ts";
import { settingsInForce } from "../../shared/deployment/settings-in-force.ts";
import type {
  CreatedOperator,
  OperatorsAnswer,
  RevocationsAnswer,
  SettingsAnswer,
  SilentNodesAnswer,
} from "../../shared/protocol/administration-answers.ts";
import {
  newOperatorSchema,
  revocationsQuerySchema,
  silentNodesQuerySchema,
} from "../../shared/protocol/administration-api.ts";
import { fleetIndex, registry, removeSilentNodesDays } from "../env.ts";
import { operator } from "./operator-access.ts";
import { noQuery, queryOf } from "./queries.ts";
import { type App, invalidBody, json, refuse } from "./responses.ts";

export const administrationRoutes = new Hono<App>();

/** By no session: whoever has stolen one could make a secret that is good for a year. */
administrationRoutes.post("/v1/operators", operator, noQuery, async (c) => {
  if (c.var.operator.session) return refuse("forbidden", { detail: SECRET_NEEDED });
  const request = newOperatorSchema.safeParse(await json(c.req.raw));
  if (!request.success) return invalidBody(request.error);
  const created = await registry(c.env).createOperator(request.data, c.var.operator.who);
  return created.ok
    ? c.json(created.value satisfies CreatedOperator, 201)
    : refuse("conflict", { detail: created.error });
});

const SECRET_NEEDED =
  "A session makes no operator, lest somebody outlive it: send a secret as a bearer token, as rollcall operators does.";

administrationRoutes.get("/v1/operators", operator, noQuery, async (c) =>
  c.json({ operators: await registry(c.env).listOperators() } satisfies OperatorsAnswer),
);

administrationRoutes.delete("/v1/operators/:id", operator, noQuery, async (c) => {
  const revoked = await registry(c.env).revokeOperator(c.req.param("id"), c.var.operator.who);
  c.get("isolate").operators.clear();
  return revoked.ok ? c.body(null, 204) : refuse("not-found");
});

administrationRoutes.get("/v1/revocations", operator, async (c) => {
  const query = queryOf(c, revocationsQuerySchema);
  if (query instanceof Response) return query;
  return c.json((await registry(c.env).listRevocations(query)) satisfies RevocationsAnswer);
});

administrationRoutes.get("/v1/settings", operator, noQuery, (c) =>
  c.json({ settings: settingsInForce({ ...c.env }, DEFAULTS) } satisfies SettingsAnswer),
);

administrationRoutes.get("/v1/silent-nodes", operator, async (c) => {
  const query = queryOf(c, silentNodesQuerySchema);
  if (query instanceof Response) return query;
  const silent = await fleetIndex(c.env).silentFor(query.days);
  return c.json({
    nodes: silent.map(({ name, silentSinceMs }) => ({
      name,
      silentSince: new Date(silentSinceMs).toISOString(),
    })),
    removedAfterDays: removeSilentNodesDays(c.env),
  } satisfies SilentNodesAnswer);
});
