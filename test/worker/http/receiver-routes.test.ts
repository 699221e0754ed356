// Tests the operators' routes for notifications: accepted and refused bodies, and that the alarm sends a delivery.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newReceiverSchema } from "../../../shared/protocol/receiver-api.ts";
import type { ChangedReceiver, ReceiverTest } from "../../../shared/protocol/receiver-answers.ts";
import {
  changedReceiverSchema,
  mutesSchema,
  receiversSchema,
  receiverTestSchema,
} from "../../../shared/protocol/receiver-answers.ts";
import { VIEW_SECRET } from "../support/constants.ts";
import { operator, send } from "../support/machine.ts";
import { machineName, updateOf } from "../support/made-up-fleet.ts";
import { eventually } from "../support/clock.ts";

const URL_OF_OPS = "https://hooks.example.com/services/secret-path";
const asked: { url: string; init: RequestInit }[] = [];
const answers = { status: 200 };

beforeEach(() => {
  asked.length = 0;
  answers.status = 200;
  vi.spyOn(globalThis, "fetch").mockImplementation((url, init) => {
    asked.push({ url: url instanceof Request ? url.url : url.toString(), init: init ?? {} });
    return Promise.resolve(new Response("thanks", { status: answers.status }));
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

const add = (wish: object = {}) =>
  operator<ChangedReceiver>("POST", "/v1/receivers", { name: "ops", url: URL_OF_OPS, ...wish });

it("a receiver is added, listed, tested, changed, and removed; its secrets are never shown again", async () => {
  const added = await add({ authorization: "Bearer hidden", format: "alertmanager" });
  expect(added).toMatchObject({
    status: 201,
    body: { name: "ops", url: "https://hooks.example.com/…", repeatMinutes: 60 },
  });
  expect(changedReceiverSchema.parse(added.body).secret).toMatch(/^whsec_/);
  const listed = await operator("GET", "/v1/receivers");
  expect(receiversSchema.parse(listed.body).receivers).toMatchObject([
    { name: "ops", waiting: 0, delaySeconds: 120 },
  ]);
  for (const hidden of [added.body.secret, "hidden", "secret-path"])
    expect(JSON.stringify(listed.body)).not.toContain(hidden);
  const tested = await operator<ReceiverTest>("POST", "/v1/receivers/ops/test");
  expect(receiverTestSchema.parse(tested.body)).toMatchObject({
    arrived: true,
    status: 200,
    answer: "thanks",
  });
  expect(asked).toMatchObject([{ url: URL_OF_OPS, init: { method: "POST", redirect: "manual" } }]);
  const changed = await operator("PUT", "/v1/receivers/ops", { delaySeconds: 0 });
  expect(changed).toMatchObject({
    status: 200,
    body: { secret: null, delaySeconds: 0, format: "json", hasAuthorization: true },
  });
  expect((await operator("DELETE", "/v1/receivers/ops")).status).toBe(204);
  expect((await operator("GET", "/v1/receivers")).body).toEqual({ receivers: [] });
  const { body } = await operator<{ entries: { what: string; target: string }[] }>(
    "GET",
    "/v1/audit?target=ops",
  );
  expect(body.entries.map(({ what }) => what)).toEqual([
    "receiver.remove",
    "receiver.set",
    "receiver.test",
    "receiver.set",
  ]);
  expect(JSON.stringify(body)).not.toContain("secret-path");
});

it("a machine turns silent → the object's alarm sends a delivery; a dead one is sent again with the same ID", async () => {
  // The fleet index of this file, because other tests count the machines of the deployment's own.
  const index = env.INDEX.getByName("receiver-routes");
  const wish = newReceiverSchema.parse({ name: "ops", url: URL_OF_OPS, delaySeconds: 0 });
  await index.putReceiver("ops", { ...wish, newSecret: true }, true, "alice");
  answers.status = 400;
  await index.tell({ ...updateOf(1, 1), generation: 1 });
  await index.tell({ ...updateOf(1, 2, { state: "silent", sinceMs: Date.now() }), generation: 1 });
  expect(await runInDurableObject(index, (_, { storage }) => storage.getAlarm())).not.toBeNull();
  const letters = async (count: number) => {
    await runDurableObjectAlarm(index);
    const found = (await index.letters("ops")) ?? [];
    expect(found.filter(({ state }) => state === "dead")).toHaveLength(count);
    expect(found).toHaveLength(count);
    return found;
  };
  const [dead] = await eventually(() => letters(1));
  expect([dead?.error, dead?.body]).toEqual(["HTTP 400: thanks", expect.stringContaining(machineName(1))]);
  answers.status = 200;
  expect(await index.resendLetter("ops", dead!.id, "alice")).toBe(true);
  await eventually(() => letters(0));
  const ids = asked.map(({ init }) => (init.headers as Record<string, string>)["webhook-id"]);
  expect([ids.length >= 2, new Set(ids).size]).toEqual([true, 1]);
});

it("a mute is made, listed, and ended", async () => {
  const until = new Date(Date.now() + 3600_000).toISOString();
  const made = await operator<{ id: number }>("POST", "/v1/mutes", {
    until,
    selector: "site=berlin",
    comment: "power",
  });
  expect(made).toMatchObject({ status: 201, body: { until, selector: "site=berlin", who: "admin secret" } });
  expect(mutesSchema.parse((await operator("GET", "/v1/mutes")).body).mutes).toEqual([made.body]);
  expect((await operator("DELETE", `/v1/mutes/${made.body.id}`)).status).toBe(204);
  expect((await operator("DELETE", `/v1/mutes/${made.body.id}`)).status).toBe(404);
});

it.each([
  ["an express wish", { allMachines: true }],
  ["no field about machines, as in earlier versions", {}],
])("a mute of all machines by %s → made", async (_, wish) => {
  const until = new Date(Date.now() + 3600_000).toISOString();
  const made = await operator<{ id: number }>("POST", "/v1/mutes", { until, ...wish });
  expect(made).toMatchObject({ status: 201, body: { selector: "", names: "", until } });
  expect(made.body).not.toHaveProperty("allMachines");
  expect((await operator("DELETE", `/v1/mutes/${made.body.id}`)).status).toBe(204);
});

const SOON = "2100-01-01T00:00:00Z";

describe("a fault in a body is named, and nothing changes", () => {
  it.each<[string, string, string, object, string, RegExp]>([
    ["no name", "POST", "/v1/receivers", { url: URL_OF_OPS }, "/name", /./],
    [
      "a name that is none",
      "POST",
      "/v1/receivers",
      { name: "Ops 1", url: URL_OF_OPS },
      "/name",
      /lower case/,
    ],
    ["no address", "POST", "/v1/receivers", { name: "x" }, "/url", /./],
    [
      "a private address",
      "POST",
      "/v1/receivers",
      { name: "x", url: "https://10.0.0.1/" },
      "/url",
      /private/,
    ],
    [
      "a metadata service",
      "POST",
      "/v1/receivers",
      { name: "x", url: "https://[::ffff:169.254.169.254]/" },
      "/url",
      /metadata/,
    ],
    [
      "another format",
      "POST",
      "/v1/receivers",
      { name: "x", url: URL_OF_OPS, format: "xml" },
      "/format",
      /json/,
    ],
    ["no state", "POST", "/v1/receivers", { name: "x", url: URL_OF_OPS, states: [] }, "/states", /./],
    [
      "a state without alerts",
      "POST",
      "/v1/receivers",
      { name: "x", url: URL_OF_OPS, states: ["ready"] },
      "/states/0",
      /silent/,
    ],
    [
      "no selector",
      "POST",
      "/v1/receivers",
      { name: "x", url: URL_OF_OPS, selector: "a in b" },
      "/selector",
      /label selector/,
    ],
    [
      "no pattern",
      "POST",
      "/v1/receivers",
      { name: "x", url: URL_OF_OPS, names: "Edge?" },
      "/names",
      /edge-\*/,
    ],
    [
      "a delay over a day",
      "POST",
      "/v1/receivers",
      { name: "x", url: URL_OF_OPS, delaySeconds: 86_401 },
      "/delaySeconds",
      /./,
    ],
    [
      "a line break in a header",
      "POST",
      "/v1/receivers",
      { name: "x", url: URL_OF_OPS, authorization: "a\nb: c" },
      "/authorization",
      /ASCII/,
    ],
    [
      "an unknown field",
      "POST",
      "/v1/receivers",
      { name: "x", url: URL_OF_OPS, secret: "mine" },
      "/secret",
      /unknown/,
    ],
    ["a mute without an end", "POST", "/v1/mutes", {}, "/until", /./],
    [
      "a mute of an empty selector",
      "POST",
      "/v1/mutes",
      { until: SOON, selector: "" },
      "/selector",
      /allMachines/,
    ],
    ["a mute of an empty name", "POST", "/v1/mutes", { until: SOON, names: "" }, "/names", /allMachines/],
    [
      "a mute of two empty fields",
      "POST",
      "/v1/mutes",
      { until: SOON, names: "", selector: "" },
      "/selector",
      /allMachines/,
    ],
    [
      "a mute of not all machines",
      "POST",
      "/v1/mutes",
      { until: SOON, allMachines: false },
      "/names",
      /allMachines/,
    ],
    [
      "a mute of all and some machines",
      "POST",
      "/v1/mutes",
      { until: SOON, allMachines: true, names: "x" },
      "/allMachines",
      /names/,
    ],
    ["a mute that is over", "POST", "/v1/mutes", { until: "2020-01-01T00:00:00Z" }, "/until", /not over/],
    ["a mute for ever", "POST", "/v1/mutes", { until: "2999-01-01T00:00:00Z" }, "/until", /30 days/],
  ])("%s", async (_, method, path, body, pointer, detail) => {
    const refused = await operator(method, path, body);
    expect(refused).toMatchObject({
      status: 400,
      body: { reason: "invalid-body", pointer, detail: expect.stringMatching(detail) as string },
    });
    expect((await operator("GET", "/v1/receivers")).body).toEqual({ receivers: [] });
    expect((await operator("GET", "/v1/mutes")).body).toEqual({ mutes: [] });
  });
});

it.each([
  ["PUT", "/v1/receivers/nobody", { url: URL_OF_OPS }],
  ["DELETE", "/v1/receivers/nobody", undefined],
  ["POST", "/v1/receivers/nobody/test", undefined],
  ["GET", "/v1/receivers/nobody/letters", undefined],
  ["POST", "/v1/receivers/nobody/letters/1/resend", undefined],
  ["POST", "/v1/receivers/nobody/letters/x/resend", undefined],
  ["DELETE", "/v1/mutes/x", undefined],
])("%s %s, which is not there → 404", async (method, path, body) => {
  expect(await operator(method, path, body)).toMatchObject({ status: 404, body: { reason: "not-found" } });
});

it("a viewer may read, and change nothing", async () => {
  const headers = { authorization: `Bearer ${VIEW_SECRET}` };
  expect((await send("/v1/receivers", { headers })).status).toBe(200);
  const body = JSON.stringify({ name: "x", url: URL_OF_OPS });
  expect((await send("/v1/receivers", { method: "POST", headers, body })).status).toBe(403);
});
