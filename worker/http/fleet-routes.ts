// Serves the operators' routes that the fleet index answers alone: machines, history, outages, rollout.
import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { base64url } from "jose";
import * as z from "zod/mini";
import { MACHINE_FIELDS } from "../../shared/fleet/machine-fields.ts";
import { FLEET_STATES, type FleetCounts } from "../../shared/fleet/state.ts";
import type {
  FleetHistoryAnswer,
  FleetMachine,
  IndexState,
  MachinesAnswer,
  RolloutAnswer,
  VersionsAnswer,
} from "../../shared/protocol/fleet-answers.ts";
import { type MachinesQuery, outageIdSchema } from "../../shared/protocol/fleet-api.ts";
import { FEED_LIMITS, PAGE_LIMITS } from "../../shared/protocol/limits.ts";
import type { Outage, OutageAnswer, OutagesAnswer } from "../../shared/protocol/outages.ts";
import type { Result } from "../../shared/result.ts";
import { VERSION } from "../../shared/version.ts";
import { type Environment, fleetIndex, registry } from "../env.ts";
import type { MachinePage, MachineSearchRequest, SearchPosition } from "../fleet/machine-search.ts";
import { chosenFields, machineColumns, pendingRow, shownMachine } from "../fleet/shown-machine.ts";
import {
  cursorOfValues,
  entryList,
  formatOf,
  inLines,
  pagedList,
  type PageOfEntries,
  readCursor,
  ROWS_AT_ONCE,
} from "./lists.ts";
import { serve } from "./route.ts";
import { type App, done, refuse, refuseParameter } from "./responses.ts";

export const fleetRoutes = new Hono<App>();

type Found = NonNullable<MachinePage["found"]>;

/** The parameters that change neither the matching rows nor their order. A cursor stays valid if they change. */
const OF_ONE_PAGE = ["cursor", "limit", "fields", "format"];
/** Returns the query's parameters, sorted by name, except those in `without`. */
function queryText(c: Context<App>, without: readonly string[]): string {
  const { searchParams } = new URL(c.req.url);
  for (const name of without) searchParams.delete(name);
  searchParams.sort();
  return searchParams.toString();
}

serve(fleetRoutes, "GET /v1/machines", async (c, { query }) => {
  const digest = await shortDigestOf(queryText(c, OF_ONE_PAGE));
  const after = positionOf(query.cursor ?? "", digest);
  if (query.cursor !== undefined && after === null) return refuseParameter("cursor", OF_ANOTHER_QUERY);
  const within = c.var.operator.selector;
  // A machine that waits for approval has no Node yet, so that no operator's selector matches it.
  const pending = within ? [] : await registry(c.env).listPending({ limit: FEED_LIMITS.pending });
  const others = pending.map((machine) => pendingRow(machine));
  const format = formatOf(c, query.format);
  const tag = await shortDigestOf(VERSION, format, queryText(c, []), JSON.stringify([others, within]));
  const unlessSeq = seqKnown(c.req.header("if-none-match"), tag);
  const first = await askIndex(c.env, query, {
    within,
    after,
    others,
    unlessSeq,
    isCounted: format === "json",
  });
  if (!first.ok) return refuseParameter("beside", first.error);
  const { seq, found } = first.value;
  const headers = { etag: tagOf(seq, tag), vary: "accept" };
  if (!found) return new Response(null, { status: 304, headers });
  if (format === "json") return c.json(pageOf(query, found, digest) satisfies MachinesAnswer, 200, headers);
  const pages = machinePages(c.env, query, { within, others }, found);
  const columns = machineColumns(query.fields ?? MACHINE_FIELDS);
  return inLines(format, columns, pages, headers);
});

const OF_ANOTHER_QUERY = "expected the cursor of an answer to this very query";

type Asked = Pick<MachineSearchRequest, "within" | "after" | "others" | "unlessSeq" | "isCounted">;

function askIndex(env: Environment, query: MachinesQuery, asked: Asked): Promise<Result<MachinePage>> {
  const { sort = { by: "name", isDescending: false }, limit } = query;
  const byDefault = asked.isCounted ? PAGE_LIMITS.entriesByDefault : ROWS_AT_ONCE;
  const { within = [] } = asked;
  const filter = { ...query, ...(asked.within && { selector: [...(query.selector ?? []), ...within] }) };
  return fleetIndex(env).machines({ filter, sort, limit: limit ?? byDefault, ...asked });
}

const shownIn = (query: MachinesQuery, found: Found) =>
  found.machines.map((machine) => chosenFields(shownMachine(machine), query.fields ?? MACHINE_FIELDS));

const NOT_COUNTED = { matching: {}, fleet: {} };

function pageOf(query: MachinesQuery, found: Found, digest: string): MachinesAnswer {
  const { matching, fleet } = found.counts ?? NOT_COUNTED;
  const all = (counts: FleetCounts) =>
    Object.fromEntries(FLEET_STATES.map((state) => [state, counts[state] ?? 0]));
  return {
    machines: shownIn(query, found),
    counts: { matching: all(matching), fleet: all(fleet) },
    cursor: found.next && cursorOf(found.next, digest),
  };
}

