// Serves the operators' routes about one machine, whose object is woken, and about one action on many machines.
import type { Context } from "hono";
import { Hono } from "hono/tiny";
import type { MachineFilter } from "../../shared/fleet/search-filter.ts";
import type { LabelRequirement } from "../../shared/kubernetes/label-selector.ts";
import type {
  BulkAnswer,
  BulkPlan,
  BulkProgress,
  BulksAnswer,
} from "../../shared/protocol/administration-answers.ts";
import type { MaintenanceOrder } from "../../shared/node/maintenance.ts";
import { canonicalJson } from "../../shared/protocol/digest.ts";
import {
  BULK_LIMITS,
  MAINTENANCE_LIMITS,
  PAGE_LIMITS,
  TIMELINE_LIMITS,
} from "../../shared/protocol/limits.ts";
import type {
  HistoryAnswer,
  ListedSenders,
  OrderedClearing,
  WholeNode,
} from "../../shared/protocol/operator-answers.ts";
import type { NodeChange } from "../../shared/protocol/operator-api.ts";
import type { TimelineAnswer } from "../../shared/protocol/timeline.ts";
import { success } from "../../shared/result.ts";
import { currentMs } from "../clock.ts";
import { type Environment, fleetIndex, registry } from "../env.ts";
import { shownMachine } from "../fleet/shown-machine.ts";
import { digestOf } from "../identity/jwt.ts";
import type { NodeObject } from "../machine/node-object.ts";
import { entryList, type PageOfEntries } from "./lists.ts";
import { matchingRows, namesWithin } from "./operator-access.ts";
import { serve } from "./route.ts";
import { answered, type App, done, forget, refuse, refuseParameter, unlessForgotten } from "./responses.ts";

export const nodeRoutes = new Hono<App>();

/** Returns a machine's state. Wakes the machine's object. */
serve(nodeRoutes, "GET /v1/nodes/{name}", async (c) => {
  const name = c.req.param("name");
  const node = await knownNode(c.env, name);
  if (!node) return refuse("not-found");
  const [shown, summary] = await Promise.all([node.show(), fleetIndex(c.env).summary(name)]);
  if (!shown) return refuse("not-found");
  const known = summary && shownMachine({ id: name, summary });
  return c.json({ ...shown, summary: known } satisfies WholeNode, 200, { "rollcall-woken": name });
});

serve(nodeRoutes, "GET /v1/nodes/{name}/history", async (c, { query }) => {
  const node = await knownNode(c.env, c.req.param("name"));
  if (!node) return refuse("not-found");
  const read = (page: PageOfEntries) => node.history({ ...query, ...page });
  return entryList<HistoryAnswer["entries"][number]>(c, query, ["id", "at", "kind", "text"], read);
});

serve(nodeRoutes, "POST /v1/nodes/{name}/register", async (c) => {
  const name = c.req.param("name");
  const record = { who: c.var.operator.who, what: "node.register", target: name } as const;
  if (!(await registry(c.env).noteAbout(record)).ok) return refuse("not-found");
  return done(c, await c.env.NODES.getByName(name).registerAgain());
});

serve(nodeRoutes, "GET /v1/nodes/{name}/clones", async (c) => {
  const node = await knownNode(c.env, c.req.param("name"));
  return node ? c.json((await node.clones()) satisfies ListedSenders) : refuse("not-found");
});

serve(nodeRoutes, "POST /v1/nodes/{name}/believe", async (c) => {
  const name = c.req.param("name");
  const node = await knownNode(c.env, name);
  if (!node) return refuse("not-found");
  if ((await node.clones()).double === null) return refuse("one-sender");
  // The audit log records an action before the action is executed.
  const record = { who: c.var.operator.who, what: "node.believe", target: name } as const;
  if (!(await registry(c.env).noteAbout(record)).ok) return refuse("not-found");
  return (await node.believe()) ? c.body(null, 204) : refuse("one-sender");
});

serve(nodeRoutes, "POST /v1/nodes/{name}/clear", async (c, { body: { condition, withdraw } }) => {
  const name = c.req.param("name");
  const node = await knownNode(c.env, name);
  const refused = await node?.clear(condition, true, withdraw);
  if (!node || !refused) return refuse("not-found");
  if (!refused.ok) return refuse("conflict", { detail: refused.error });
  const detail = withdraw ? `${condition}: withdrawn` : condition;
  const record = { who: c.var.operator.who, what: "node.clear", target: name, detail } as const;
  if (!(await registry(c.env).noteAbout(record)).ok) return refuse("not-found");
  const ordered = await node.clear(condition, false, withdraw);
  if (!ordered) return refuse("not-found");
  return ordered.ok
    ? c.json(ordered.value satisfies OrderedClearing, 202)
    : refuse("conflict", { detail: ordered.error });
});

