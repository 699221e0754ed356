// Tests how the operator's command line reads answers, and its errors for unreadable answers.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ZodMiniType } from "zod/mini";
import { ask, readAnswer } from "../../../infra/operator/client.ts";
import {
  auditSchema,
  clusterHistorySchema,
  historySchema,
  mintedTokenSchema,
  originMachinesSchema,
  originsSchema,
  pendingSchema,
  readinessSchema,
  sendersSchema,
  shownNodeSchema,
  tokensSchema,
} from "../../../shared/protocol/operator-answers.ts";
import type { OperatorFault } from "../../../infra/operator/fault.ts";
import type { Result } from "../../../shared/result.ts";

const at = "2026-01-02T03:04:05.000Z";
const token = {
  id: "i",
  names: "edge-*",
  rejoin: false,
  uses: 2,
  used: 1,
  reserved: 0,
  state: "valid",
  createdAt: at,
  createdBy: "admin secret",
  expiresAt: at,
  withoutFactsOnlyTaint: false,
};
const machine = { thumbprint: "k", machineID: "m", systemUUID: "s", address: "" };
const pending = { name: "edge-7", token: "i", ...machine, askedAt: at, expiresAt: at };
const double = { phase: "cloned", since: at, lastTurn: at, turns: 3 };
const sender = { machineID: "m", bootID: "b", process: "p", since: at, isBelieved: true };

const REQUEST = {
  method: "GET",
  path: "/v1/nodes/edge-9",
  answersWith: 503,
  missing: "no machine edge-9",
  typed: { labels: "--label" },
} as const;

const shownNode = {
  name: "edge-7",
  thumbprint: "k",
  phase: "registered",
  isReady: true,
  silentSince: null,
  lastReportAt: null,
  runtime: "auto",
  conditions: [{ type: "Ready", status: "True", message: "m" }],
};

const reading =
  <T>(schema: ZodMiniType<T>) =>
  (answered: unknown): Result<unknown, OperatorFault> =>
    readAnswer(schema, answered);

