// Tests a link's attempts to open a socket, with the test's sockets: which offers it uses, and the events of a socket
// that is no longer the link's.
import { expect, it, test } from "vitest";
import { Link, type TransportInUse } from "../../../../node-shim/worker-link/link.ts";
import type { openSocket, UpgradeRefusal } from "../../../../node-shim/worker-link/upgrade.ts";
import { DIRECTLY } from "../../../../node-shim/worker-link/outbound.ts";
import type { GatewaySocket, SocketListener } from "../../../../node-shim/worker-link/socket-transport.ts";
import { failure, success } from "../../../../shared/result.ts";
import { LIMITS } from "../../../../shared/protocol/limits.ts";
import { fakeClock, settle } from "../../base/fake-clock.ts";

const MINUTE = 60_000;
const OFFER = { path: "/v1/gateways/7/nodes/edge-1?t=1", withinMs: 2000 };
const WANTED = { "rollcall-transport": "socket" };

interface Attempt extends SocketListener {
  path: string;
  signal: AbortSignal;
  /** Ends the attempt with an open socket. `said` has what the link does with the socket. */
  opens: () => Promise<void>;
  refused: (refusal: Partial<UpgradeRefusal>) => Promise<void>;
  said: string[];
}

/** Makes a link whose attempts end as the test sets. */
function linkOnTest({ random = 0 } = {}) {
  const clock = fakeClock();
  const attempts: Attempt[] = [];
  const seen: TransportInUse[] = [];
  const events: string[] = [];
  const open: typeof openSocket = (_options, path, listener, signal) => {
    const said: string[] = [];
    const socket = { close: () => said.push("closed"), drop: () => said.push("dropped") };
    const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof openSocket>>>();
    const opens = () => {
      resolve(success(socket as unknown as GatewaySocket));
      return settle();
    };
    const refused = (refusal: Partial<UpgradeRefusal>) => {
      resolve(failure({ why: "refused", reason: null, retryAfterMs: 0, ...refusal }));
      return settle();
    };
    attempts.push({ ...listener, path, signal, opens, refused, said });
    return promise;
  };
  const link = new Link({
    machine: { name: "edge-1", origin: "https://a.example", key: {} as never, kid: "k" },
    outbound: DIRECTLY,
    deadlineMs: 9000,
    patienceMs: 18_000,
    clock,
    choice: "auto",
    random: () => random,
    log: () => undefined,
    dropHttp: () => events.push("no HTTP"),
    changed: (transport) => seen.push(transport),
    open,
  });
  link.listen(() => events.push("asked"));
  /** Offers a socket, and waits until its attempt has begun. */
  async function begins(): Promise<Attempt> {
    link.offered(OFFER);
    await clock.pass(5000);
    return attempts.at(-1)!;
  }
  return { link, clock, attempts, seen, events, begins };
}

type Offer = Parameters<Link["offered"]>[0];
const longest = `/${"x".repeat(LIMITS.textLength - 1)}`;
test.each<[situation: string, offer: Partial<NonNullable<Offer>>, isUsed: boolean]>([
  ["a path", OFFER, true],
  ["a path without a time to wait", { path: "/v1", withinMs: 0 }, true],
  ["the longest path", { path: longest, withinMs: 0 }, true],
  ["a longer path", { path: `${longest}x`, withinMs: 0 }, false],
  ["a path below the present one", { path: "v1/", withinMs: 0 }, false],
  ["a path that makes no URL", { path: "//[", withinMs: 0 }, false],
  ["a path at another origin", { path: "//b.example/", withinMs: 0 }, false],
  ["no time", { path: "/v1" }, false],
])("an offer of %s → an attempt: %s", async (_, offer, isUsed) => {
  const { link, clock, attempts } = linkOnTest();
  link.offered(offer as Offer);
  await clock.pass(5000);
  expect(attempts.map(({ path }) => path)).toEqual(isUsed ? [offer.path] : []);
});

it("the machine was suspended until the offer expired → none is opened, and the next report asks for another", async () => {
  const { link, clock, attempts } = linkOnTest({ random: 1 });
  link.offered(OFFER);
  clock.suspend(200_000);
  await clock.pass(5000);
  expect([attempts, link.headers()]).toEqual([[], WANTED]);
});

it("accepted → HTTP's connection is dropped once, and no socket is requested", async () => {
  const { link, events, seen, begins } = linkOnTest();
  const attempt = await begins();
  await attempt.opens();
  attempt.accepted(30_000);
  expect(events).toEqual(["asked", "no HTTP"]);
  expect([seen.at(-1)?.via, link.headers()]).toEqual(["socket", {}]);
});

