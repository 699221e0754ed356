// Tests a chain of tokens over days: when a token is requested, with which earlier token, and how operators see
// failures.
import { describe, expect, it, test } from "vitest";
import type { Event } from "../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../shared/result.ts";
import { type KeptChain, TokenChain } from "../../../worker/cluster/token-chain.ts";
import { tokenLife } from "../../../worker/kube/token.ts";
import { jwtOf, tokenOf } from "../support/account-tokens.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const SECRET = tokenOf(0, DAY_MS, "secret");

const refusal = (code: number, reason: string, message = reason) =>
  failure({ kind: "status" as const, status: { code, reason, message } });
const UNAUTHORIZED = refusal(401, "Unauthorized");
const FORBIDDEN = refusal(403, "Forbidden", "the account may not");
const UNREACHABLE = failure({ kind: "unanswered" as const, message: "no answer in time" });
type Refusal = typeof UNAUTHORIZED | typeof UNREACHABLE;

/**
 * Returns a chain over a cluster whose tokens last `lifeMs`, unless `refuse` returns an answer for the requesting
 * token.
 */
function chained({ secret = SECRET, lifeMs = DAY_MS } = {}) {
  let made = 0;
  const cluster = {
    nowMs: 0,
    refuse: undefined as ((token: string) => Refusal | undefined) | undefined,
    /** Returns the token that the cluster issues in place of a new one. */
    issue: undefined as (() => string | undefined) | undefined,
    refuseEvents: false,
    kept: {} as KeptChain,
    /** The requests for tokens: `[minute, requesting token]`. */
    asked: [] as [number, string][],
    events: [] as Event[],
    logged: [] as unknown[],
    rows: 0,
    chain: undefined as unknown as TokenChain,
    /** Renews the token at each time that the chain asks for, as the alarm does, until this time. */
    async until(ms: number): Promise<void> {
      for (let next = await cluster.chain.nextMs(); next !== null && next <= ms;) {
        cluster.nowMs = Math.max(cluster.nowMs, next);
        next = await cluster.chain.upkeep();
      }
      cluster.nowMs = ms;
    },
    /** Simulates an eviction of the object. */
    evict() {
      cluster.chain = opened();
    },
    minutes: () => cluster.asked.map(([minute]) => minute),
  };
  const opened = () =>
    new TokenChain({
      secret,
      deployment: "rollcall",
      seconds: lifeMs / 1000,
      store: {
        read: () => Promise.resolve(structuredClone(cluster.kept)),
        write: (next) => {
          cluster.rows++;
          cluster.kept = structuredClone(next);
          return Promise.resolve();
        },
      },
      connect: (token) => ({
        createToken: (_, __, seconds) => {
          cluster.asked.push([cluster.nowMs / MINUTE_MS, token]);
          const refused = cluster.refuse?.(token);
          if (refused) return Promise.resolve(refused);
          const issued = cluster.issue
            ? cluster.issue()
            : tokenOf(cluster.nowMs, seconds * 1000, `${++made}`);
          return Promise.resolve(success({ status: issued === undefined ? {} : { token: issued } }));
        },
        createEvent: (event) => {
          if (cluster.refuseEvents) return Promise.resolve(FORBIDDEN);
          cluster.events.push(event);
          return Promise.resolve(success(event));
        },
      }),
      nowMs: () => cluster.nowMs,
      log: (line) => void cluster.logged.push(line),
    });
  cluster.chain = opened();
  return cluster;
}

