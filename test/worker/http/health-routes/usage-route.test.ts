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

/** The second gateway does not answer. */
const second = {
  getByName: (number: string) =>
    number === "2"
      ? { usage: () => Promise.reject(new Error("an earlier Worker")) }
      : GATEWAYS.getByName(number),
};

describe("the answer", () => {
  const NODES = { getByName: () => expect.fail("woken"), get: () => expect.fail("woken") };
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

describe("?name=edge-2", () => {
  const knows = (isKnown: boolean) => ({ getByName: () => ({ knows: () => Promise.resolve(isKnown) }) });
  const at = (gateway: number | null) => ({
    getByName: () => ({ whereToAsk: () => Promise.resolve({ gateway }) }),
  });
  const only = {
    getByName: (number: string) => ({
      usage: () =>
        number === "2" ? Promise.resolve([edge("1"), edge("2")]) : expect.fail("another gateway was asked"),
    }),
  };
  const unwoken = { getByName: () => expect.fail("woken") };
  test.each<[situation: string, more: object, body: object]>([
    [
      "its gateway alone is asked",
      { REGISTRY: knows(true), NODES: at(2), GATEWAYS: only },
      { machines: [edge("2")], isComplete: true },
    ],
    ["it has no socket", { REGISTRY: knows(true), NODES: at(null) }, { machines: [], isComplete: true }],
    [
      "no machine has the name",
      { REGISTRY: knows(false), NODES: unwoken },
      { machines: [], isComplete: true },
    ],
    [
      "its gateway does not answer",
      { REGISTRY: knows(true), NODES: at(2), GATEWAYS: second },
      { machines: [], isComplete: false },
    ],
  ])("%s", async (_, more, body) => {
    expect(await ask(more, VIEW_SECRET, "?name=edge-2")).toEqual({ status: 200, body });
  });
});

it("the scraper's secret is refused", async () => {
  expect((await ask({}, METRICS_SECRET)).status).toBe(403);
});
