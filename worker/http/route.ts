// Serves a route of the table (shared/protocol/routes.ts): checks the operator's role, the query and the body, then
// calls the handler. An unknown, wrong or repeated parameter is refused, with its name.
import type { Context, Handler, Hono, MiddlewareHandler } from "hono";
import * as z from "zod/mini";
import type { OperatorRoute } from "../../shared/protocol/confinement.ts";
import { LIMITS } from "../../shared/protocol/limits.ts";
import { type RouteName, type RouteRules, ROUTES } from "../../shared/protocol/routes.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { operatorFor, refuseOutside, viewer } from "./operator-access.ts";
import { type App, invalidBody, json, refuseParameter } from "./responses.ts";

type Colons<Path extends string> = Path extends `${infer Before}{${infer Part}}${infer After}`
  ? `${Before}:${Part}${Colons<After>}`
  : Path;
/** The context of a request for this route. The parameters are those of the route's path. */
export type RouteContext<Name extends RouteName> = Context<
  App,
  Name extends `${string} ${infer Path}` ? Colons<Path> : never
>;

/** The parsed query and body of a request for this route; undefined if the route has none. */
interface Asked<Name extends RouteName> {
  query: (typeof ROUTES)[Name] extends { query: infer Schema extends z.ZodMiniObject }
    ? z.output<Schema>
    : undefined;
  body: (typeof ROUTES)[Name] extends { body: infer Schema extends z.core.$ZodType }
    ? z.output<Schema>
    : undefined;
}

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

/** Returns the methods of a path in the table of routes. A path with GET also accepts HEAD. */
export function methodsOf(path: string): string[] {
  const routes = Object.keys(ROUTES).map((name) => name.split(" "));
  const ofPath = routes.filter(([, of = ""]) =>
    new RegExp(`^${of.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path),
  );
  return ofPath.flatMap(([method = ""]) => (method === "GET" ? ["GET", "HEAD"] : [method]));
}

const ACCESS: Partial<Record<RouteRules["who"], MiddlewareHandler<App>>> = {
  view: viewer,
  operator: operatorFor("operator"),
  admin: operatorFor("admin"),
};

/** Registers a handler behind all checks. `access` replaces the role check; `before` runs before the body is read. */
export function serve<Name extends OperatorRoute>(
  app: Hono<App>,
  name: Name,
  handle: (c: RouteContext<Name>, asked: Asked<Name>) => Response | Promise<Response>,
  more: {
    access?: MiddlewareHandler<App>;
    before?: (c: Context<App>) => Response | null | Promise<Response | null>;
  } = {},
): void {
  const { who, query: schema = noParameters, body: bodySchema }: RouteRules = ROUTES[name];
  const { access = ACCESS[who], before } = more;
  const handler = async (c: RouteContext<Name>) => {
    const outside = await refuseOutside(c, name);
    if (outside) return outside;
    const query = queryOf(c, schema);
    if (query instanceof Response) return query;
    const refused = await before?.(c);
    if (refused) return refused;
    const body = bodySchema && z.safeParse(bodySchema, await json(c.req.raw));
    if (body?.success === false) return invalidBody(body.error);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- parsed by the schemas that its type is made of
    return handle(c, { query, body: body?.data } as Asked<Name>);
  };
  register(app, name, ...(access ? [access] : []), handler);
}

const noParameters = z.strictObject({});

/** Parses the query, or refuses the request. The schema receives a repeated parameter as a list. */
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
