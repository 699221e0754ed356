// Tests GET /readyz: its credentials, and its answers with and without a fault.
import { createExecutionContext, evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, test, vi } from "vitest";
import type { WatchState } from "../../../../shared/deployment/watch.ts";
import type { ReadinessAnswer } from "../../../../shared/protocol/operator-answers.ts";
import { registry } from "../../../../worker/env.ts";
import { checkClock } from "../../../../worker/http/health-routes.ts";
import worker from "../../../../worker/index.ts";
import { PROBED_NODE } from "../../../../worker/kube/probe.ts";
import { shift, stopClock } from "../../support/clock.ts";
import { ADMIN_SECRET, ORIGIN, VIEW_SECRET } from "../../support/constants.ts";
import type { Fault } from "../../support/fault.ts";
import { requestsAbout, setFault } from "../../support/machine.ts";

async function ask(more: object = {}, path = "/readyz", secret = ADMIN_SECRET) {
  const request = new Request(ORIGIN + path, { headers: { authorization: `Bearer ${secret}` } });
  const response = await worker.fetch(request, { ...env, ...more }, createExecutionContext());
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
}

/** Returns the answer with the failed checks, for example `{ ORIGINS: "failed" }`. */
async function askedFor(more: object = {}) {
  const { status, text } = await ask(more);
  const { state, checks } = JSON.parse(text) as ReadinessAnswer;
  const faulty = checks.filter(({ state }) => state !== "ok");
  return { status, state, faulty: Object.fromEntries(faulty.map(({ check, state }) => [check, state])) };
}

/**
 * Evicts the registry, which caches the apiserver's answers. The call before the eviction wakes the registry, because
 * only an awake object can be evicted.
 */
async function forgetAnswers(): Promise<void> {
  await registry(env).knows("nobody");
  await evictDurableObject(registry(env));
  await requestsAbout(PROBED_NODE);
}

describe("everything works", () => {
  beforeEach(forgetAnswers);

  it.each([ADMIN_SECRET, VIEW_SECRET])("→ 200, also for a viewer", async (secret) => {
    const { status, type, text } = await ask({}, "/readyz", secret);
    const { state, checks } = JSON.parse(text) as ReadinessAnswer;
    expect([status, type, state]).toEqual([200, "application/json", "ok"]);
    expect(checks.map(({ check }) => check)).toEqual(
      expect.arrayContaining([
        "ORIGINS",
        "KUBE_TOKEN",
        "MAX_IMAGES",
        "token",
        "registry",
        "clock",
        "apiserver",
        "watch",
        "state",
        "limits",
      ]),
    );
  });

  it("?verbose → text", async () => {
    const { status, type, text } = await ask({}, "/readyz?verbose");
    expect([status, type]).toEqual([200, "text/plain; charset=UTF-8"]);
    expect(text).toMatch(/^\[\+\]DEPLOYMENT ok: rollcall .*\n[^]*readyz check passed\n$/);
  });

  it("a hundred requests → one request to the apiserver, for a Node that does not exist", async () => {
    await Promise.all(Array.from({ length: 100 }, () => ask()));
    expect(await requestsAbout(PROBED_NODE)).toEqual([`GET /api/v1/nodes/${PROBED_NODE}`]);
  });

  it("the answer has no part of a secret", async () => {
    const { text } = await ask();
    for (const secret of [
      env.KUBE_TOKEN,
      env.KID_MAC_KEYS.slice(2, 40),
      env.ADMIN_SECRET_SHA256,
      ADMIN_SECRET,
    ])
      expect(text).not.toContain(secret);
  });
});

const inDays = (days: number) => Math.floor(Date.now() / 1000) + days * 86_400;
const tokenUntil = (exp: number) =>
  new SignJWT({ exp, iat: exp - 365 * 86_400 }).setProtectedHeader({ alg: "HS256" }).sign(new Uint8Array(32));

