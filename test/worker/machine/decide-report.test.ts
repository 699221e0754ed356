// What becomes of a verified report, by what the object knows: one row for each line of the table in docs/protocol.md.
import { describe, expect, it } from "vitest";
import { NO_SENDERS, noteSender, type SeenSenders } from "../../../shared/node/duplicate-senders.ts";
import type { Report } from "../../../shared/protocol/report.ts";
import { success } from "../../../shared/result.ts";
import { decideReport, type ReportSituation } from "../../../worker/machine/decide-report.ts";

const LEASE_MS = 40_000;
const NOW_MS = Date.UTC(2026, 0, 2);
const SENDER = { machineID: "m", bootID: "b", startId: "s" };
const OTHER_MACHINE = { machineID: "m2", bootID: "b2", startId: "s2" };
const OTHER_SHIM = { ...SENDER, startId: "s2" };

const REPORT: Report = {
  protocol: 1,
  startId: SENDER.startId,
  machineTime: "2026-01-02T00:00:00Z",
  vitals: { signals: {} },
  factsDigest: "d".repeat(43),
};
const WITH_FACTS = { ...REPORT, facts: {} };
const SETUP_FAILED: Report = { ...REPORT, vitals: { signals: {}, setupError: "no cgroups" } };

/** Reports in turns, the last of them 10 s ago. */
function turns(...senders: (typeof SENDER)[]): SeenSenders {
  const fromMs = NOW_MS - senders.length * 10_000;
  return senders.reduce(
    (seen, sender, index) => noteSender(seen, sender, fromMs + index * 10_000, LEASE_MS),
    NO_SENDERS,
  );
}

const ONE_SENDER = turns(SENDER);
const CLONES = turns(SENDER, OTHER_MACHINE, SENDER, OTHER_MACHINE);
const TWO_SHIMS = turns(SENDER, OTHER_SHIM, SENDER, OTHER_SHIM);

const STEADY: ReportSituation = {
  isEnrolled: true,
  freshness: { kind: "fresh", remember: () => undefined },
  senders: ONE_SENDER,
  sender: SENDER,
  areFactsKnown: true,
  areSendersFactsKnown: true,
  nowMs: NOW_MS,
  leaseMs: LEASE_MS,
};
const UNKNOWN_FACTS = { sender: undefined, areFactsKnown: false, areSendersFactsKnown: false };
const EARLIER_ANSWER = Promise.resolve(success({ left: true as const }));
const STALE = { kind: "stale" } as const;
const FORKED = { kind: "forked" } as const;

const challenge = (reason: string, factsWanted: boolean, isFork = false) => ({
  kind: "challenge",
  reason,
  factsWanted,
  isFork,
});

describe("decideReport", () => {
  it.each<[string, Partial<ReportSituation>, Report, object]>([
    ["a steady heartbeat → applied", {}, REPORT, { kind: "apply" }],
    ["new facts, and they are there → applied", { areFactsKnown: false }, WITH_FACTS, { kind: "apply" }],
    [
      "nobody is enrolled → refused, whatever else",
      { isEnrolled: false, freshness: STALE },
      REPORT,
      { kind: "refuse", reason: "unauthenticated" },
    ],
    [
      "the same request again → the same answer",
      { freshness: { kind: "repeated", answer: EARLIER_ANSWER } },
      REPORT,
      { kind: "answer again", answer: EARLIER_ANSWER },
    ],
    [
      "one request too many → refused",
      { freshness: { kind: "too often", remember: () => undefined } },
      REPORT,
      { kind: "refuse", reason: "rate-limited" },
    ],
    ["a stale ticket → a challenge", { freshness: STALE }, REPORT, challenge("ticket-stale", false)],
    [
      "a stale ticket, facts unknown → a challenge that saves the next one",
      { freshness: STALE, ...UNKNOWN_FACTS },
      REPORT,
      challenge("ticket-stale", true),
    ],
    [
      "a number that another body had → a challenge, and a sign of a second holder of the key",
      { freshness: FORKED },
      REPORT,
      challenge("ticket-stale", false, true),
    ],
    ["facts unknown and absent → a challenge", UNKNOWN_FACTS, REPORT, challenge("facts-unknown", true)],
    [
      "a shim that could not set up → an event, no heartbeat",
      {},
      SETUP_FAILED,
      { kind: "record setup failure", setupError: "no cgroups" },
    ],
    [
      "a shim that could not set up, facts unknown → no facts are asked for",
      UNKNOWN_FACTS,
      SETUP_FAILED,
      { kind: "record setup failure" },
    ],
    ["one of clones → suspended", { senders: CLONES }, REPORT, { kind: "suspend", phase: "cloned" }],
    [
      "one of clones that could not set up → suspended, and no event",
      { senders: CLONES },
      SETUP_FAILED,
      { kind: "suspend", phase: "cloned" },
    ],
    [
      "the turn that shows clones → suspended at once",
      { senders: turns(SENDER, OTHER_MACHINE, SENDER), sender: OTHER_MACHINE },
      { ...WITH_FACTS, startId: OTHER_MACHINE.startId },
      { kind: "suspend", phase: "cloned" },
    ],
    [
      "a sender beside clones whose facts nobody knows → asked for them, to tell who it is",
      { senders: CLONES, ...UNKNOWN_FACTS },
      REPORT,
      challenge("facts-unknown", true),
    ],
    [
      "one of clones whose facts are known but not stored → not asked for them again",
      { senders: CLONES, areFactsKnown: false, freshness: STALE },
      REPORT,
      challenge("ticket-stale", false),
    ],
    ["the trusted one of two shims → applied", { senders: TWO_SHIMS }, REPORT, { kind: "apply" }],
    [
      "the other one of two shims → suspended",
      { senders: TWO_SHIMS, sender: OTHER_SHIM },
      { ...REPORT, startId: OTHER_SHIM.startId },
      { kind: "suspend", phase: "two shims" },
    ],
    [
      "the other one of two shims, the trusted one being gone → applied",
      { senders: TWO_SHIMS, sender: OTHER_SHIM, nowMs: NOW_MS + 5 * 60_000 },
      { ...REPORT, startId: OTHER_SHIM.startId },
      { kind: "apply" },
    ],
    [
      "one of clones, an hour after the last turn → applied: it is over",
      { senders: CLONES, nowMs: NOW_MS + 61 * 60_000, sender: OTHER_MACHINE },
      { ...REPORT, startId: OTHER_MACHINE.startId },
      { kind: "apply" },
    ],
  ])("%s", (_, situation, report, step) => {
    expect(decideReport(report, { ...STEADY, ...situation })).toMatchObject(step);
  });

  it("a steady heartbeat → the very same senders: nothing to store", () => {
    expect(decideReport(REPORT, STEADY)).toEqual({ kind: "apply", senders: ONE_SENDER });
  });

  it.each<[string, Partial<ReportSituation>, number]>([
    ["fresh → a turn", { sender: OTHER_MACHINE }, 2],
    ["forked, by the same process → a turn in two places", { freshness: FORKED }, 2],
    [
      "forked, by another sender → none: its next report is one",
      { freshness: FORKED, sender: OTHER_MACHINE },
      1,
    ],
    ["stale → none: it proves nothing", { freshness: STALE, sender: OTHER_MACHINE }, 1],
    ["fresh, of a sender that is not known → none", { sender: undefined }, 1],
  ])("a report that is %s", (_, situation, turnCount) => {
    const step = decideReport(REPORT, { ...STEADY, ...situation });
    expect("senders" in step && step.senders.turns.length).toBe(turnCount);
  });
});