it("ended → the next report asks for a socket, and later events of the old one have no effect", async () => {
  const { link, events, seen, begins } = linkOnTest();
  const first = await begins();
  await first.opens();
  first.accepted(30_000);
  first.ended({ why: "it was closed", comeBackInMs: 0, isPlanned: false });
  expect([link.socket(), link.headers(), first.signal.aborted]).toEqual([null, WANTED, true]);
  const shown = seen.length;
  first.accepted(30_000);
  first.answered();
  first.ended({ why: "again", comeBackInMs: 60_000, isPlanned: false });
  expect(seen).toHaveLength(shown);
  expect(events).toEqual(["asked", "no HTTP"]);
  const second = await begins();
  await second.opens();
  first.ended({ why: "again", comeBackInMs: 60_000, isPlanned: false });
  expect(link.socket()).not.toBeNull();
});

test.each(["close", "drop"] as const)(
  "%s() before a socket is due, or after its end → no error",
  async (how) => {
    const { link, clock, attempts } = linkOnTest({ random: 1 });
    link.offered(OFFER);
    link[how]();
    expect(clock.timers()).toBe(0);
    await clock.pass(MINUTE);
    link[how]();
    expect(attempts).toEqual([]);
  },
);

test.each(["close", "drop"] as const)(
  "%s() while a socket opens → given up, and closed if it opens nevertheless",
  async (how) => {
    const { link, events, begins } = linkOnTest();
    const attempt = await begins();
    link[how]();
    expect(attempt.signal.aborted).toBe(true);
    await attempt.opens();
    expect([link.socket(), attempt.said, events]).toEqual([null, ["closed"], []]);
  },
);

test.each([
  ["close", ["closed"]],
  ["drop", ["dropped"]],
] as const)("%s() of an open socket → %j, and the link has none", async (how, said) => {
  const { link, begins } = linkOnTest();
  const attempt = await begins();
  await attempt.opens();
  link[how]();
  expect([link.socket(), attempt.said]).toEqual([null, said]);
});

it("an offer in an answer that arrives after close() → ignored", async () => {
  const { link, clock, attempts } = linkOnTest();
  link.close();
  link.offered(OFFER);
  await clock.pass(MINUTE);
  expect([attempts, link.headers(), link.isOver()]).toEqual([[], {}, true]);
});

test.each<[situation: string, refusal: Partial<UpgradeRefusal>, againInMs: number | null]>([
  ["too many requests, with a wait", { reason: "rate-limited", retryAfterMs: 12_000 }, 12_000],
  ["a busy Worker, with a wait", { reason: "busy", retryAfterMs: 12_000 }, 12_000],
  ["a busy Worker, without a wait: a failure", { reason: "busy" }, 600_000],
  ["a full gateway, with a wait: a failure", { reason: "try-another", retryAfterMs: 12_000 }, 600_000],
  ["another server: a failure", { reason: null, retryAfterMs: 12_000 }, 600_000],
])("three refusals in a row by %s", async (_, refusal, againInMs) => {
  const { clock, seen, begins } = linkOnTest();
  for (let attempts = 0; attempts < 3; attempts++) {
    await clock.pass(12_000);
    await (await begins()).refused(refusal);
  }
  expect(seen.at(-1)).toMatchObject({ via: "http", againInMs });
});

test.each([
  ["answered for a minute each: no failures", MINUTE, null],
  ["answered for less: failures", MINUTE - 1, 600_000],
])("three sockets that end, %s", async (_, answeredMs, againInMs) => {
  const { clock, seen, begins } = linkOnTest();
  for (let sockets = 0; sockets < 3; sockets++) {
    const attempt = await begins();
    await attempt.opens();
    attempt.accepted(5000);
    await clock.pass(answeredMs);
    attempt.answered();
    await clock.pass(MINUTE);
    attempt.ended({ why: "it was closed", comeBackInMs: 0, isPlanned: false });
  }
  expect(seen.at(-1)?.againInMs).toBe(againInMs);
});

it("each change of the transport is reported once", async () => {
  const { link, seen, begins } = linkOnTest();
  for (let offers = 0; offers < 3; offers++) link.offered(undefined);
  await (await begins()).refused({ why: "HTTP 403" });
  expect(seen.map(({ fault }) => fault)).toEqual([null, "HTTP 403"]);
});
