// Tests when a reporter uses a socket: the reports, heartbeats and requests by HTTP, with the test's socket.
import { decodeJwt } from "jose";
import { expect, it, test } from "vitest";
import { makeMachineKey } from "../../../../node-shim/identity/identity.ts";
import { type ReportLink, reporter, type SignedReport } from "../../../../node-shim/worker-link/reporter.ts";
import type { Facts } from "../../../../shared/protocol/facts.ts";
import type { Report, Vitals } from "../../../../shared/protocol/report.ts";

const FACTS = { platform: { os: "linux", architecture: "amd64" } } as Facts;
const VITALS: Vitals = { signals: { "memory.available": [100, 200] } };
const ANSWER = { phase: "registered", ready: true, ticket: "t", reportInMs: 9600 };
const OFFER = { path: "/v1/gateways/7/nodes/edge-1", withinMs: 0 };
const key = await makeMachineKey();

type SocketAnswer = { status: number; body: unknown } | null;
type Situation = { answer?: SocketAnswer; nextInMs?: number | null };

/**
 * Makes a reporter with a socket. `log` has the reports ("socket", "http"), with the time without an answer if they
 * have one, and heartbeats ("beat"). `now` is what the test may change: the time, the answers, the socket's loss.
 */
function onSocket({ answer = { status: 200, body: ANSWER }, nextInMs = 9500 }: Situation = {}) {
  const log: string[] = [];
  const tokens: string[] = [];
  const offers: unknown[] = [];
  const http = { status: 200, body: { ...ANSWER, socket: OFFER } as unknown };
  const now = { ms: 0, answer, http, nextInMs, isLost: false, isOver: false };
  const noted = (way: string, body: string) => {
    const { noAnswerSeconds } = JSON.parse(body) as Report;
    log.push(noAnswerSeconds === undefined ? way : `${way} after ${noAnswerSeconds} s`);
  };
  const socket = {
    publicKey: "public",
    report: ({ token, body, vitals }: SignedReport) => {
      expect(vitals).toEqual((JSON.parse(body) as Report).vitals);
      tokens.push(token);
      noted("socket", body);
      return Promise.resolve(now.answer);
    },
    heartbeat: (_vitals: Vitals, at: number) => {
      log.push(`beat ${at}`);
      return Promise.resolve(now.nextInMs);
    },
  };
  const link: ReportLink = {
    headers: () => ({ "rollcall-transport": "socket" }),
    offered: (offer) => offers.push(offer),
    socket: () => (now.isLost ? null : socket),
    isOver: () => now.isOver,
  };
  const report = reporter({
    name: "edge-1",
    origin: "https://rollcall.example.com",
    key,
    kid: "k",
    startId: "start",
    machineTime: () => "1970-01-01T00:00:07Z",
    nowMs: () => now.ms,
    link,
    send: ({ headers, body }) => {
      tokens.push(headers["authorization"]!.replace("Bearer ", ""));
      noted(`http ${headers["rollcall-transport"]}`, body);
      return Promise.resolve({ status: now.http.status, body: JSON.stringify(now.http.body) });
    },
  });
  return { report: () => report(FACTS, VITALS), log, tokens, offers, now };
}

it("an open socket → a report over it, signed for the socket, and then heartbeats with the machine's time", async () => {
  const { report, log, tokens } = onSocket();
  expect(await report()).toEqual({ ok: true, value: ANSWER });
  expect(await report()).toEqual({ ok: true, value: { ...ANSWER, reportInMs: 9500 } });
  expect(log).toEqual(["socket", "beat 7000"]);
  expect(decodeJwt(tokens[0]!)).toMatchObject({ session: "public", ticket: "", n: 1 });
});

it("the socket has no answer → the same report by HTTP, signed for no socket, and the offer is taken", async () => {
  const { report, log, tokens, offers } = onSocket({ answer: null });
  expect((await report()).ok).toBe(true);
  expect([log, offers]).toEqual([["socket", "http socket"], [OFFER]]);
  expect(decodeJwt(tokens[1]!)).not.toHaveProperty("session");
});

it("the socket has no answer at the end of the process → no request by HTTP", async () => {
  const { report, log, now } = onSocket({ answer: null });
  now.isOver = true;
  expect(await report()).toMatchObject({ ok: false, error: { reason: "failed" } });
  expect(log).toEqual(["socket"]);
});

it("a refused report → the next one is a report again, no heartbeat", async () => {
  const { report, log, now } = onSocket();
  await report();
  now.nextInMs = null;
  now.answer = { status: 500, body: { reason: "internal" } };
  await report();
  Object.assign(now, { nextInMs: 9500, answer: { status: 200, body: ANSWER } });
  await report();
  await report();
  expect(log).toEqual(["socket", "beat 7000", "socket", "socket", "beat 7000"]);
});

test.each<[situation: string, isLost: boolean, last: string]>([
  ["on a lost socket → no answer: the report ten seconds later has the time", true, "http socket after 10 s"],
  ["on an open socket → the gateway wants a report, which is an answer", false, "socket"],
])("a heartbeat without a time for the next one, %s", async (_, isLost, last) => {
  const { report, log, now } = onSocket();
  await report();
  // A refusal neither begins nor ends the time without an answer.
  const refusal = { status: 429, body: { reason: "rate-limited" } };
  Object.assign(now, { nextInMs: null, answer: refusal, http: refusal });
  const beaten = report();
  now.isLost = isLost;
  await beaten;
  now.ms += 10_000;
  await report();
  expect(log.at(-1)).toBe(last);
});

it("ten seconds without an answer → a report with this time in place of a heartbeat; then heartbeats again", async () => {
  const { report, log, now } = onSocket();
  await report();
  now.nextInMs = null;
  now.answer = { status: 503, body: { reason: "busy" } };
  await report();
  now.ms += 10_000;
  Object.assign(now, { nextInMs: 9500, answer: { status: 200, body: ANSWER } });
  await report();
  await report();
  expect(log).toEqual(["socket", "beat 7000", "socket", "socket after 10 s", "beat 7000"]);
});

test.each<[situation: string, body: unknown, error: object]>([
  ["with a wait", { reason: "busy", retryAfterSeconds: 7 }, { reason: "refused", retryAfterMs: 7000 }],
  ["without one", { reason: "busy" }, { reason: "refused" }],
  ["of null", null, { reason: "failed" }],
])("a refusal over the socket %s → the same outcome as by HTTP", async (_, body, error) => {
  const outcome = await onSocket({ answer: { status: 503, body } }).report();
  if (outcome.ok) throw new Error("accepted");
  const { reason, ...rest } = outcome.error;
  const retry = "retryAfterMs" in rest ? { retryAfterMs: rest.retryAfterMs } : {};
  expect({ reason, ...retry }).toEqual(error);
});
