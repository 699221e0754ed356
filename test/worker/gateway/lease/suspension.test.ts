// Tests which requests a gateway sends while the apiserver fails.
import { describe, expect, it } from "vitest";
import { Suspension, SUSPENSION_MS } from "../../../../worker/gateway/lease.ts";

const { first, longest, longestAsked } = SUSPENSION_MS;

function suspendedAt(nowMs: number, retryAfterMs?: number): Suspension {
  const suspension = new Suspension();
  suspension.failed(suspension.begin(), nowMs, retryAfterMs);
  return suspension;
}

describe("while the apiserver answers", () => {
  it("any number of requests may be in progress", () => {
    const suspension = new Suspension();
    const begun = [suspension.begin(), suspension.begin()];
    expect(begun.map(({ isProbe }) => isProbe)).toEqual([false, false]);
    expect([suspension.mayAsk(0), suspension.isOn]).toEqual([true, false]);
  });

  it.each<[situation: string, isEarlier: boolean, retryAfterMs: number, isOn: boolean]>([
    ["one is slow, and another that began later was answered → it is that one's alone", true, 0, false],
    ["one fails, and another that began before was answered → it may be everybody's", false, 0, true],
    ["the apiserver has asked to wait → everybody waits", true, 5000, true],
  ])("%s", (_, isEarlier, retryAfterMs, isOn) => {
    const suspension = new Suspension();
    const [first, second] = [suspension.begin(), suspension.begin()];
    suspension.succeeded(isEarlier ? second : first);
    suspension.failed(isEarlier ? first : second, 3000, retryAfterMs);
    expect(suspension.isOn).toBe(isOn);
  });
});

describe("after a failed request", () => {
  it("no request for a second, then one at a time", () => {
    const suspension = suspendedAt(0);
    expect([suspension.mayAsk(first - 1), suspension.mayAsk(first)]).toEqual([false, true]);
    expect(suspension.begin().isProbe).toBe(true);
    expect([suspension.mayAsk(first), suspension.mayAsk(first + longest)]).toEqual([false, false]);
  });

  it("each further failure doubles the wait, up to ten seconds", () => {
    const suspension = suspendedAt(0);
    let nowMs = first;
    const waits = Array.from({ length: 6 }, () => {
      suspension.failed(suspension.begin(), nowMs);
      let waitMs = 0;
      while (!suspension.mayAsk(nowMs + waitMs)) waitMs += 500;
      nowMs += waitMs;
      return waitMs;
    });
    expect(waits).toEqual([2000, 4000, 8000, longest, longest, longest]);
  });

  it("of several in progress, only the first failure counts", () => {
    const suspension = new Suspension();
    const begun = [suspension.begin(), suspension.begin(), suspension.begin()];
    begun.forEach((asked, at) => suspension.failed(asked, at * 100));
    expect([suspension.mayAsk(first - 1), suspension.mayAsk(first)]).toEqual([false, true]);
  });

  it("the first success ends the suspension, also of an earlier request", () => {
    const suspension = new Suspension();
    const [one, other] = [suspension.begin(), suspension.begin()];
    suspension.failed(other, 0);
    suspension.succeeded(one);
    expect([suspension.isOn, suspension.mayAsk(0), suspension.begin().isProbe]).toEqual([false, true, false]);
  });

  it("a slow probe fails after an earlier request has ended the suspension → no new suspension", () => {
    const suspension = new Suspension();
    const [early, other] = [suspension.begin(), suspension.begin()];
    suspension.failed(other, 0);
    const probe = suspension.begin();
    suspension.succeeded(early);
    suspension.succeeded(suspension.begin());
    suspension.failed(probe, 3000);
    expect([probe.isProbe, suspension.isOn]).toEqual([true, false]);
  });

  it("a probe of an earlier suspension fails → the present probe continues alone", () => {
    const suspension = new Suspension();
    const [early, other] = [suspension.begin(), suspension.begin()];
    suspension.failed(other, 0);
    const before = suspension.begin();
    suspension.succeeded(early);
    suspension.failed(suspension.begin(), 2000);
    const now = suspension.begin();
    suspension.failed(before, 3000);
    expect([now.isProbe, suspension.mayAsk(60_000)]).toEqual([true, false]);
    suspension.failed(now, 4000);
    expect([suspension.mayAsk(5999), suspension.mayAsk(6000)]).toEqual([false, true]);
  });

  it("after a success the waits start again", () => {
    const suspension = suspendedAt(0);
    suspension.failed(suspension.begin(), first);
    suspension.succeeded(suspension.begin());
    suspension.failed(suspension.begin(), 10_000);
    expect([suspension.mayAsk(10_000 + first - 1), suspension.mayAsk(10_000 + first)]).toEqual([false, true]);
  });
});

describe("Retry-After", () => {
  it.each([
    ["is kept to", 5000, 5000],
    ["of less than the wait lengthens nothing", 10, first],
    ["is kept to for a minute at most", 3_600_000, longestAsked],
  ])("%s", (_, retryAfterMs, waitMs) => {
    const suspension = suspendedAt(0, retryAfterMs);
    expect([suspension.mayAsk(waitMs - 1), suspension.mayAsk(waitMs)]).toEqual([false, true]);
  });
});

it("a clock that is set back delays no request", () => {
  expect(suspendedAt(100_000).mayAsk(99_999)).toBe(true);
});
