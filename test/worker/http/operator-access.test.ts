// Tests which operators an isolate remembers, and for how long.
import { env } from "cloudflare:workers";
import { Hono } from "hono/tiny";
import { expect, it } from "vitest";
import { MAX_OPERATORS, OPERATOR_KEPT_MS, operatorWithSecret } from "../../../worker/http/operator-access.ts";
import type { App } from "../../../worker/http/responses.ts";
import { newIsolate } from "../../../worker/isolate.ts";
import { setClock } from "../support/clock.ts";

/** Returns an isolate, and a function that sends a request with a secret. `expiresAtMs`: when each operator expires. */
function asking(expiresAtMs: number) {
  const isolate = newIsolate(() => Promise.reject(new Error("no request")));
  let asked = 0;
  const useOperator = () => Promise.resolve((asked++, { name: "a", role: "view", expiresAtMs }));
  const environment = { ...env, REGISTRY: { getByName: () => ({ useOperator }) } };
  const app = new Hono<App>();
  app.get("/:secret", async (c) => {
    c.set("isolate", isolate);
    return c.json((await operatorWithSecret(c, c.req.param("secret"))).ok);
  });
  /** Returns the number of requests to the registry so far. */
  const ask = async (index: number) => {
    const response = await app.request(`/rco_${String(index).padStart(43, "0")}`, {}, environment);
    expect(await response.json()).toBe(true);
    return asked;
  };
  return { isolate, ask };
}

it("as many operators as an isolate remembers → one request to the registry for each; one more → a second request for all", async () => {
  const { isolate, ask } = asking(8.64e15);
  for (let index = 0; index < MAX_OPERATORS; index++) await ask(index);
  expect([await ask(0), await ask(MAX_OPERATORS - 1)]).toEqual([MAX_OPERATORS, MAX_OPERATORS]);
  expect(await ask(MAX_OPERATORS)).toBe(MAX_OPERATORS + 1);
  expect(isolate.operators.size).toBe(1);
});

it.each([
  ["that expires later → trusted for OPERATOR_KEPT_MS", OPERATOR_KEPT_MS + 1, OPERATOR_KEPT_MS],
  ["that expires sooner → trusted until then", 5000, 5000],
])("an operator %s", async (_, lifeMs, trustedMs) => {
  const startMs = Date.now();
  const { ask } = asking(startMs + lifeMs);
  const askedAt = (ms: number) => {
    setClock(startMs + ms);
    return ask(1);
  };
  expect([await askedAt(0), await askedAt(trustedMs - 1), await askedAt(trustedMs)]).toEqual([1, 1, 2]);
});
