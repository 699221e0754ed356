// The operators' routes about the fleet index itself: what state it is in, and its repair; and the versions that it counts.
import { Hono } from "hono";
import type { IndexState } from "../../shared/protocol/index-answers.ts";
import type { VersionsAnswer } from "../../shared/protocol/version-answers.ts";
import { fleetIndex, registry } from "../env.ts";
import { operator } from "./operator-access.ts";
import { noQuery } from "./queries.ts";
import type { App } from "./responses.ts";

export const indexRoutes = new Hono<App>();

indexRoutes.get("/v1/index", operator, noQuery, async (c) =>
  c.json((await fleetIndex(c.env).state()) satisfies IndexState),
);

indexRoutes.get("/v1/versions", operator, noQuery, async (c) =>
  c.json((await fleetIndex(c.env).versions()) satisfies VersionsAnswer),
);

/** It can be repeated: a repair that is under way goes on. */
indexRoutes.post("/v1/index/repair", operator, noQuery, async (c) => {
  const { who } = c.var.operator;
  await registry(c.env).noteChange({ who, what: "index.repair", target: "index" });
  return c.json((await fleetIndex(c.env).repair(who)) satisfies IndexState, 202);
});