serve(nodeRoutes, "POST /v1/nodes/{name}/approve", async (c, { body }) => {
  const name = c.req.param("name");
  const approved = await registry(c.env).approve(name, body.thumbprint, c.var.operator.who);
  if (!approved.ok) return refuse("not-found");
  // The machine that had the name loses the name now, before the new machine enrols.
  await c.env.NODES.getByName(name).enrol(approved.value);
  return c.body(null, 204);
});

serve(nodeRoutes, "POST /v1/nodes/{name}/reject", async (c, { body }) => {
  const rejected = await registry(c.env).reject(c.req.param("name"), body.thumbprint, c.var.operator.who);
  return done(c, rejected.ok);
});

/** Revokes a machine. Safe to repeat, since the first request may not have reached the machine's object. */
serve(nodeRoutes, "POST /v1/nodes/{name}/revoke", async (c) => {
  const name = c.req.param("name");
  const unpinned = await registry(c.env).unpin(name, "machine.revoke", c.var.operator.who);
  if (!unpinned.ok) return refuse("not-found");
  await c.env.NODES.getByName(name).revoke(unpinned.value);
  return c.body(null, 204);
});

serve(nodeRoutes, "PATCH /v1/nodes/{name}", async (c, { body }) => {
  const name = c.req.param("name");
  const { runtime, maintenance } = body;
  const { who } = c.var.operator;
  const order = maintenance && orderOf(maintenance, who, currentMs());
  if (order === null) return refuse("invalid-body", { detail: UNTIL, pointer: "/maintenance/until" });
  const record = { who, what: "node.set", target: name, detail: changeText(body) } as const;
  if (!(await registry(c.env).noteAbout(record)).ok) return refuse("not-found");
  const node = c.env.NODES.getByName(name);
  return done(c, await (order ? node.orderMaintenance(order) : node.setNeededRuntime(runtime ?? "auto")));
});

const UNTIL = `The end must be after now, and within ${MAINTENANCE_LIMITS.days} days.`;

/** Returns the order; null if its end has come already, or is too far away. */
function orderOf(
  { stage, until, comment }: NonNullable<NodeChange["maintenance"]>,
  who: string,
  nowMs: number,
): MaintenanceOrder | null {
  const untilMs = until === undefined ? null : Date.parse(until);
  const leftMs = (untilMs ?? nowMs + 1) - nowMs;
  return leftMs > 0 && leftMs <= MAINTENANCE_LIMITS.days * DAY_MS ? { stage, untilMs, who, comment } : null;
}

/** Returns the detail for the audit log: `runtime none`, `maintenance begin until 2026-01-31T12:00:00Z: new disk`. */
function changeText({ runtime, maintenance }: NodeChange): string {
  if (!maintenance) return `runtime ${runtime}`;
  const { stage, until, comment } = maintenance;
  return `maintenance ${stage}${until ? ` until ${until}` : ""}${comment && `: ${comment}`}`;
}

/** Forgets a machine. Safe to repeat: a repeated request completes the unfinished steps. */
serve(nodeRoutes, "DELETE /v1/nodes/{name}", async (c) => {
  const name = c.req.param("name");
  if (!(await registry(c.env).knew(name))) return refuse("not-found");
  const node = c.env.NODES.getByName(name);
  const answer = await unlessForgotten(async () => node.remove(name, c.var.operator.who));
  if (answer && !answer.ok) return answered(c, answer);
  if (answer) await forget(node);
  return c.body(null, 204);
});

/**
 * Returns the object of the machine with this name; null, without waking an object, if no machine has the name. The
 * registry has forgotten a machine that is being removed, but the fleet index shows it.
 */
export async function knownNode(
  env: Environment,
  name: string,
): Promise<DurableObjectStub<NodeObject> | null> {
  const isKnown = (await registry(env).knows(name)) || (await fleetIndex(env).summary(name)) !== null;
  return isKnown ? env.NODES.getByName(name) : null;
}

