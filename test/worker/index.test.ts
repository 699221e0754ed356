// Which methods a path takes, and what is answered to another one. Every route is in this table.
import { describe, expect, it } from "vitest";
import worker from "../../worker/index.ts";
import { send } from "./support/machine.ts";

const TAKEN: [path: string, allow: string][] = [
  ["/livez", "GET, HEAD"],
  ["/readyz", "GET, HEAD"],
  ["/metrics", "GET, HEAD"],
  ["/v1/nodes/:name/report", "POST"],
  ["/v1/nodes/:name/rotate", "POST"],
  ["/v1/nodes/:name/leave", "POST"],
  ["/v1/nodes/:name/upgrade", "POST"],
  ["/v1/nodes/:name/enrolment", "PUT"],
  ["/v1/gateways/:gateway/nodes/:name", "GET, HEAD"],
  ["/v1/tokens", "POST, GET, HEAD"],
  ["/v1/tokens/:id", "DELETE"],
  ["/v1/pending", "GET, HEAD"],
  ["/v1/index", "GET, HEAD"],
  ["/v1/index/repair", "POST"],
  ["/v1/backup", "GET, HEAD"],
  ["/v1/imports", "GET, HEAD, POST, DELETE"],
  ["/v1/versions", "GET, HEAD"],
  ["/v1/rollout", "GET, HEAD, PUT, DELETE"],
  ["/v1/rollout/stop", "POST"],
  ["/v1/audit", "GET, HEAD"],
  ["/v1/origins", "GET, HEAD"],
  ["/v1/origins/machines", "GET, HEAD"],
  ["/v1/nodes/:name/history", "GET, HEAD"],
  ["/v1/nodes/:name/timeline", "GET, HEAD"],
  ["/v1/nodes/:name/register", "POST"],
  ["/v1/nodes/:name/clones", "GET, HEAD"],
  ["/v1/nodes/:name/believe", "POST"],
  ["/v1/nodes/:name/approve", "POST"],
  ["/v1/nodes/:name/reject", "POST"],
  ["/v1/cluster/history", "GET, HEAD"],
  ["/v1/feed", "GET, HEAD"],
  ["/v1/feed/tickets", "POST"],
  ["/v1/outages", "GET, HEAD"],
  ["/v1/outages/:id", "GET, HEAD"],
  ["/v1/receivers", "GET, HEAD, POST"],
  ["/v1/receivers/:receiver", "PUT, DELETE"],
  ["/v1/receivers/:receiver/test", "POST"],
  ["/v1/receivers/:receiver/letters", "GET, HEAD"],
  ["/v1/receivers/:receiver/letters/:id/resend", "POST"],
  ["/v1/mutes", "GET, HEAD, POST"],
  ["/v1/mutes/:id", "DELETE"],
  ["/v1/nodes/:name/revoke", "POST"],
  ["/v1/operators", "POST, GET, HEAD"],
  ["/v1/operators/:id", "DELETE"],
  ["/v1/session", "POST, GET, HEAD, DELETE"],
  ["/v1/session/codes", "POST"],
  ["/v1/sessions", "GET, HEAD"],
  ["/v1/sessions/:id", "DELETE"],
  ["/v1/revocations", "GET, HEAD"],
  ["/v1/settings", "GET, HEAD"],
  ["/v1/silent-nodes", "GET, HEAD"],
  ["/v1/bulk", "POST, GET, HEAD"],
  ["/v1/bulk/:id", "GET, HEAD, DELETE"],
  ["/v1/nodes/:name", "GET, HEAD, PATCH, DELETE"],
  ["/v1/nodes/:name/summary", "GET, HEAD"],
  ["/v1/machines", "GET, HEAD"],
  ["/v1/history", "GET, HEAD"],
];
const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"];

const pathOf = (route: string) => route.replace(":name", "methods-1").replace(":id", "x");
const others = (allow: string) => METHODS.filter((method) => !allow.split(", ").includes(method));

it("the table has every route of the Worker", () => {
  const routes = worker.routes.filter(({ method }) => method !== "ALL").map(({ path }) => path);
  expect(new Set(TAKEN.map(([path]) => path))).toEqual(new Set(routes));
});

describe.each(TAKEN)("%s, by another method", (route, allow) => {
  it.each(others(allow))(`%s → 405, and what is allowed: ${allow}`, async (method) => {
    const response = await send(pathOf(route), { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe(allow);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    if (method !== "HEAD") expect(await response.json()).toMatchObject({ reason: "method-not-allowed" });
  });
});

it.each([
  "/",
  "/v1",
  "/v1/nodes",
  "/v1/tokens/",
  "/v1/tokens/x/y",
  "/v1/nodes/methods-1/reports",
  "/v2/tokens",
])("%s, which is no path of ours, by any method → 404", async (path) => {
  for (const method of METHODS) {
    const response = await send(path, { method });
    expect([method, response.status, response.headers.get("allow")]).toEqual([method, 404, null]);
  }
});

it.each(["/v1/machines?format=csv", "/v1/session", "/v1/nobody's"])(
  "%s → a browser keeps no copy, and takes no text of a machine's for a page",
  async (path) => {
    const { headers } = await send(path, {});
    expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual([
      "no-store",
      "nosniff",
    ]);
  },
);

it.each(["/v1/nodes/Upper/report", "/v1/gateways/7/nodes/Upper", "/v1/gateways/7/nodes/%65dge-1"])(
  "a name that is none, by another method → 400, as by any: %s",
  async (path) => {
    for (const method of ["GET", "PATCH"]) {
      const response = await send(path, { method });
      expect([response.status, await response.json()]).toMatchObject([400, { reason: "invalid-name" }]);
    }
  },
);