/** Returns a cluster object with a renewed token. */
const renewed = (status: object) => ({
  CLUSTER: { getByName: () => ({ tokenStatus: async () => ({ source: "renewed", ...status }) }) },
});
const LIVE: WatchState = { state: "live", nodes: 1, waiting: 0, beyond: 0 };
const UNANSWERED = { kind: "unanswered", message: "connection refused" };
const tokenStatus = () => Promise.resolve({ source: "secret" });
const watched = (watchState: () => Promise<unknown>) => ({
  NODE_WATCH: "on",
  CLUSTER: { getByName: () => ({ tokenStatus, watchState }) },
});
const heldBack = (held: () => Promise<unknown>) => ({
  INDEX: { getByName: () => ({ stateVersion: () => Promise.resolve(1), heldBack: held }) },
});
const isoIn = (days: number) => new Date(inDays(days) * 1000).toISOString();
const lastFailure = { at: isoIn(0), reason: "refused", message: "403" };

describe("a fault", () => {
  beforeEach(async () => {
    await forgetAnswers();
    vi.spyOn(console, "error").mockImplementation(() => undefined);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await setFault(PROBED_NODE, "");
  });

  it.each<[situation: string, more: () => Promise<object> | object, expected: object]>([
    ["no origins", () => ({ ORIGINS: "" }), { status: 503, state: "failed", faulty: { ORIGINS: "failed" } }],
    [
      "two things → both are named",
      () => ({ KUBE_URL: "", MIN_LEASE_SECONDS: "x" }),
      { status: 503, state: "failed", faulty: { KUBE_URL: "failed", MIN_LEASE_SECONDS: "failed" } },
    ],
    [
      "a token that has ended",
      async () => ({ KUBE_TOKEN: await tokenUntil(inDays(-1)) }),
      { status: 503, state: "failed", faulty: { token: "failed" } },
    ],
    [
      "a renewed token that lasts a day, the secret having ended → all is well",
      async () => ({
        KUBE_TOKEN: await tokenUntil(inDays(-1)),
        ...renewed({ expiresAt: isoIn(1), renewFrom: isoIn(-1) }),
      }),
      { status: 200, state: "ok", faulty: {} },
    ],
    [
      "a secret that could not be renewed → a warning",
      () => renewed({ source: "secret", lastFailure }),
      { status: 200, state: "warning", faulty: { token: "warning" } },
    ],
    [
      "a renewed token without an end → all is well",
      () => renewed({}),
      { status: 200, state: "ok", faulty: {} },
    ],
    [
      "a token that could not be renewed → a warning",
      () => renewed({ expiresAt: isoIn(1), renewFrom: isoIn(-1), lastFailure }),
      { status: 200, state: "warning", faulty: { token: "warning" } },
    ],
    [
      "a renewed token of another deployment's account → a warning",
      () =>
        renewed({ account: "system:serviceaccount:site:other", expiresAt: isoIn(1), renewFrom: isoIn(0.5) }),
      { status: 200, state: "warning", faulty: { token: "warning" } },
    ],
    [
      "a token that could not be renewed until it ended",
      () => renewed({ expiresAt: isoIn(-1), renewFrom: isoIn(-2), lastFailure }),
      { status: 503, state: "failed", faulty: { token: "failed" } },
    ],
    [
      "a cluster object that does not answer → the secret's own end counts",
      async () => ({
        KUBE_TOKEN: await tokenUntil(inDays(-1)),
        CLUSTER: { getByName: () => ({ tokenStatus: () => Promise.reject(new Error("overloaded")) }) },
      }),
      { status: 503, state: "failed", faulty: { token: "failed" } },
    ],
    [
      "a watch that is down → a warning: machines are served as ever",
      () => watched(() => Promise.resolve({ state: { ...LIVE, state: "down", error: UNANSWERED } })),
      { status: 200, state: "warning", faulty: { watch: "warning" } },
    ],
    [
      "a cluster object that does not say how the watch is → a warning",
      () => watched(() => Promise.reject(new Error("overloaded"))),
      { status: 200, state: "warning", faulty: { watch: "warning" } },
    ],
    [
      "a watch that is live → all is well",
      () => watched(() => Promise.resolve({ state: LIVE })),
      { status: 200, state: "ok", faulty: {} },
    ],
    [
      "a limit that machines share → a warning, with the join token and the time",
      () => heldBack(() => Promise.resolve([{ what: "new Nodes", who: "tok-1", sinceMs: 0 }])),
      { status: 200, state: "warning", faulty: { limits: "warning" } },
    ],
    [
      "a fleet index that does not answer → a warning",
      () => heldBack(() => Promise.reject(new Error("overloaded"))),
      { status: 200, state: "warning", faulty: { limits: "warning" } },
    ],
    [
      "a token that ends soon → a warning, and 200",
      async () => ({ KUBE_TOKEN: await tokenUntil(inDays(2)) }),
      { status: 200, state: "warning", faulty: { token: "warning" } },
    ],
  ])("%s", async (_, more, expected) => {
    expect(await askedFor(await more())).toEqual(expected);
  });

  it.each<[situation: string, fault: Fault, said: RegExp]>([
    [
      "the token is not accepted",
      { kind: "status", code: 401, message: "Unauthorized" },
      /not accept the token/,
    ],
    ["the account may not", { kind: "status", code: 403, reason: "Forbidden" }, /does not let/],
    ["it fails", { kind: "status", code: 500 }, /answers 500/],
    ["a tunnel answers", { kind: "html" }, /does not answer/],
  ])("the apiserver: %s → 503, with a cure", async (_, fault, said) => {
    await setFault(PROBED_NODE, fault);
    const { status, text } = await ask();
    const { checks } = JSON.parse(text) as ReadinessAnswer;
    const apiserver = checks.find(({ check }) => check === "apiserver");
    expect([status, apiserver]).toMatchObject([
      503,
      { state: "failed", message: expect.stringMatching(said), cure: expect.any(String) },
    ]);
  });

  it.each<[situation: string, fault: Fault | "", since: string[]]>([
    [
      "it does not answer the probe → since the time that the watch knows, which is no other check's",
      { kind: "html" },
      ["apiserver"],
    ],
    ["it answers the probe → no check has that time", "", []],
  ])("the apiserver does not answer the watch: %s", async (_, fault, expected) => {
    stopClock();
    onTestFinished(() => void vi.useRealTimers());
    await ask();
    const unansweredSinceMs = Date.now() + 1000;
    shift(60_000);
    await setFault(PROBED_NODE, fault);
    const { text } = await ask(watched(() => Promise.resolve({ state: { ...LIVE, unansweredSinceMs } })));
    const { checks } = JSON.parse(text) as ReadinessAnswer;
    const since = new Date(unansweredSinceMs).toISOString();
    expect(checks.filter((each) => each.since === since).map(({ check }) => check)).toEqual(expected);
  });

  it("the registry does not answer → 503, with the other checks", async () => {
    const REGISTRY = { getByName: () => ({ readiness: () => Promise.reject(new Error("overloaded")) }) };
    expect(await askedFor({ REGISTRY })).toEqual({
      status: 503,
      state: "failed",
      faulty: { registry: "failed" },
    });
    const { checks } = JSON.parse((await ask({ REGISTRY })).text) as ReadinessAnswer;
    expect(checks.find(({ check }) => check === "state")?.message).toMatch(
      /^its versions: registry \?, cluster v\d+, index v\d+$/,
    );
  });
});

