// Tests that the platform counts failures as wrangler.toml configures it, that the Worker's code has the same limit,
// and that an isolate remembers a limited number of addresses for a limited time.
import { env } from "cloudflare:workers";
import { Hono } from "hono/tiny";
import { expect, it } from "vitest";
// oxlint-disable-next-line import/default -- with ?raw the bundler exports the text
import wrangler from "../../../wrangler.toml?raw";
import {
  FAILURE_LIMIT,
  MAX_ADDRESSES,
  refuseEarly,
  refuseUnproven,
} from "../../../worker/http/failure-limits.ts";
import type { App } from "../../../worker/http/responses.ts";
import { newIsolate } from "../../../worker/isolate.ts";
import { setClock } from "../support/clock.ts";

it("the limit of failures equals the one in wrangler.toml", () => {
  const [, limit, period] =
    /name = "FAILURES"[^[]*simple = \{ limit = (\d+), period = (\d+) \}/.exec(wrangler) ?? [];
  expect(FAILURE_LIMIT).toEqual({ failures: Number(limit), seconds: Number(period) });
});

/** Returns an isolate, and a function that sends a request from an address. `FAILURES`: the platform's counter. */
function asking(FAILURES: unknown) {
  const isolate = newIsolate(() => Promise.reject(new Error("no request")));
  const app = new Hono<App>();
  app.use((c, next) => {
    c.set("isolate", isolate);
    return next();
  });
  app.get("/fails", (c) => refuseUnproven(c, "forbidden"));
  app.get("/early", (c) => refuseEarly(c) ?? c.text("not refused"));
  const ask = async (path: string, index: number) => {
    const address = `192.0.${index >> 8}.${index & 255}`;
    const headers = { "cf-connecting-ip": address };
    return (await app.request(path, { headers }, { ...env, FAILURES })).status;
  };
  return { isolate, ask };
}
const ABOVE = { limit: () => Promise.resolve({ success: false }) };

it("as many addresses above the limit as an isolate remembers, and one more → the oldest is forgotten", async () => {
  const { isolate, ask } = asking(ABOVE);
  for (let index = 0; index < MAX_ADDRESSES; index++) expect(await ask("/fails", index)).toBe(429);
  expect([isolate.overLimitUntilMs.size, await ask("/early", 0)]).toEqual([MAX_ADDRESSES, 429]);
  expect(await ask("/fails", MAX_ADDRESSES)).toBe(429);
  expect(isolate.overLimitUntilMs.size).toBe(MAX_ADDRESSES);
  expect(await Promise.all([0, 1, MAX_ADDRESSES].map((index) => ask("/early", index)))).toEqual([
    200, 429, 429,
  ]);
});

it("an address above the limit → refused for as long as the limit counts, and not a millisecond longer", async () => {
  const { ask } = asking(ABOVE);
  const startMs = Date.now();
  setClock(startMs);
  await ask("/fails", 1);
  setClock(startMs + 1000 * FAILURE_LIMIT.seconds - 1);
  expect(await ask("/early", 1)).toBe(429);
  setClock(startMs + 1000 * FAILURE_LIMIT.seconds);
  expect(await ask("/early", 1)).toBe(200);
});

it("a platform that counts no failures → refused, without a limit", async () => {
  expect(await asking(undefined).ask("/fails", 1)).toBe(403);
});