const DAY_MS = 24 * 3600 * 1000;

serve(nodeRoutes, "GET /v1/nodes/{name}/timeline", async (c, { query }) => {
  const nowMs = currentMs();
  const { until: untilMs = nowMs } = query;
  const { since: sinceMs = untilMs - DAY_MS } = query;
  if (untilMs > nowMs) return refuseParameter("until", "expected a time that has come");
  if (sinceMs >= untilMs) return refuseParameter("since", "expected a time before until");
  if (untilMs - sinceMs > TIMELINE_LIMITS.days * DAY_MS)
    return refuseParameter("since", `expected at most ${TIMELINE_LIMITS.days} days before until`);
  const name = c.req.param("name");
  const timeline = await (await knownNode(c.env, name))?.timeline({ sinceMs, untilMs });
  if (!timeline) return refuse("not-found");
  return c.json(timeline satisfies TimelineAnswer, 200, { "rollcall-woken": name });
});

serve(nodeRoutes, "POST /v1/bulk", async (c, { body }) => {
  const { dryRun: _, confirmation, ...asked } = body;
  const { who, selector: within } = c.var.operator;
  // An operator's secret with another selector, under the same name, confirms no dry run of this one.
  const request = await digestOf(canonicalJson(within ? [asked, within] : asked));
  if (confirmation !== undefined) {
    const among = await namesWithin(c);
    const confirmed = { request, confirmation, who, ...(among && { among }) };
    const started = await registry(c.env).startBulk(confirmed);
    return started.ok
      ? c.json(started.value satisfies BulkProgress, 202)
      : refuse("conflict", { detail: started.error });
  }
  const { action, filter, names = [] } = asked;
  const index = fleetIndex(c.env);
  const found = filter
    ? await index.standingsOf(...confined(filter, within))
    : success(await matchingRows(c, await index.standings(names)));
  if (!found.ok) return refuse("invalid-body", { detail: found.error, pointer: "/filter/beside" });
  const machines = found.value;
  const length = machines.reduce((sum, { name }) => sum + name.length, 0);
  if (machines.length > BULK_LIMITS.machines || length > BULK_LIMITS.namesLength)
    return refuse("invalid-body", { detail: TOO_MANY, pointer: "/filter" });
  const plan = { action, request, who, machines };
  const planned = await registry(c.env).planBulk(plan);
  const known = new Set(machines.map(({ name }) => name));
  // A machine that does not match counts as unknown.
  const outside = names.filter((name) => !known.has(name));
  return c.json({ ...planned, unknown: [...planned.unknown, ...outside].sort() } satisfies BulkPlan);
});

/** Returns the filter for an operator's machines, and the selector that a machine in `beside` must match. */
function confined(
  filter: MachineFilter,
  within: LabelRequirement[] | undefined,
): [MachineFilter, LabelRequirement[]?] {
  return within ? [{ ...filter, selector: [...(filter.selector ?? []), ...within] }, within] : [filter];
}

/** Reports whether the operator may know of the action: an operator with a selector knows their own actions. */
const mayKnow = ({ var: { operator } }: Context<App>, { createdBy }: BulkProgress) =>
  !operator.selector || createdBy === operator.who;

serve(nodeRoutes, "GET /v1/bulk", async (c) => {
  const bulks = await registry(c.env).listBulks(PAGE_LIMITS.entriesByDefault);
  return c.json({ bulks: bulks.filter((bulk) => mayKnow(c, bulk)) } satisfies BulksAnswer);
});

serve(nodeRoutes, "GET /v1/bulk/{id}", async (c, { query }) => {
  const shown = await registry(c.env).showBulk(Number(c.req.param("id")), query);
  if (!shown || !mayKnow(c, shown)) return refuse("not-found");
  return c.json({ ...shown, failures: await matchingRows(c, shown.failures) } satisfies BulkAnswer);
});

serve(nodeRoutes, "DELETE /v1/bulk/{id}", async (c) => {
  const id = Number(c.req.param("id"));
  const { who, selector } = c.var.operator;
  const shown = selector ? await registry(c.env).showBulk(id, { after: "", limit: 1 }) : null;
  if (selector && !(shown && mayKnow(c, shown))) return refuse("not-found");
  return done(c, (await registry(c.env).stopBulk(id, who)).ok);
});

const TOO_MANY = `More than ${BULK_LIMITS.machines} machines match: narrow the filter.`;
