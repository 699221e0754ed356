// Serves a route of operators in the table (shared/protocol/routes.ts). Checks the operator's role, the query and the
// body, then calls the handler.
import type { Context, Hono, MiddlewareHandler } from "hono";
import * as z from "zod/mini";
import type { OperatorRoute } from "../../shared/protocol/confinement.ts";
import { type RouteName, type RouteRules, ROUTES } from "../../shared/protocol/routes.ts";
import { operatorFor, refuseOutside, viewer } from "./operator-access.ts";
import { queryOf, register, type RouteContext } from "./register.ts";
import { type App, invalidBody, json } from "./responses.ts";

/** The parsed query and body of a request for this route; undefined if the route has none. */
interface Asked<Name extends RouteName> {
  query: (typeof ROUTES)[Name] extends { query: infer Schema extends z.ZodMiniObject }
    ? z.output<Schema>
    : undefined;
  body: (typeof ROUTES)[Name] extends { body: infer Schema extends z.core.$ZodType }
    ? z.output<Schema>
    : undefined;
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
