// The route of one machine's timeline: which range of time is asked for. It wakes that machine's object, and no other.
import { Hono } from "hono";
import { TIMELINE_LIMITS } from "../../shared/protocol/limits.ts";
import { timelineQuerySchema } from "../../shared/protocol/operator-api.ts";
import type { TimelineAnswer } from "../../shared/protocol/timeline.ts";
import { registry } from "../env.ts";
import { operator } from "./operator-access.ts";
import { queryOf } from "./queries.ts";
import { type App, refuse } from "./responses.ts";
import { currentMs } from "../clock.ts";

export const timelineRoute = new Hono<App>();

const DAY_MS = 24 * 3600 * 1000;

timelineRoute.get("/v1/nodes/:name/timeline", operator, async (c) => {
  const query = queryOf(c, timelineQuerySchema);
  if (query instanceof Response) return query;
  const nowMs = currentMs();
  const { until: untilMs = nowMs } = query;
  const { since: sinceMs = untilMs - DAY_MS } = query;
  if (untilMs > nowMs) return invalid("until", "expected a time that has come");
  if (sinceMs >= untilMs) return invalid("since", "expected a time before until");
  if (untilMs - sinceMs > TIMELINE_LIMITS.days * DAY_MS)
    return invalid("since", `expected at most ${TIMELINE_LIMITS.days} days before until`);
  const name = c.req.param("name");
  // An object without a machine is not woken.
  if (!(await registry(c.env).knows(name))) return refuse("not-found");
  const timeline = await c.env.NODES.getByName(name).timeline({ sinceMs, untilMs });
  if (!timeline) return refuse("not-found");
  return c.json(timeline satisfies TimelineAnswer, 200, { "rollcall-woken": name });
});

const invalid = (parameter: string, detail: string) => refuse("invalid-query", { detail, parameter });