/** Yields the pages of all matching machines, or only the first page if the query has a limit. */
async function* machinePages(
  env: Environment,
  query: MachinesQuery,
  from: Pick<Asked, "within" | "others">,
  first: Found,
) {
  for (let found = first; ;) {
    yield shownIn(query, found);
    if (found.next === null || query.limit !== undefined) return;
    const asked = { ...from, after: found.next, unlessSeq: null, isCounted: false };
    const next = await askIndex(env, query, asked);
    // If the machine in `beside` was removed, the answer must break off: a shortened list would look complete.
    if (!next.ok || !next.value.found) throw new Error(`the list cannot go on: ${JSON.stringify(next)}`);
    found = next.value.found;
  }
}

serve(fleetRoutes, "GET /v1/nodes/{name}/summary", async (c) => {
  const name = c.req.param("name");
  const summary = await fleetIndex(c.env).summary(name);
  return summary ? c.json(shownMachine({ id: name, summary }) satisfies FleetMachine) : refuse("not-found");
});

serve(fleetRoutes, "GET /v1/history", async (c, { query }) => {
  const { selector: within } = c.var.operator;
  const read = (page: PageOfEntries) =>
    fleetIndex(c.env).history({ ...query, ...page, ...(within && { within }) });
  const columns = ["id", "at", "name", "kind", "text"] as const;
  return entryList<FleetHistoryAnswer["entries"][number]>(c, query, columns, read);
});

/** Returns the first 96 bits of the texts' SHA-256, in base64url. */
async function shortDigestOf(...texts: string[]): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(texts.join("\n")));
  return base64url.encode(new Uint8Array(digest, 0, 12));
}

const cursorSchema = z.tuple([z.string(), z.union([z.string(), z.number()]), z.string()]);

/** Returns the cursor after a row. `digest`: of the query that the cursor belongs to. */
export function cursorOf({ key, id }: SearchPosition, digest: string): string {
  return cursorOfValues([digest, key, id]);
}

/** Parses a cursor. Returns null if the text is not a cursor of the query with this digest. */
export function positionOf(cursor: string, digest: string): SearchPosition | null {
  const [own, key = "", id = ""] = readCursor(cursorSchema, cursor) ?? [];
  return own === digest ? { key, id } : null;
}

/** Returns a weak ETag: answers with the same tag are equivalent. `seq`: the number of the last change in the answer. */
export const tagOf = (seq: number, digest: string) => `W/"${seq}-${digest}"`;

/** Returns the number of the last change that the client has; null if the client has no answer to this request. */
export function seqKnown(ifNoneMatch: string | undefined, digest: string): number | null {
  for (const [, seq, own] of (ifNoneMatch ?? "").matchAll(/"(\d{1,15})-([\w-]+)"/g))
    if (own === digest) return Number(seq);
  return null;
}

const OUTAGE_COLUMNS = [
  "id",
  "network",
  "startedAt",
  "endedAt",
  "machines",
  "silent",
  "was",
  "names",
] as const;

serve(fleetRoutes, "GET /v1/outages", async (c, { query }) => {
  const { format: _, limit: __, ...wanted } = query;
  return pagedList<Outage, string>(c, query, OUTAGE_COLUMNS, async (limit, before = wanted.before) => {
    const { selector } = c.var.operator;
    const index = fleetIndex(c.env);
    const asked = { ...wanted, before, limit };
    const body: OutagesAnswer = await (selector ? index.outagesOf(selector, asked) : index.outages(asked));
    return { rows: body.outages, body, next: body.next };
  });
});

serve(fleetRoutes, "GET /v1/outages/{id}", async (c, { query }) => {
  const id = outageIdSchema.safeParse(c.req.param("id"));
  if (!id.success) return refuse("not-found");
  const { selector } = c.var.operator;
  const index = fleetIndex(c.env);
  const outage = await (selector ? index.outageOf(selector, id.data, query) : index.outage(id.data, query));
  return outage ? c.json(outage satisfies OutageAnswer) : refuse("not-found");
});

serve(fleetRoutes, "GET /v1/index", async (c) =>
  c.json((await fleetIndex(c.env).state()) satisfies IndexState),
);

serve(fleetRoutes, "GET /v1/versions", async (c) => {
  const { selector } = c.var.operator;
  const index = fleetIndex(c.env);
  return c.json((await (selector ? index.versionsOf(selector) : index.versions())) satisfies VersionsAnswer);
});

/** Starts a repair of the index. Safe to repeat: a running repair continues. */
serve(fleetRoutes, "POST /v1/index/repair", async (c) => {
  const { who } = c.var.operator;
  await registry(c.env).noteChange({ who, what: "index.repair", target: "index" });
  return c.json((await fleetIndex(c.env).repair(who)) satisfies IndexState, 202);
});

serve(fleetRoutes, "GET /v1/rollout", async (c) => {
  const { selector } = c.var.operator;
  const index = fleetIndex(c.env);
  const rollout = await (selector ? index.rolloutOf(selector) : index.rollout());
  return c.json({ rollout } satisfies RolloutAnswer);
});

serve(fleetRoutes, "PUT /v1/rollout", async (c, { body }) => {
  const rollout = await fleetIndex(c.env).putRollout(body, c.var.operator.who);
  return c.json({ rollout } satisfies RolloutAnswer);
});

serve(fleetRoutes, "POST /v1/rollout/stop", async (c) => {
  const rollout = await fleetIndex(c.env).stopRollout(c.var.operator.who);
  return rollout ? c.json({ rollout } satisfies RolloutAnswer) : refuse("not-found");
});

serve(fleetRoutes, "DELETE /v1/rollout", async (c) =>
  done(c, await fleetIndex(c.env).endRollout(c.var.operator.who)),
);