describe.each([
  ["a minted token", reading(mintedTokenSchema), { ...token, token: "rcj1_x" }, { ...token }, "/token"],
  [
    "tokens",
    reading(tokensSchema),
    { tokens: [token] },
    { tokens: [{ ...token, uses: "2" }] },
    "/tokens/0/uses",
  ],
  [
    "a machine",
    reading(shownNodeSchema),
    { ...shownNode, phase: null, silentSince: at, lastReportAt: at },
    { ...shownNode, conditions: [{ type: "Ready" }] },
    "/conditions/0/status",
  ],
  [
    "machines that wait",
    reading(pendingSchema),
    {
      pending: [
        { ...pending, pinned: null },
        { ...pending, pinned: { ...machine, pinnedAt: at, hasReported: true } },
      ],
    },
    { pending: [pending] },
    "/pending/0/pinned",
  ],
  [
    "the audit log",
    reading(auditSchema),
    { entries: [{ id: 1, at, who: "admin secret", what: "node.invented", target: "edge-7", detail: "" }] },
    { entries: {} },
    "/entries",
  ],
  [
    "origins",
    reading(originsSchema),
    { origins: [{ origin: "https://a.test", isConfigured: true, lastUsedAt: null, machines: 0 }] },
    {},
    "/origins",
  ],
  [
    "an origin's machines",
    reading(originMachinesSchema),
    { machines: [{ name: "edge-7", lastUsedAt: at }] },
    { machines: [null] },
    "/machines/0",
  ],
  [
    "a history",
    reading(historySchema),
    { entries: [{ id: 1, at, kind: "invented", text: "t" }] },
    { entries: [{ id: 1, at }] },
    "/entries/0/kind",
  ],
  [
    "the cluster's history",
    reading(clusterHistorySchema),
    { entries: [{ id: 1, at, text: "t" }] },
    { entries: [{ id: 1, at }] },
    "/entries/0/text",
  ],
  [
    "readiness",
    reading(readinessSchema),
    {
      state: "odd",
      checks: [{ check: "token", state: "odd", message: "m", cure: "c", checkedAt: at, since: at }],
    },
    { state: "ok", checks: [{ check: "token" }] },
    "/checks/0/state",
  ],
  ["senders", reading(sendersSchema), { double, senders: [sender] }, { double, senders: null }, "/senders"],
] as const)("%s", (_, read, answer, other, pointer) => {
  it("as this version has it → read as it is", () => {
    expect(read(answer)).toEqual({ ok: true, value: answer });
  });

  it("of a newer version, which has more to say → read", () => {
    expect(read({ ...answer, more: 1 })).toEqual({ ok: true, value: answer });
  });

  it.each([
    ["of a version that says it otherwise", other, pointer],
    ["that is none", null, "/"],
  ])("%s → an error that names the first difference, and what to do", (__, answered, where) => {
    const outcome = read(answered);
    expect(outcome).toMatchObject({
      ok: false,
      error: { reason: "failed", message: expect.stringContaining(`(at ${where}: `) },
    });
    expect(outcome).toMatchObject({
      error: { message: expect.stringMatching(/Worker's version of it, or use --json$/) },
    });
  });
});

describe("what is answered", () => {
  let server: Server;
  let answer: { status: number; body: string };
  let url: string;

  beforeAll(async () => {
    server = createServer((_, response) => response.writeHead(answer.status).end(answer.body));
    await new Promise<void>((ready) => void server.listen(0, "127.0.0.1", ready));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  it.each([
    ["a body → as it was sent", 200, '{"a":1}', { ok: true, value: { a: 1 } }],
    ["no body → null", 204, "", { ok: true, value: null }],
    [
      "readiness, where a check has failed → an answer",
      503,
      '{"state":"failed"}',
      { ok: true, value: { state: "failed" } },
    ],
    [
      "a problem of the same status → its words",
      503,
      '{"title":"The Worker is not configured","detail":"set it"}',
      { ok: false, error: { reason: "failed", message: "The Worker is not configured. set it" } },
    ],
    [
      "a problem → its words",
      400,
      '{"title":"The body does not follow the protocol","detail":"too long","pointer":"/names"}',
      {
        ok: false,
        error: { reason: "usage", message: "The body does not follow the protocol. too long (at /names)" },
      },
    ],
    [
      "a problem with what was typed → the words that were typed",
      400,
      '{"title":"The body does not follow the protocol","detail":"not a label\'s value","pointer":"/labels/site"}',
      { ok: false, error: { reason: "usage", message: "--label: not a label's value" } },
    ],
    [
      "nothing there → what is missing",
      404,
      '{"title":"There is nothing here","reason":"not-found"}',
      { ok: false, error: { reason: "not-found", message: "no machine edge-9" } },
    ],
    [
      "a page → is this a Worker?",
      502,
      "<html>",
      {
        ok: false,
        error: { reason: "unreachable", message: expect.stringMatching(/HTTP 502 .*a rollcall Worker\?/) },
      },
    ],
    [
      "a page with 200 → is this a Worker?",
      200,
      "<html>",
      {
        ok: false,
        error: { reason: "unreachable", message: expect.stringMatching(/HTTP 200 and no reason/) },
      },
    ],
    [
      "credentials that do not do → refused",
      403,
      '{"title":"The request needs the operator\'s credentials","detail":"they are not good"}',
      { ok: false, error: { reason: "refused", message: expect.stringMatching(/credentials. they are/) } },
    ],
    [
      "a parameter that is wrong → the flag that was typed",
      400,
      '{"title":"The query is wrong","detail":"must be from 1","parameter":"labels"}',
      { ok: false, error: { reason: "usage", message: "--label: must be from 1" } },
    ],
    [
      "a login → says so",
      302,
      "",
      { ok: false, error: { reason: "refused", message: expect.stringContaining("CF_ACCESS_CLIENT_ID") } },
    ],
  ])("%s", async (_, status, body, outcome) => {
    answer = { status, body };
    expect(await ask({ url, headers: {} }, REQUEST)).toEqual(outcome);
  });
});
