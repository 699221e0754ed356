// The operators' routes of the rollout: which version of the shim which machines are given.
import { Hono } from "hono";
import type { RolloutAnswer } from "../../shared/protocol/rollout-answers.ts";
import { newRolloutSchema } from "../../shared/protocol/rollout-api.ts";
import { fleetIndex } from "../env.ts";
import { operator } from "./operator-access.ts";
import { noQuery } from "./queries.ts";
import { type App, invalidBody, json, refuse } from "./responses.ts";

export const rolloutRoutes = new Hono<App>();

rolloutRoutes.get("/v1/rollout", operator, noQuery, async (c) =>
  c.json({ rollout: await fleetIndex(c.env).rollout() } satisfies RolloutAnswer),
);

rolloutRoutes.put("/v1/rollout", operator, noQuery, async (c) => {
  const body = newRolloutSchema.safeParse(await json(c.req.raw));
  if (!body.success) return invalidBody(body.error);
  const rollout = await fleetIndex(c.env).putRollout(body.data, c.var.operator.who);
  return c.json({ rollout } satisfies RolloutAnswer);
});

rolloutRoutes.post("/v1/rollout/stop", operator, noQuery, async (c) => {
  const rollout = await fleetIndex(c.env).stopRollout(c.var.operator.who);
  return rollout ? c.json({ rollout } satisfies RolloutAnswer) : refuse("not-found");
});

rolloutRoutes.delete("/v1/rollout", operator, noQuery, async (c) =>
  (await fleetIndex(c.env).endRollout(c.var.operator.who)) ? c.body(null, 204) : refuse("not-found"),
);