it("the versions of the stored state → of one machine's object and of one gateway, on behalf of all", async () => {
  const object = (version: number, more: object = {}) => ({
    getByName: () => ({ stateVersion: () => Promise.resolve(version || null), ...more }),
  });
  const { text } = await ask({
    REGISTRY: object(4, {
      sampleNames: () => Promise.resolve(["edge-1"]),
      gatewaysInUse: () => Promise.resolve([7, 8]),
    }),
    CLUSTER: object(0),
    INDEX: object(3),
    NODES: object(2),
    GATEWAYS: object(1),
  });
  const { checks } = JSON.parse(text) as ReadinessAnswer;
  expect(checks.find(({ check }) => check === "state")?.message).toBe(
    "its versions: registry v4, cluster v0, index v3, edge-1 v2, gateway 7 v1",
  );
});

const NOW = Date.parse("2026-03-01T00:00:00Z");
test.each([
  [60_000, "ok", "within 60 s of the registry's"],
  [60_001, "failed", "60 s ahead of the registry's: machines cannot enrol"],
  [-60_000, "ok", "within 60 s of the registry's"],
  [-60_001, "failed", "60 s behind the registry's: machines cannot enrol"],
])("a registry whose clock is %i ms behind → %s: %s", (ms, state, message) => {
  expect(checkClock(NOW, NOW - ms)).toMatchObject({ state, message });
});
