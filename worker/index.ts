// The Worker's entry: all routes put together, and the Durable Object classes. Answers nothing itself.
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { validateNodeName } from "../shared/node/node-name.ts";
import { LIMITS } from "../shared/protocol/report.ts";
import { machineRoutes } from "./http/machine-routes.ts";
import { operatorRoutes } from "./http/operator-routes.ts";
import { type App, refuse } from "./http/responses.ts";

export { RegistryObject } from "./registry/registry-object.ts";
export { NodeObject } from "./machine/node-object.ts";

const app = new Hono<App>();

app.use(bodyLimit({ maxSize: LIMITS.bodyBytes, onError: () => refuse("body-too-large") }));
app.notFound(() => refuse("not-found"));
app.onError((error) => {
  console.error(JSON.stringify({ message: "request failed", error: error.stack ?? String(error) }));
  return refuse("internal");
});

app.get("/livez", (c) => c.text("ok"));

app.use("/v1/*", async (c, next) => {
  await next();
  c.res.headers.set("cache-control", "no-store");
});

app.use("/v1/nodes/:name/*", async (c, next) => {
  // A name has one spelling: one that is percent-encoded is none.
  const isEncoded = new URL(c.req.url).pathname.includes("%");
  if (isEncoded || validateNodeName(c.req.param("name")).length > 0) return refuse("invalid-name");
  await next();
  return undefined;
});

app.route("/", machineRoutes);
app.route("/", operatorRoutes);

const MACHINE_RESOURCES = ["report", "leave", "rotate", "enrolment"];
const OPERATOR_RESOURCES = ["history", "register", "clones", "believe", "approve", "reject", "revoke"];
for (const resource of [...MACHINE_RESOURCES, ...OPERATOR_RESOURCES]) {
  app.all(`/v1/nodes/:name/${resource}`, () => refuse("method-not-allowed"));
}
app.all("/v1/nodes/:name", () => refuse("method-not-allowed"));
for (const path of [
  "/v1/tokens",
  "/v1/tokens/:id",
  "/v1/pending",
  "/v1/audit",
  "/v1/origins",
  "/v1/origins/machines",
]) {
  app.all(path, () => refuse("method-not-allowed"));
}

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default app;
