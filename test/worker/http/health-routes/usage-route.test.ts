// Tests GET /v1/usage: its credentials, and its answer if a gateway or the registry does not respond.
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, test } from "vitest";
import worker from "../../../../worker/index.ts";
import { METRICS_SECRET, ORIGIN, VIEW_SECRET } from "../../support/constants.ts";

const edge = (gateway: string) => ({ name: `edge-${gateway}` });
const REGISTRY = { getByName: () => ({ gatewaysInUse: () => Promise.resolve([1, 2]) }) };
const GATEWAYS = {
  getByName: (number: string) => ({ usage: () => Promise.resolve([edge(number)]) }),
};
const fails = { getByName: () => ({ gatewaysInUse: () => Promise.reject(new Error("overloaded")) }) };

async function ask(more: object = {}, secret = VIEW_SECRET, query = "") {
  const request = new Request(`${ORIGIN}/v1/usage${query}`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  const response = await worker.fetch(
    request,
    { ...env, REGISTRY, GATEWAYS, ...more },
    createExecutionContext(),
  );
  return { status: response.status, body: await response.json() };
}

describe("the answer", () => {
  const NODES = { getByName: () => expect.fail("woken"), get: () => expect.fail("woken") };
  const second = {
    getByName: (number: string) =>
      number === "2"
        ? { usage: () => Promise.reject(new Error("an earlier Worker")) }
        : GATEWAYS.getByName(number),
  };
  test.each<[situation: string, more: object, body: object]>([
    [
      "all gateways' machines; no machine's object wakes",
      { NODES },
      { machines: [edge("1"), edge("2")], isComplete: true },
    ],
    ["a gateway does not answer", { GATEWAYS: second }, { machines: [edge("1")], isComplete: false }],
    ["the registry does not answer", { REGISTRY: fails }, { machines: [], isComplete: false }],
  ])("%s", async (_, more, body) => {
    expect(await ask(more)).toEqual({ status: 200, body });
  });
});

it("?name= → only that machine", async () => {
  expect((await ask({}, VIEW_SECRET, "?name=edge-2")).body).toEqual({
    machines: [edge("2")],
    isComplete: true,
  });
});

it("the scraper's secret is refused", async () => {
  expect((await ask({}, METRICS_SECRET)).status).toBe(403);
});
