// Tests which operators an isolate remembers.
import { env } from "cloudflare:workers";
import { Hono } from "hono/tiny";
import { expect, it } from "vitest";
import { MAX_OPERATORS, operatorWithSecret } from "../../../worker/http/operator-access.ts";
import type { App } from "../../../worker/http/responses.ts";
import { newIsolate } from "../../../worker/isolate.ts";

it("as many operators as an isolate remembers → one request to the registry for each; one more → a second request for all", async () => {
  const isolate = newIsolate(() => Promise.reject(new Error("no request")));
  let asked = 0;
  const useOperator = () => Promise.resolve((asked++, { name: "a", role: "view", expiresAtMs: 8.64e15 }));
  const environment = { ...env, REGISTRY: { getByName: () => ({ useOperator }) } };
  const app = new Hono<App>();
  app.get("/:secret", async (c) => {
    c.set("isolate", isolate);
    return c.json((await operatorWithSecret(c, c.req.param("secret"))).ok);
  });
  const ask = async (index: number) => {
    const response = await app.request(`/rco_${String(index).padStart(43, "0")}`, {}, environment);
    expect(await response.json()).toBe(true);
    return asked;
  };
  for (let index = 0; index < MAX_OPERATORS; index++) await ask(index);
  expect([await ask(0), await ask(MAX_OPERATORS - 1)]).toEqual([MAX_OPERATORS, MAX_OPERATORS]);
  expect(await ask(MAX_OPERATORS)).toBe(MAX_OPERATORS + 1);
  expect(isolate.operators.size).toBe(1);
});