describe("a chain", () => {
  it("is renewed at half of each token's life, with the newest token, and needs one row", async () => {
    const cluster = chained();
    await cluster.until(2 * DAY_MS);
    expect(cluster.minutes()).toEqual([720, 1440, 2160, 2880]);
    expect(new Set(cluster.asked.map(([, token]) => token)).size).toBe(4);
    expect(cluster.rows).toBe(4);
    expect(cluster.events).toEqual([]);
  });

  it("continues with the stored token after an eviction", async () => {
    const cluster = chained();
    await cluster.until(13 * HOUR_MS);
    const token = await cluster.chain.tokenFor(undefined);
    cluster.evict();
    expect(await cluster.chain.tokenFor(undefined)).toBe(token);
    await cluster.until(24 * HOUR_MS);
    expect(cluster.asked.at(-1)).toEqual([1440, token]);
  });

  it.each([
    ["a token without an end", tokenOf(0, Number.NaN)],
    ["an opaque one", "opaque"],
    ["another's than a ServiceAccount's", jwtOf({ sub: "alice", iat: 0, exp: 60 })],
  ])("of %s is that one alone: nothing is asked for", async (_, secret) => {
    const cluster = chained({ secret });
    cluster.nowMs = 100 * DAY_MS;
    expect([await cluster.chain.nextMs(), await cluster.chain.upkeep()]).toEqual([null, null]);
    expect([await cluster.chain.tokenFor(secret), cluster.asked]).toEqual([secret, []]);
  });
});

describe("an outage", () => {
  test.each<[string, number, number, boolean]>([
    ["an hour's tokens, 28 minutes", HOUR_MS, 28 * MINUTE_MS, true],
    ["an hour's tokens, half an hour", HOUR_MS, 30 * MINUTE_MS, false],
    ["a day's tokens, 11 hours and 58 minutes", DAY_MS, 12 * HOUR_MS - 2 * MINUTE_MS, true],
    ["a day's tokens, half a day", DAY_MS, 12 * HOUR_MS, false],
  ])("of %s, from half of a token's life on → is it survived?", async (_, lifeMs, outageMs, isSurvived) => {
    const cluster = chained({ secret: tokenOf(0, lifeMs), lifeMs });
    const endMs = lifeMs / 2 + outageMs;
    cluster.refuse = () => (cluster.nowMs < endMs ? UNREACHABLE : undefined);
    await cluster.until(2 * lifeMs);
    expect((await cluster.chain.status()).source).toBe(isSurvived ? "renewed" : "secret");
  });

  it("is retried faster towards the token's end, at most once a minute, and not after the end", async () => {
    const cluster = chained();
    cluster.refuse = () => UNREACHABLE;
    await cluster.until(10 * DAY_MS);
    const minutes = cluster.minutes();
    const gaps = minutes.slice(1).map((minute, index) => minute - minutes[index]!);
    expect([minutes[0], Math.max(...gaps), Math.min(...gaps)]).toEqual([720, 30, 1]);
    expect(minutes.at(-1)).toBeGreaterThan(1438);
    expect(minutes.at(-1)).toBeLessThan(1440);
    expect(minutes.length).toBeLessThan(100);
  });

  it("that outlasts the renewed token → the secret is used while it is valid, and starts the chain again", async () => {
    const cluster = chained({ secret: tokenOf(0, 10 * DAY_MS, "ten days") });
    await cluster.until(5 * DAY_MS);
    cluster.refuse = () => UNREACHABLE;
    await cluster.until(6 * DAY_MS + MINUTE_MS);
    expect(await cluster.chain.tokenFor(undefined)).toBe(tokenOf(0, 10 * DAY_MS, "ten days"));
    expect((await cluster.chain.status()).source).toBe("secret");
    cluster.refuse = undefined;
    await cluster.until(6 * DAY_MS + HOUR_MS);
    expect((await cluster.chain.status()).source).toBe("renewed");
  });
});

