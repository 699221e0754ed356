// Tests the PUT of a lease for each answer of the apiserver: one request, and the result that the gateway gets.
import { env } from "cloudflare:workers";
import { describe, expect, it, test } from "vitest";
import type { Environment } from "../../../../worker/env.ts";
import { type LeasePut, leasePutter } from "../../../../worker/gateway/lease.ts";
import { after } from "../../../../worker/clock.ts";
import { HeldToken } from "../../../../worker/kube/token.ts";
import { Durations } from "../../../../worker/metrics/metrics.ts";
import { tokenOf } from "../../support/account-tokens.ts";
import { leaseOf } from "../../support/made-up-gateway.ts";

const LEASE = leaseOf("edge-1", "5");
const status = (code: number, reason: string, headers: HeadersInit = {}) =>
  Response.json({ kind: "Status", status: "Failure", code, reason }, { status: code, headers });

async function put(answers: (Response | Error)[], token = "token") {
  const asked: { line: string; authorization: string | null; body: unknown }[] = [];
  const fetch = (url: string, { method, headers, body }: RequestInit) => {
    const authorization = new Headers(headers).get("authorization");
    asked.push({
      line: `${method} ${new URL(url).pathname}`,
      authorization,
      body: JSON.parse(body as string),
    });
    const answer = answers.shift();
    return answer instanceof Response
      ? Promise.resolve(answer)
      : Promise.reject(answer ?? new Error("one too many"));
  };
  const own = { ...env, KUBE: { fetch } as unknown as Fetcher } as Environment;
  const held = new HeldToken({
    known: {},
    timer: undefined,
    secret: token,
    ask: () => Promise.resolve(null),
    nowMs: () => 0,
    random: () => 0,
  });
  const durations = new Durations(() => 0);
  let requests = 0;
  const outcome = await leasePutter(own, held, durations, after)(LEASE, () => requests++);
  expect(requests).toBe(asked.length);
  return {
    outcome,
    asked,
    codes: durations.samples().map(({ labels }) => `${labels["verb"]} ${labels["code"]}`),
  };
}

test.each<[situation: string, answer: Response | Error, outcome: LeasePut, code: string]>([
  [
    "renewed",
    Response.json(leaseOf("edge-1", "6")),
    { kind: "renewed", lease: leaseOf("edge-1", "6") },
    "200",
  ],
  ["another writer has written it", status(409, "Conflict"), { kind: "lost" }, "409"],
  ["it is gone", status(404, "NotFound"), { kind: "lost" }, "404"],
  [
    "forbidden: this lease is refused",
    status(403, "Forbidden"),
    { kind: "failed", isAnswered: true, isRefused: true, retryAfterMs: 0 },
    "403",
  ],
  [
    "invalid: this lease is refused",
    status(422, "Invalid"),
    { kind: "failed", isAnswered: true, isRefused: true, retryAfterMs: 0 },
    "422",
  ],
  [
    "the token is refused, and there is no other",
    status(401, "Unauthorized"),
    { kind: "failed", isAnswered: true, retryAfterMs: 0 },
    "401",
  ],
  [
    "too many requests: no wait here",
    status(429, "TooManyRequests", { "retry-after": "2" }),
    { kind: "failed", isAnswered: true, retryAfterMs: 2000 },
    "429",
  ],
  [
    "the same, in plain text",
    new Response("Too many requests", { status: 429, headers: { "retry-after": "1" } }),
    { kind: "failed", isAnswered: false, retryAfterMs: 1000 },
    "429",
  ],
  [
    "an error of its own",
    status(500, "InternalError"),
    { kind: "failed", isAnswered: true, retryAfterMs: 0 },
    "500",
  ],
  [
    "a Retry-After that is a date",
    new Response("", { status: 503, headers: { "retry-after": "Thu, 01 Jan 2026 00:00:00 GMT" } }),
    { kind: "failed", isAnswered: false, retryAfterMs: 0 },
    "503",
  ],
  [
    "a tunnel's error page that asks for minutes",
    new Response("<html>", { status: 502, headers: { "retry-after": "120", "content-type": "text/html" } }),
    { kind: "failed", isAnswered: false, retryAfterMs: 0 },
    "502",
  ],
  [
    "a tunnel's error page",
    new Response("<html>", { status: 200 }),
    { kind: "failed", isAnswered: false, retryAfterMs: 0 },
    "200",
  ],
  ["no answer", new Error("connection lost"), { kind: "failed", isAnswered: false, retryAfterMs: 0 }, "none"],
])("%s", async (_, answer, outcome, code) => {
  const { asked, codes, ...put_ } = await put([answer]);
  expect(put_.outcome).toEqual(outcome);
  expect(asked.map(({ line }) => line)).toEqual([
    "PUT /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/edge-1",
  ]);
  expect(codes).toEqual([`PUT ${code}`]);
});

describe("the request", () => {
  it("has version and uid, so that it cannot restore a deleted lease", async () => {
    const { asked } = await put([Response.json(LEASE)]);
    expect(asked[0]).toMatchObject({
      authorization: "Bearer token",
      body: { kind: "Lease", metadata: { uid: "uid-edge-1", resourceVersion: "5" } },
    });
  });

  it("401 → repeated once, with the cluster object's newest token", async () => {
    const [secret, other] = [tokenOf(0, 3_600_000, "secret"), tokenOf(0, 3_600_000, "other")];
    const asked: (string | null)[] = [];
    const fetch = (_: string, { headers }: RequestInit) => {
      asked.push(new Headers(headers).get("authorization"));
      return Promise.resolve(asked.length === 1 ? status(401, "Unauthorized") : Response.json(LEASE));
    };
    const own = { ...env, KUBE: { fetch } as unknown as Fetcher } as Environment;
    const ask = (refused: string | undefined) => Promise.resolve(refused === undefined ? null : other);
    let nowMs = 0;
    const held = new HeldToken({
      known: {},
      timer: undefined,
      secret,
      ask,
      nowMs: () => (nowMs += 60_000),
      random: () => 0,
    });
    const { kind } = await leasePutter(own, held, new Durations(() => 0), after)(LEASE, () => undefined);
    expect([kind, asked]).toEqual(["renewed", [`Bearer ${secret}`, `Bearer ${other}`]]);
  });
});
