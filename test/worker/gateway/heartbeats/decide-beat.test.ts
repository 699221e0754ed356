// Tests the decision on a heartbeat in each situation.
import { describe, expect, it, test } from "vitest";
import type { HeartbeatFrame } from "../../../../shared/protocol/frames.ts";
import {
  ANSWER_WITHIN_MS,
  type BeatSituation,
  decideBeat,
  LEAST_RENEWAL_MS,
} from "../../../../worker/gateway/heartbeats.ts";
import { type HeldLoan, holdLoan } from "../../../../worker/gateway/lease.ts";
import type { BeatSession } from "../../../../worker/gateway/sockets.ts";
import {
  INTERVAL_MS,
  LEASE_MS,
  loanOf,
  QUIET_FROM,
  START_MS,
  VITALS,
} from "../../support/made-up-gateway.ts";

const NOW = START_MS + 10_000;
const BEAT: HeartbeatFrame = { type: "heartbeat", n: 5, at: NOW, available: [8e9, 8e9, 8e9, 8e9, 8e9, 8e9] };

const heldWith = (more: Partial<HeldLoan> = {}, loan: Parameters<typeof loanOf>[1] = {}): HeldLoan => ({
  ...holdLoan(loanOf("edge-1", loan), START_MS),
  ...more,
});
const session = (more: Partial<BeatSession> = {}): BeatSession => ({
  n: 4,
  nonce: "nonce",
  answeredMs: NOW - 9600,
  nextInMs: 9600,
  held: heldWith(),
  ...more,
});
const SITUATION: BeatSituation = {
  session: session(),
  isAuthentic: true,
  isReporting: false,
  mayAsk: true,
  lateMs: 0,
  calmMs: Infinity,
  nowMs: NOW,
};
const RENEW = { kind: "take", vitals: VITALS, skewMs: 0, renewal: "due" };
const renewed = (renewal: string) => ({ kind: "take", renewal });
/** The first time at which the next heartbeat would come after half of the lease duration. */
const LATE = START_MS + LEASE_MS / 2 - INTERVAL_MS + 1;
const again = (reason: string) => ({ kind: "again", reason });