describe("a 401", () => {
  it("of the renewed token → a new one is requested at once, with the secret", async () => {
    const cluster = chained();
    await cluster.until(13 * HOUR_MS);
    const renewed = await cluster.chain.tokenFor(undefined);
    cluster.refuse = (token) => (token === renewed ? UNAUTHORIZED : undefined);
    const next = await cluster.chain.tokenFor(renewed);
    expect(cluster.asked.slice(1)).toEqual([
      [780, renewed],
      [780, SECRET],
    ]);
    expect([renewed, SECRET]).not.toContain(next);
    expect(await cluster.chain.tokenFor(undefined)).toBe(next);
  });

  it("of the renewed token, and no new token for the secret → the secret is used, and the refused token is deleted", async () => {
    const cluster = chained();
    await cluster.until(13 * HOUR_MS);
    const renewed = await cluster.chain.tokenFor(undefined);
    cluster.refuse = (token) => (token === renewed ? UNAUTHORIZED : FORBIDDEN);
    expect(await cluster.chain.tokenFor(renewed)).toBe(SECRET);
    expect(await cluster.chain.tokenFor(undefined)).toBe(SECRET);
  });

  it("while no request is answered → only the refused caller gets the other token, and neither is deleted", async () => {
    const cluster = chained();
    await cluster.until(13 * HOUR_MS);
    const renewed = await cluster.chain.tokenFor(undefined);
    cluster.refuse = (token) => (token === renewed ? UNAUTHORIZED : UNREACHABLE);
    expect(await cluster.chain.tokenFor(renewed)).toBe(SECRET);
    expect(await cluster.chain.tokenFor(undefined)).toBe(renewed);
  });

  it("of a token that is not the newest → the newest, without a request", async () => {
    const cluster = chained();
    await cluster.until(13 * HOUR_MS);
    const renewed = await cluster.chain.tokenFor(SECRET);
    expect([renewed === SECRET, cluster.asked.length]).toEqual([false, 1]);
  });

  it("of all tokens, since the account was deleted → at most one attempt a minute, and the status has the failure", async () => {
    const cluster = chained();
    cluster.refuse = () => UNAUTHORIZED;
    for (cluster.nowMs = HOUR_MS; cluster.nowMs < HOUR_MS + 3 * MINUTE_MS; cluster.nowMs += 1000)
      expect(await cluster.chain.tokenFor(SECRET)).toBe(SECRET);
    expect(cluster.minutes()).toEqual([60, 61, 62]);
    expect((await cluster.chain.status()).lastFailure).toMatchObject({ reason: "Unauthorized" });
    await cluster.until(10 * DAY_MS);
    expect(cluster.asked.length).toBeLessThan(100);
    expect(await cluster.chain.nextMs()).toBeNull();
  });

  it("of several machines at once → one attempt", async () => {
    const cluster = chained();
    const answers = await Promise.all([1, 2, 3].map(() => cluster.chain.tokenFor(SECRET)));
    expect([new Set(answers).size, answers.includes(SECRET), cluster.asked.length]).toEqual([1, false, 1]);
  });
});

describe("an answer with an unusable token is refused", () => {
  test.each<[string, () => string | undefined]>([
    ["that is missing", () => undefined],
    ["that is opaque", () => "opaque"],
    [
      "of another account",
      () => jwtOf({ sub: "system:serviceaccount:rollcall-system:east", iat: 0, exp: 1e9 }),
    ],
    [
      "of another namespace",
      () => jwtOf({ sub: "system:serviceaccount:default:rollcall", iat: 0, exp: 1e9 }),
    ],
    ["that has ended", () => tokenOf(0, HOUR_MS)],
  ])("%s", async (_, issue) => {
    const cluster = chained();
    cluster.issue = issue;
    await cluster.until(13 * HOUR_MS);
    expect([await cluster.chain.tokenFor(undefined), cluster.kept.token]).toEqual([SECRET, undefined]);
    expect((await cluster.chain.status()).lastFailure).toMatchObject({ reason: "Unanswered" });
  });
});

