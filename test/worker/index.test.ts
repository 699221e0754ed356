// Tests that the Worker serves the routes of its table: each path's methods, and the answer to any other method.
import { describe, expect, it } from "vitest";
import { ROUTES } from "../../shared/protocol/routes.ts";
import { newOperatorsApp } from "../../worker/http/operators-app.ts";
import worker from "../../worker/index.ts";
import { newIsolate } from "../../worker/isolate.ts";
import { send } from "./support/machine.ts";

/** The methods of each path in the table of routes. */
const TAKEN = Map.groupBy(
  Object.keys(ROUTES).map((name) => name.split(" ") as [method: string, path: string]),
  ([, path]) => path,
);
/** Returns the Allow header of a path. A path with GET also accepts HEAD. */
const allowedOf = (path: string) =>
  (TAKEN.get(path) ?? []).flatMap(([method]) => (method === "GET" ? ["GET", "HEAD"] : [method])).sort();

const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"];

const pathOf = (route: string) => route.replace("{name}", "methods-1").replaceAll(/\{\w+\}/g, "x");

it("the Worker serves each route of the table, and no other", () => {
  const operators = newOperatorsApp(newIsolate(() => expect.fail()));
  const served = [...worker.routes, ...operators.routes]
    .filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
  expect(new Set(served)).toEqual(new Set(Object.keys(ROUTES)));
});

describe.each([...TAKEN.keys()])("%s, with another method", (route) => {
  const allowed = allowedOf(route);
  it.each(METHODS.filter((method) => !allowed.includes(method)))(
    "%s → 405, and what is allowed",
    async (method) => {
      const response = await send(pathOf(route), { method });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")?.split(", ").sort()).toEqual(allowed);
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      if (method !== "HEAD") expect(await response.json()).toMatchObject({ reason: "method-not-allowed" });
    },
  );
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

it.each([
  ["a browser opens it", { "sec-fetch-mode": "navigate" }, "text/html; charset=utf-8"],
  ["a script asks for it", { "sec-fetch-mode": "cors" }, "application/problem+json"],
  ["a program asks for it", {}, "application/problem+json"],
])("an unknown path: %s → 404 as %3$s", async (_, headers, type) => {
  const response = await send("/flet", { headers });
  expect([response.status, response.headers.get("content-type")]).toEqual([404, type]);
  expect((await response.text()).includes('<a href="/">')).toBe(type.startsWith("text/html"));
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

it.each([...TAKEN.keys(), "/", "/v1/tokens/", "/v2/tokens", "/metrics?x=1"])(
  "%s → no browser guesses the type of an answer, by any method",
  async (route) => {
    for (const method of METHODS) {
      const { headers } = await send(pathOf(route), { method });
      expect([method, headers.get("x-content-type-options")]).toEqual([method, "nosniff"]);
    }
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
