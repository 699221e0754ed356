// The loop's waits and what it says; sleep and randomness are arguments, so nothing here takes time.
import { describe, expect, it, test } from "vitest";
import { runLoop } from "../../node-shim/loop.ts";
import type { ReportOutcome } from "../../node-shim/post.ts";
import type { Facts } from "../../shared/facts.ts";
import type { ReportAnswer } from "../../shared/protocol.ts";

const ok = (answer: Partial<ReportAnswer> = {}): ReportOutcome => ({
  kind: "ok",
  answer: { phase: "registered", ready: true, ticket: "t", reportInMs: 9600, ...answer },
});
const refused = (status: number, retryAfterMs?: number): ReportOutcome => ({
  kind: "refused",
  problem: {
    type: "about:blank",
    status,
    title: "Refused",
    detail: "Do this.",
    reason: "unauthenticated",
  },
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});
const failed = (message = "refused", retryAfterMs?: number): ReportOutcome => ({
  kind: "failed",
  message,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

/** Runs the loop over these outcomes; every wait, line and dropped connection is noted. */
async function loopOver(outcomes: ReportOutcome[], random = 1, intervalMs = 10_000) {
  const waits: number[] = [];
  const lines: string[] = [];
  let reconnects = 0;
  let done = 0;
  await runLoop({
    gather: async () => ({ facts: {} as Facts, vitals: { signals: {} } }),
    report: async () => outcomes[done] as ReportOutcome,
    sleep: async (ms) => {
      waits.push(ms);
      done++;
    },
    stopped: () => done === outcomes.length,
    random: () => random,
    intervalMs,
    reconnect: () => reconnects++,
    log: (level, message) => lines.push(`${level} ${message}`),
  });
  return { waits, lines, reconnects };
}

describe("waits", () => {
  test.each([
    ["a report that arrived → as long as the Worker says", [ok({ reportInMs: 200 }), ok()], [200, 9600]],
    [
      "failures → up to 1 s, doubling, never more than an interval",
      Array.from({ length: 6 }, () => failed()),
      [1000, 2000, 4000, 8000, 10_000, 10_000],
    ],
    [
      "success between failures → from the beginning",
      [failed(), failed(), ok(), failed()],
      [1000, 2000, 9600, 1000],
    ],
    ["Retry-After beyond the wait → Retry-After", [failed("busy", 30_000)], [30_000]],
    ["Retry-After below the wait → the wait", [failed(), failed(), failed("busy", 1000)], [1000, 2000, 4000]],
    ["401 → a minute, each time", [refused(401), refused(401)], [60_000, 60_000]],
    ["403 → a minute", [refused(403)], [60_000]],
    ["401 with a longer Retry-After → Retry-After", [refused(401, 120_000)], [120_000]],
    ["400 → as a failure", [refused(400)], [1000]],
    ["409, still challenged → as a failure", [refused(409), refused(409)], [1000, 2000]],
  ])("%s", async (_situation, outcomes, waits) => {
    expect((await loopOver(outcomes)).waits).toEqual(waits);
  });

  test("full jitter: from 0 on, whatever went before; Retry-After stays the least", async () => {
    const outcomes = [failed(), failed(), failed("busy", 700)];
    expect((await loopOver(outcomes, 0)).waits).toEqual([0, 0, 700]);
    expect((await loopOver(outcomes, 0.5)).waits).toEqual([500, 1000, 2000]);
  });

  test("an interval shorter than the first wait → the interval", async () => {
    expect((await loopOver([failed(), failed()], 1, 600)).waits).toEqual([600, 600]);
  });

  test("a thousand failures → still one interval", async () => {
    const { waits } = await loopOver(Array.from({ length: 1000 }, () => failed()));
    expect(Math.max(...waits)).toBe(10_000);
  });
});

test("the connection is dropped after what may come from a stuck one, and only then", async () => {
  expect((await loopOver([failed(), ok(), refused(401), refused(400), failed()])).reconnects).toBe(2);
});

describe("what it says", () => {
  it("the same again → nothing; a change → one line; back again → one line", async () => {
    const { lines } = await loopOver([ok(), ok(), failed("no answer"), failed("no answer"), ok()]);
    expect(lines).toEqual([
      "info phase: registered, node Ready",
      "warn report failed: no answer",
      "info phase: registered, node Ready",
    ]);
  });

  test.each([
    ["not Ready", ok({ ready: false }), "info phase: registered, node not Ready"],
    [
      "another phase",
      ok({ phase: "name taken", ready: false, message: "someone else's" }),
      "warn phase: name taken, node not Ready; someone else's",
    ],
    [
      "refused facts",
      ok({ factsRefused: { path: "/images/0", message: "too long" } }),
      "warn phase: registered, node Ready; facts refused at /images/0: too long",
    ],
    ["a refusal", refused(401), "warn report refused: Refused (unauthenticated). Do this."],
  ])("%s", async (_situation, outcome, line) => {
    expect((await loopOver([outcome])).lines).toEqual([line]);
  });

  it("stopped while a report is on its way → no word about it, no wait", async () => {
    const said: string[] = [];
    let stopped = false;
    await runLoop({
      gather: async () => ({ facts: {} as Facts, vitals: { signals: {} } }),
      report: async () => {
        stopped = true;
        return failed("socket hang up");
      },
      sleep: () => Promise.reject(new Error("slept")),
      stopped: () => stopped,
      random: () => 1,
      intervalMs: 1000,
      reconnect: () => undefined,
      log: (_level, message) => said.push(message),
    });
    expect(said).toEqual([]);
  });
});