describe("a failure", () => {
  const lastFailure = { at: "1970-01-01T12:30:00.000Z", reason: "Forbidden", message: "the account may not" };

  it("is in the status and in the log, and in one event of the ServiceAccount", async () => {
    const cluster = chained();
    cluster.refuse = () => FORBIDDEN;
    await cluster.until(12.5 * HOUR_MS);
    expect(await cluster.chain.status()).toEqual({
      source: "secret",
      account: "system:serviceaccount:rollcall-system:rollcall",
      expiresAt: "1970-01-02T00:00:00.000Z",
      renewFrom: "1970-01-01T12:00:00.000Z",
      lastFailure,
    });
    expect(cluster.logged).toEqual(
      [1, 2].map(() => ({ message: "cluster token not renewed", error: "the account may not" })),
    );
    expect(cluster.events).toMatchObject([
      {
        metadata: { namespace: "rollcall-system", name: `rollcall.${(12 * HOUR_MS * 1e6).toString(16)}` },
        involvedObject: { kind: "ServiceAccount", namespace: "rollcall-system", name: "rollcall" },
        type: "Warning",
        reason: "TokenNotRenewed",
        message: "The Worker's token is not renewed: the account may not",
        source: { component: "rollcall", host: "rollcall" },
      },
    ]);
  });

  it("with another reason → another event", async () => {
    const cluster = chained();
    cluster.refuse = () => (cluster.nowMs < 13 * HOUR_MS ? FORBIDDEN : refusal(404, "NotFound"));
    await cluster.until(14 * HOUR_MS);
    expect(cluster.events).toHaveLength(2);
  });

  it("whose event failed → the event is sent with the next attempt, also if that one succeeds", async () => {
    const cluster = chained();
    cluster.refuse = () => UNREACHABLE;
    await cluster.until(12.5 * HOUR_MS);
    expect([cluster.events, cluster.asked.length]).toEqual([[], 2]);
    cluster.refuse = undefined;
    await cluster.until(13 * HOUR_MS);
    expect(cluster.events).toMatchObject([
      { message: "The Worker's token is not renewed: no answer in time" },
    ]);
    expect((await cluster.chain.status()).lastFailure).toBeUndefined();
  });

  it("whose event is refused → logged, and the event is retried", async () => {
    const cluster = chained();
    cluster.refuse = () => FORBIDDEN;
    cluster.refuseEvents = true;
    await cluster.until(12 * HOUR_MS);
    expect(cluster.logged).toContainEqual({
      message: "no event about the cluster token",
      error: "the account may not",
    });
    cluster.refuseEvents = false;
    await cluster.until(12.5 * HOUR_MS);
    expect(cluster.events).toHaveLength(1);
  });

  it("has a message of 1024 characters at most", async () => {
    const cluster = chained();
    cluster.refuse = () => refusal(403, "Forbidden", "x".repeat(5000));
    await cluster.until(12 * HOUR_MS);
    expect((await cluster.chain.status()).lastFailure!.message).toHaveLength(1024);
  });
});

describe("the status", () => {
  it("of a renewed token → its times", async () => {
    const cluster = chained();
    await cluster.until(13 * HOUR_MS);
    expect(await cluster.chain.status()).toEqual({
      source: "renewed",
      account: "system:serviceaccount:rollcall-system:rollcall",
      expiresAt: "1970-01-02T12:00:00.000Z",
      renewFrom: "1970-01-02T00:00:00.000Z",
    });
  });

  test.each<[string, string, object]>([
    ["that is opaque", "opaque", { source: "secret" }],
    [
      "that does not end",
      tokenOf(0, Number.NaN),
      { source: "secret", account: "system:serviceaccount:rollcall-system:rollcall" },
    ],
    [
      "that has ended",
      tokenOf(-2 * DAY_MS, DAY_MS),
      {
        source: "secret",
        account: "system:serviceaccount:rollcall-system:rollcall",
        expiresAt: "1969-12-31T00:00:00.000Z",
      },
    ],
  ])("of a secret %s says what is known", async (_, secret, status) => {
    expect(await chained({ secret }).chain.status()).toEqual(status);
  });
});

it("no log line has a token in it", async () => {
  const cluster = chained();
  cluster.refuse = () => (cluster.nowMs < 13 * HOUR_MS ? FORBIDDEN : undefined);
  await cluster.until(2 * DAY_MS);
  const tokens = [SECRET, ...cluster.asked.map(([, token]) => token), cluster.kept.token!];
  expect(tokens.every((token) => tokenLife(token) !== null)).toBe(true);
  expect(tokens.filter((token) => JSON.stringify(cluster.logged).includes(token))).toEqual([]);
});
