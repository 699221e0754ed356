// Registers a route of the table (shared/protocol/routes.ts) with the router, and parses its query. Must not import the
// table itself: a Worker that serves only machines does not load the schemas of operators' routes.
import type { Context, Handler, Hono } from "hono";
import type * as z from "zod/mini";
import { LIMITS } from "../../shared/protocol/limits.ts";
import type { RouteName } from "../../shared/protocol/routes.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { type App, refuseParameter } from "./responses.ts";

type Colons<Path extends string> = Path extends `${infer Before}{${infer Part}}${infer After}`
  ? `${Before}:${Part}${Colons<After>}`
  : Path;
/** The context of a request for this route. The parameters are those of the route's path. */
export type RouteContext<Name extends RouteName> = Context<
  App,
  Name extends `${string} ${infer Path}` ? Colons<Path> : never
>;

/** Registers handlers for a route without any check. The handlers must check the request. */
export function register<Name extends RouteName>(
  app: Hono<App>,
  name: Name,
  ...handlers: ((c: RouteContext<Name>, next: () => Promise<void>) => ReturnType<Handler>)[]
): void {
  const [method = "", path = ""] = name.split(" ");
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Hono's type of a context does not follow from a table
  app.on(method, [path.replaceAll(/\{(\w+)\}/g, ":$1")], ...(handlers as unknown as Handler<App>[]));
}

/**
 * Parses the query, or refuses an unknown, wrong or repeated parameter, with its name. The schema receives a repeated
 * parameter as a list.
 */
export function queryOf<Schema extends z.ZodMiniObject>(
  c: Context<App>,
  schema: Schema,
): z.output<Schema> | Response {
  const { searchParams } = new URL(c.req.url);
  const query = [...new Set(searchParams.keys())].map((name) => {
    const values = searchParams.getAll(name);
    return [name, values.length > 1 ? values : values[0]];
  });
  const parsed = schema.safeParse(Object.fromEntries(query));
  return parsed.success ? parsed.data : invalidQuery(parsed.error, Object.keys(schema.shape));
}

function invalidQuery(error: z.core.$ZodError, known: readonly string[]): Response {
  const issue = error.issues[0]!;
  const unknown = issue.code === "unrecognized_keys" && issue.keys[0];
  const parameter = String(unknown || issue.path[0]);
  const detail = unknown
    ? `unknown parameter; ${known.length > 0 ? `expected one of ${known.join(", ")}` : "expected none"}`
    : firstFault(error).message;
  return refuseParameter(parameter.slice(0, LIMITS.textLength).toWellFormed(), detail);
}
