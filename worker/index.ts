// The Worker's entry: connects all routes, and exports the Durable Object classes.
import { Hono } from "hono/tiny";
import { bodyLimit } from "hono/body-limit";
import { createMiddleware } from "hono/factory";
import { validateNodeName } from "../shared/node/node-name.ts";
import { ANSWER_UNTIL, isTooLate, WORKER_TIME } from "../shared/protocol/answer-until.ts";
import { LIMITS } from "../shared/protocol/limits.ts";
import { currentMs } from "./clock.ts";
import * as cluster from "./cluster/cluster-object.ts";
import * as fleet from "./fleet/index-object.ts";
import * as gateways from "./gateway/gateway-object.ts";
import { type App, refuse, refuseLate, refuseUnconfigured } from "./http/responses.ts";
import { machineRoutes } from "./http/machine-routes.ts";
import type { newOperatorsApp as NewOperatorsApp } from "./http/operators-app.ts";
import { register } from "./http/register.ts";
import { keepLatest, newIsolate } from "./isolate.ts";
import * as machine from "./machine/node-object.ts";
import * as registry from "./registry/registry-object.ts";
import { scheduled } from "./scheduled.ts";
import { guarded, isNewerState } from "./storage/migrations.ts";
import { logFailure } from "./log.ts";

const isolate = newIsolate((url, init) => fetch(url, init));
const shared = { knownCluster: isolate.knownCluster };

// An exported class refuses all calls if a later version of rollcall wrote the object's stored state, and aborts an object
// after a failed transaction.
const ClusterObject = guarded(cluster.ClusterObject, shared);
type ClusterObject = cluster.ClusterObject;
const IndexObject = guarded(fleet.IndexObject, shared);
type IndexObject = fleet.IndexObject;
const GatewayObject = guarded(gateways.GatewayObject, shared);
type GatewayObject = gateways.GatewayObject;
const RegistryObject = guarded(registry.RegistryObject, shared);
type RegistryObject = registry.RegistryObject;
const NodeObject = guarded(machine.NodeObject, shared);
type NodeObject = machine.NodeObject;
export { ClusterObject, IndexObject, GatewayObject, RegistryObject, NodeObject };

const app = new Hono<App>();

app.use(async (c, next) => {
  c.set("isolate", isolate);
  c.env = isolate.placed(c.env);
  // Hono would serve a route's path with a slash at its end as well.
  if (c.req.path.endsWith("/")) c.res = refuse("not-found");
  else await next();
  // Answers contain texts of machines. If a browser opens an answer, the browser must not run such a text as a page.
  c.res.headers.set("x-content-type-options", "nosniff");
});
app.use(bodyLimit({ maxSize: LIMITS.bodyBytes, onError: () => refuse("body-too-large") }));
app.onError((error, c) => {
  logFailure({ message: "request failed", error: error.stack ?? String(error) });
  // A machine's object throws if a variable is invalid: refuseUnconfigured then names the configuration as the cause.
  if (isNewerState(error)) return refuse("newer-state");
  return refuseUnconfigured(c) ?? refuse("internal");
});

register(app, "GET /livez", (c) => c.text("ok"));

app.use("/v1/*", async (c, next) => {
  const nowMs = currentMs();
  if (isTooLate(c.req.header(ANSWER_UNTIL), nowMs)) c.res = refuseLate(Math.random);
  else await next();
  c.res.headers.set("cache-control", "no-store");
  c.res.headers.set(WORKER_TIME, String(nowMs));
});

const refuseNoName = createMiddleware<App, "/v1/nodes/:name/*">(async (c, next) => {
  // A name has only one valid spelling in a path, so percent-encoding is refused.
  const isEncoded = new URL(c.req.url).pathname.includes("%");
  if (isEncoded || validateNodeName(c.req.param("name")).length > 0) return refuse("invalid-name");
  await next();
  return undefined;
});
app.use("/v1/nodes/:name/*", refuseNoName);
app.use("/v1/gateways/:gateway/nodes/:name", refuseNoName);

app.route("/", machineRoutes);
const operatorsApp = keepLatest((make: typeof NewOperatorsApp) => make(isolate));
// Almost all requests are those of machines, which never need the operators' routes and their schemas.
app.all("*", async (c) => {
  const { newOperatorsApp } = await import("./http/operators-app.ts");
  return operatorsApp(newOperatorsApp).fetch(c.req.raw, c.env, c.executionCtx);
});

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default Object.assign(app, { scheduled });
