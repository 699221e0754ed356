// Serves the routes of operators, and refuses all other requests. index.ts loads this file with the first request that
// is not a machine's.
import { Hono } from "hono/tiny";
import type { Isolate } from "../isolate.ts";
import { administrationRoutes } from "./administration-routes.ts";
import { backupRoutes } from "./backup-routes.ts";
import { feedRoutes } from "./feed-routes.ts";
import { fleetRoutes } from "./fleet-routes.ts";
import { healthRoutes } from "./health-routes.ts";
import { nodeRoutes } from "./node-routes.ts";
import { questionRoutes } from "./question-routes.ts";
import { receiverRoutes } from "./receiver-routes.ts";
import { type App, isNavigation, noSuchPage, refuse, refuseMethod } from "./responses.ts";
import { methodsOf } from "./route.ts";
import { rulesRoutes } from "./rules-routes.ts";
import { sessionRoutes } from "./session-routes.ts";

/** Returns the application. The caller answers its errors. */
export function newOperatorsApp(isolate: Isolate): Hono<App> {
  const app = new Hono<App>();
  app.use(async (c, next) => {
    c.set("isolate", isolate);
    await next();
  });
  for (const routes of [
    nodeRoutes,
    questionRoutes,
    fleetRoutes,
    administrationRoutes,
    sessionRoutes,
    feedRoutes,
    receiverRoutes,
    rulesRoutes,
    backupRoutes,
    healthRoutes,
  ])
    app.route("/", routes);
  app.notFound(({ req }) => {
    const allowed = methodsOf(req.path);
    if (allowed.length > 0) return refuseMethod(allowed);
    // A browser that opens a mistyped address gets a link to the page.
    return isNavigation(req) ? noSuchPage() : refuse("not-found");
  });
  app.onError((error) => {
    throw error;
  });
  return app;
}