test.each<[situation: string, outcome: object, more: Partial<BeatSituation>, beat?: Partial<HeartbeatFrame>]>(
  [
    ["quiet, under a loan", RENEW, {}],
    ["no session", again("no session"), { session: null }],
    ["another MAC", again("not fresh"), { isAuthentic: false }],
    ["the n before", again("not fresh"), {}, { n: 4 }],
    ["an n that leaves one out", again("not fresh"), {}, { n: 6 }],
    ["a lease duration after the answer", RENEW, { session: session({ answeredMs: NOW - LEASE_MS }) }],
    ["later than that", again("not fresh"), { session: session({ answeredMs: NOW - LEASE_MS - 1 }) }],
    [
      "three lease durations after the answer of an isolate that was busy",
      RENEW,
      { calmMs: 0, session: session({ answeredMs: NOW - 3 * LEASE_MS }) },
    ],
    [
      "later than that, too",
      again("not fresh"),
      { calmMs: 0, session: session({ answeredMs: NOW - 3 * LEASE_MS - 1 }) },
    ],
    [
      "another MAC, while a report is under way",
      again("not fresh"),
      { isAuthentic: false, isReporting: true },
    ],
    ["a report is under way", again("over"), { isReporting: true }],
    ["at half of its time", RENEW, { session: session({ answeredMs: NOW - 4800 }) }],
    ["before that", { kind: "early" }, { session: session({ answeredMs: NOW - 4799 }) }],
    [
      "before that, and not quiet: a value has flipped",
      again("not quiet"),
      { session: session({ answeredMs: NOW - 1 }) },
      { available: [0, 0, 0, 0, 0, 0] },
    ],
    [
      "before that, under a loan that is ended",
      again("over"),
      { session: session({ answeredMs: NOW - 1, held: heldWith({ isEnded: true }) }) },
    ],
    [
      "the clock is put back behind the answer",
      again("over"),
      { session: session({ answeredMs: NOW + 1, held: heldWith({ heardMs: NOW + 1 }) }) },
    ],
    ["a loan that is ended", again("over"), { session: session({ held: heldWith({ isEnded: true }) }) }],
    [
      "just quiet",
      { kind: "take", renewal: "due" },
      {},
      { available: [QUIET_FROM, 8e9, 8e9, 8e9, 8e9, 8e9] },
    ],
    ["not quiet", again("not quiet"), {}, { available: [QUIET_FROM - 1, 8e9, 8e9, 8e9, 8e9, 8e9] }],
    [
      "a signal that is not observed any more",
      again("not quiet"),
      {},
      { available: [null, 8e9, 8e9, 8e9, 8e9, 8e9] },
    ],
    [
      "the machine's clock as far off as it may be",
      { kind: "take", skewMs: 60_000 },
      {},
      { at: NOW + 60_000 },
    ],
    ["further off", again("not quiet"), {}, { at: NOW + 60_001 }],
    ["the apiserver is not to be asked", { ...RENEW, renewal: "suspended" }, { mayAsk: false }],
    [
      "not quiet, and the apiserver is not to be asked",
      again("not quiet"),
      { mayAsk: false },
      { at: NOW + 60_001 },
    ],
    [
      "the last PUT was just now",
      { ...RENEW, renewal: "recent" },
      { session: session({ held: heldWith({ askedMs: NOW - LEAST_RENEWAL_MS + 1 }) }) },
    ],
    [
      "the last PUT was just now, and the apiserver is not to be asked",
      { ...RENEW, renewal: "recent" },
      { mayAsk: false, session: session({ held: heldWith({ askedMs: NOW - 1 }) }) },
    ],
    [
      "the last PUT was long enough ago",
      RENEW,
      { session: session({ held: heldWith({ askedMs: NOW - LEAST_RENEWAL_MS }) }) },
    ],
    [
      "as late as a shim waits for the answer",
      renewed("due"),
      { session: session({ held: heldWith({ fastestSkewMs: 0 }) }) },
      { at: NOW - ANSWER_WITHIN_MS },
    ],
    [
      "later: the next heartbeat renews the lease",
      renewed("late"),
      { session: session({ held: heldWith({ fastestSkewMs: 0 }) }) },
      { at: NOW - ANSWER_WITHIN_MS - 1 },
    ],
    [
      "later, by a clock that was ahead before",
      renewed("late"),
      { session: session({ held: heldWith({ fastestSkewMs: 30_000 }) }) },
      { at: NOW + 30_000 - ANSWER_WITHIN_MS - 1 },
    ],
    [
      "later, while half of the lease is over before the next heartbeat",
      renewed("due"),
      { nowMs: LATE, session: session({ answeredMs: LATE - 9600, held: heldWith({ fastestSkewMs: 0 }) }) },
      { at: LATE - ANSWER_WITHIN_MS - 1 },
    ],
  ],
)("%s", (_, outcome, more, beat = {}) => {
  expect(decideBeat({ ...BEAT, ...beat }, { ...SITUATION, ...more })).toMatchObject(outcome);
});

describe("the duration of a loan", () => {
  const at = (atMs: number, held: HeldLoan, calmMs = Infinity) =>
    decideBeat(
      { ...BEAT, at: atMs },
      { ...SITUATION, calmMs, session: session({ answeredMs: atMs - 9600, held }), nowMs: atMs },
    ).kind;

  const QUIET_MS = 20_000;
  it.each<[string, HeldLoan, endMs: number, calmMs?: number]>([
    ["twice as long in a busy isolate", heldWith({}, { quietForMs: QUIET_MS }), START_MS + 2 * QUIET_MS, 0],
    [
      "half as long again when the isolate is not busy for half of the time",
      heldWith({}, { quietForMs: QUIET_MS }),
      START_MS + 1.5 * QUIET_MS,
      QUIET_MS / 2,
    ],
    [
      "as it says when the isolate is not busy for that time",
      heldWith({}, { quietForMs: QUIET_MS }),
      START_MS + QUIET_MS,
      QUIET_MS,
    ],
    ["as it says", heldWith({}, { quietForMs: 25_000 }), START_MS + 25_000],
    ["a lease duration from its receipt, where nothing is renewed", heldWith(), START_MS + LEASE_MS],
    [
      "a lease duration from the last renewal",
      heldWith({ renewedMs: START_MS + 20_000 }),
      START_MS + 20_000 + LEASE_MS,
    ],
    [
      "from the last that succeeded, whatever was tried since",
      heldWith({ renewedMs: START_MS + 20_000, askedMs: START_MS + 30_000 }),
      START_MS + 20_000 + LEASE_MS,
    ],
  ])("%s", (_, held, endMs, calmMs) => {
    expect([at(endMs - 1, held, calmMs), at(endMs, held, calmMs)]).toEqual(["take", "again"]);
  });
});
