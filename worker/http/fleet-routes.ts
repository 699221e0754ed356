// The operators' routes over the fleet index: all machines, one's summary, the history of all. None of them wakes a
// machine's object.
import { type Context, Hono } from "hono";
import { MACHINE_FIELDS } from "../../shared/fleet/machine-fields.ts";
import { FLEET_STATES, type FleetCounts } from "../../shared/fleet/state.ts";
import type {
  FleetHistoryAnswer,
  FleetMachine,
  MachinesAnswer,
} from "../../shared/protocol/fleet-answers.ts";
import {
  fleetHistoryQuerySchema,
  type MachinesQuery,
  machinesQuerySchema,
} from "../../shared/protocol/fleet-api.ts";
import { PAGE_LIMITS } from "../../shared/protocol/limits.ts";
import { VERSION } from "../../shared/version.ts";
import type { Result } from "../../shared/result.ts";
import { type Environment, fleetIndex, registry } from "../env.ts";
import type { FoundMachine, MachinePage, MachineSearchRequest } from "../fleet/machine-search.ts";
import { chosenFields, machineColumns, pendingRow, shownMachine } from "../fleet/shown-machine.ts";
import { cursorOf, shortDigestOf, positionOf, seqKnown, tagOf } from "./cursors.ts";
import { entryList, formatOf, inLines, type PageOfEntries, ROWS_AT_ONCE } from "./lists.ts";
import { operator } from "./operator-access.ts";
import { noQuery, queryOf } from "./queries.ts";
import { type App, refuse } from "./responses.ts";

export const fleetRoutes = new Hono<App>();

type Found = NonNullable<MachinePage["found"]>;

/** What does not change which row is behind which: a cursor goes on with others of these. */
const OF_ONE_PAGE = ["cursor", "limit", "fields", "format"];
/** The parameters but for some, in one order. */
function queryText(c: Context<App>, without: readonly string[]): string {
  const { searchParams } = new URL(c.req.url);
  for (const name of without) searchParams.delete(name);
  searchParams.sort();
  return searchParams.toString();
}

fleetRoutes.get("/v1/machines", operator, async (c) => {
  const query = queryOf(c, machinesQuerySchema);
  if (query instanceof Response) return query;
  const digest = await shortDigestOf(queryText(c, OF_ONE_PAGE));
  const after = query.cursor === undefined ? null : positionOf(query.cursor, digest);
  if (query.cursor !== undefined && after === null) return invalidParameter("cursor", OF_ANOTHER_QUERY);
  const others = (await registry(c.env).listPending()).map((machine) => pendingRow(machine));
  const format = formatOf(c, query.format);
  const tag = await shortDigestOf(VERSION, format, queryText(c, []), JSON.stringify(others));
  const unlessSeq = seqKnown(c.req.header("if-none-match"), tag);
  const first = await askIndex(c.env, query, { after, others, unlessSeq, isCounted: format === "json" });
  if (!first.ok) return invalidParameter("beside", first.error);
  const { seq, found } = first.value;
  const headers = { etag: tagOf(seq, tag), vary: "accept" };
  if (!found) return new Response(null, { status: 304, headers });
  if (format === "json") return c.json(pageOf(query, found, digest) satisfies MachinesAnswer, 200, headers);
  const pages = machinePages(c.env, query, others, found);
  const columns = machineColumns(query.fields ?? MACHINE_FIELDS);
  return inLines(format, columns, pages, headers);
});

const OF_ANOTHER_QUERY = "expected the cursor of an answer to this very query";

const invalidParameter = (parameter: string, detail: string) =>
  refuse("invalid-query", { parameter, detail });

type Asked = Pick<MachineSearchRequest, "after" | "others" | "unlessSeq" | "isCounted">;

function askIndex(env: Environment, query: MachinesQuery, asked: Asked): Promise<Result<MachinePage>> {
  const { sort = { by: "name", isDescending: false }, limit } = query;
  const byDefault = asked.isCounted ? PAGE_LIMITS.entriesByDefault : ROWS_AT_ONCE;
  return fleetIndex(env).machines({ filter: query, sort, limit: limit ?? byDefault, ...asked });
}

const shownIn = (query: MachinesQuery, found: Found) =>
  found.machines.map((machine) => chosenFields(shownMachine(machine), query.fields ?? MACHINE_FIELDS));

function pageOf(query: MachinesQuery, found: Found, digest: string): MachinesAnswer {
  const all = (counts: FleetCounts | undefined) =>
    Object.fromEntries(FLEET_STATES.map((state) => [state, counts?.[state] ?? 0]));
  return {
    machines: shownIn(query, found),
    counts: { matching: all(found.counts?.matching), fleet: all(found.counts?.fleet) },
    cursor: found.next && cursorOf(found.next, digest),
  };
}

/** All that follow, unless the query says how many. */
async function* machinePages(env: Environment, query: MachinesQuery, others: FoundMachine[], first: Found) {
  for (let found = first; ;) {
    yield shownIn(query, found);
    if (found.next === null || query.limit !== undefined) return;
    const asked = { after: found.next, others, unlessSeq: null, isCounted: false };
    const next = await askIndex(env, query, asked);
    // The machine beside which others are looked for has gone meanwhile: a list that ends here would lie.
    if (!next.ok || !next.value.found) throw new Error(`the list cannot go on: ${JSON.stringify(next)}`);
    found = next.value.found;
  }
}

fleetRoutes.get("/v1/nodes/:name/summary", operator, noQuery, async (c) => {
  const name = c.req.param("name");
  const summary = await fleetIndex(c.env).summary(name);
  return summary ? c.json(shownMachine({ id: name, summary }) satisfies FleetMachine) : refuse("not-found");
});

fleetRoutes.get("/v1/history", operator, async (c) => {
  const query = queryOf(c, fleetHistoryQuerySchema);
  if (query instanceof Response) return query;
  const read = (page: PageOfEntries) => fleetIndex(c.env).history({ ...query, ...page });
  return entryList<FleetHistoryAnswer["entries"][number]>(
    c,
    query,
    ["id", "at", "name", "kind", "text"],
    read,
  );
});
