// Tests that the answer to a query that a route does not accept names the parameter and the expected value.
import { expect, it } from "vitest";
import { LIMITS } from "../../../shared/protocol/limits.ts";
import { ADMIN_SECRET, VIEW_SECRET } from "../support/constants.ts";
import { operator, send } from "../support/machine.ts";

const KNOWN = "by, target, before, format, limit";

it.each([
  ["unknown", "/v1/audit?since=1", "since", `unknown parameter; expected one of ${KNOWN}`],
  ["an object's own property", "/v1/audit?constructor=1", "constructor", expect.stringContaining("unknown")],
  ["unknown, with the signs of a pointer", "/v1/audit?a~/b=1", "a~/b", expect.stringContaining("unknown")],
  [
    "unknown, where one is taken",
    "/v1/origins?limit=1",
    "limit",
    "unknown parameter; expected one of format",
  ],
  ["unknown, where none is taken", "/v1/nodes/a?limit=1", "limit", "unknown parameter; expected none"],
  ["no number", "/v1/audit?before=x", "before", "Invalid input: expected number, received NaN"],
  ["below its limit", "/v1/audit?limit=0", "limit", "Too small: expected number to be >=1"],
  ["of no such word", "/v1/audit?by=nobody", "by", expect.stringContaining("expected one of")],
  ["no time", "/v1/nodes/a/history?since=now", "since", "expected a time: 2026-01-31T12:00:00Z"],
  ["there twice", "/v1/audit?target=a&target=b", "target", "Invalid input: expected string, received array"],
  ["absent", "/v1/origins/machines", "origin", "Invalid input: expected string, received undefined"],
])("a parameter that is %s → 400", async (_, path, parameter, detail) => {
  expect(await operator("GET", path)).toEqual({
    status: 400,
    body: expect.objectContaining({ reason: "invalid-query", parameter, detail }),
  });
});

it("a parameter of any length → the answer is limited in size", async () => {
  const { body } = await operator("GET", `/v1/tokens?${"x".repeat(LIMITS.textLength + 1)}=1`);
  expect(body["parameter"]).toHaveLength(LIMITS.textLength);
});

it("a change with an unknown parameter → 400, and nothing changes", async () => {
  const wish = { names: "queried", uses: 1, expiresInSeconds: 60 };
  const listed = async () => (await operator<{ tokens: unknown[] }>("GET", "/v1/tokens")).body.tokens.length;
  const before = await listed();
  expect(await operator("POST", "/v1/tokens?dryRun=true", wish)).toMatchObject({
    status: 400,
    body: { parameter: "dryRun" },
  });
  expect(await listed()).toBe(before);
});

it.each([ADMIN_SECRET, VIEW_SECRET])("HEAD is a GET without a body, also for viewers", async (secret) => {
  const headers = { authorization: `Bearer ${secret}` };
  const response = await send("/v1/tokens", { method: "HEAD", headers });
  expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([
    200,
    "application/json",
    "",
  ]);
});
