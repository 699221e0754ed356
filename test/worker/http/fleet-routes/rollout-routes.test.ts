// Tests the operators' routes for the rollout: accepted and refused bodies, and answers.
import { describe, expect, it } from "vitest";
import { rolloutSchema } from "../../../../shared/protocol/fleet-answers.ts";
import { operator } from "../../support/machine.ts";

const wish = { version: "0.2.0", percent: 10 };

it("set, shown, stopped, ended", async () => {
  expect(await operator("GET", "/v1/rollout")).toMatchObject({ status: 200, body: { rollout: null } });
  const set = await operator("PUT", "/v1/rollout", wish);
  expect(rolloutSchema.parse(set.body).rollout).toMatchObject({
    ...wish,
    selector: "",
    mostSilentPercent: 2,
    atOnce: 50,
    who: "admin secret",
    stopped: null,
  });
  expect((await operator("GET", "/v1/rollout")).body).toEqual(set.body);
  const stopped = await operator("POST", "/v1/rollout/stop");
  expect(stopped).toMatchObject({
    status: 200,
    body: { rollout: { stopped: { why: "admin secret stopped it" } } },
  });
  expect((await operator("DELETE", "/v1/rollout")).status).toBe(204);
});

it.each([
  ["POST", "/v1/rollout/stop"],
  ["DELETE", "/v1/rollout"],
])("%s %s without a rollout → 404", async (method, path) => {
  expect(await operator(method, path)).toMatchObject({ status: 404, body: { reason: "not-found" } });
});

describe("the body", () => {
  const full = { ...wish, selector: "site=a", mostSilentPercent: 0, atOnce: 1 };
  it.each<[what: string, change: object, pointer: string | null]>([
    ["all fields at their least", { percent: 1 }, null],
    ["at their most", { percent: 100, mostSilentPercent: 100, atOnce: 1000 }, null],
    ["a candidate", { version: "0.2.0-rc.1" }, null],
    ["a version of 64 characters", { version: `0.2.0-${"a".repeat(58)}` }, null],
    ["of 65", { version: `0.2.0-${"a".repeat(59)}` }, "/version"],
    ["no version", { version: "latest" }, "/version"],
    ["a flag for a package manager", { version: "0.2.0 --force" }, "/version"],
    ["0 %", { percent: 0 }, "/percent"],
    ["101 %", { percent: 101 }, "/percent"],
    ["a half", { percent: 0.5 }, "/percent"],
    ["no selector", { selector: "site==a==b" }, "/selector"],
    ["less than none silent", { mostSilentPercent: -1 }, "/mostSilentPercent"],
    ["none at once", { atOnce: 0 }, "/atOnce"],
    ["1,001 at once", { atOnce: 1001 }, "/atOnce"],
    ["an unknown field", { force: true }, "/force"],
  ])("%s → taken, or refused by its name", async (_, change, pointer) => {
    const { status, body } = await operator("PUT", "/v1/rollout", { ...full, ...change });
    expect([status, body["pointer"] ?? null]).toEqual([pointer === null ? 200 : 400, pointer]);
    await operator("DELETE", "/v1/rollout");
  });
});
