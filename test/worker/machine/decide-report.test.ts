// Tests the decision on a verified report, by the state of the node object: one row for each line of the table in
// docs/protocol.md.
import { describe, expect, it } from "vitest";
import {
  NO_SENDERS,
  noteFork,
  noteSender,
  type SeenSenders,
} from "../../../shared/node/duplicate-senders.ts";
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

/** Returns the senders after one report of each, 10 s apart. The last report was 10 s ago. */
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
  freshness: { kind: "fresh", isFork: false, remember: () => undefined },
  senders: ONE_SENDER,
  sender: SENDER,
  areFactsKnown: true,
  areSendersFactsKnown: true,
  incumbent: { startId: SENDER.startId, lastMs: NOW_MS - 10_000 },
  confirmationMs: 11_000,
  nowMs: NOW_MS,
  leaseMs: LEASE_MS,
};
const UNKNOWN_FACTS = { sender: undefined, areFactsKnown: false, areSendersFactsKnown: false };
const EARLIER_ANSWER = Promise.resolve(success({ left: true as const }));
const STALE = { kind: "stale", isLate: false } as const;
const LATE = { kind: "stale", isLate: true } as const;
const FORK = { kind: "fresh", isFork: true, remember: () => undefined } as const;
const TOO_OFTEN = { kind: "too often", isFork: false, remember: () => undefined } as const;
const FORKED = [1, 2, 3].reduce((seen) => noteFork(seen, NOW_MS - 10_000), ONE_SENDER);

const challenge = (reason: string, factsWanted: boolean, isLate = false) => ({
  kind: "challenge",
  reason,
  factsWanted,
  isLate,
});
/** The situation of a report whose process has not reported before. */
const OF_NEWCOMER = { sender: OTHER_SHIM, areFactsKnown: false };
const NEWCOMERS = { ...WITH_FACTS, startId: OTHER_SHIM.startId };

describe("decideReport", () => {
  it.each<[string, Partial<ReportSituation>, Report, object]>([
    ["a steady heartbeat → applied", {}, REPORT, { kind: "apply" }],
    ["new facts, and they are there → applied", { areFactsKnown: false }, WITH_FACTS, { kind: "apply" }],
    [
      "no machine is enrolled → refused in any case",
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
      { freshness: TOO_OFTEN },
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
      "a ticket from before the one that its process used → a challenge that only its double answers",
      { freshness: LATE },
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
      "a further sender next to clones, with unknown facts → asked for them, to identify it",
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
    [
      "a process that has forked often → suspended",
      { senders: FORKED },
      REPORT,
      { kind: "suspend", phase: "cloned" },
    ],
    [
      "the report that shows the third fork → suspended at once",
      { senders: noteFork(noteFork(ONE_SENDER, NOW_MS), NOW_MS), freshness: FORK },
      REPORT,
      { kind: "suspend", phase: "cloned" },
    ],
    [
      "changed facts of a new process, the one before it being there → wait until it cannot be",
      OF_NEWCOMER,
      NEWCOMERS,
      { kind: "wait", untilMs: NOW_MS + 1000 },
    ],
    [
      "the same without facts, its sender being known → wait: they are not asked for",
      OF_NEWCOMER,
      { ...REPORT, startId: OTHER_SHIM.startId },
      { kind: "wait" },
    ],
    [
      "the same of a sender that is not known → asked for, to tell who it is",
      { ...OF_NEWCOMER, ...UNKNOWN_FACTS },
      { ...REPORT, startId: OTHER_SHIM.startId },
      challenge("facts-unknown", true),
    ],
    [
      "a new process with the facts that are known → applied",
      { sender: OTHER_SHIM },
      { ...REPORT, startId: OTHER_SHIM.startId },
      { kind: "apply" },
    ],
    [
      "changed facts of a new process, the one before it being gone → applied",
      { ...OF_NEWCOMER, nowMs: NOW_MS + 1000 },
      NEWCOMERS,
      { kind: "apply" },
    ],
    [
      "changed facts of a new process that could not set up → an event",
      OF_NEWCOMER,
      { ...SETUP_FAILED, startId: OTHER_SHIM.startId },
      { kind: "record setup failure" },
    ],
    [
      "changed facts, with a fork → wait",
      { freshness: FORK, areFactsKnown: false },
      WITH_FACTS,
      { kind: "wait" },
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

  it("a steady heartbeat → the same senders: nothing to store", () => {
    expect(decideReport(REPORT, STEADY)).toEqual({ kind: "apply", senders: ONE_SENDER });
  });

  it.each<[string, Partial<ReportSituation>, turns: number, forks: number]>([
    ["fresh → a turn", { sender: OTHER_MACHINE }, 2, 0],
    ["fresh, and a fork → one", { freshness: FORK }, 1, 1],
    ["a fork, of a sender that is not known → one all the same", { freshness: FORK, ...UNKNOWN_FACTS }, 1, 1],
    ["a fork, and one too many → one all the same", { freshness: { ...TOO_OFTEN, isFork: true } }, 1, 1],
    ["late → none: it may have been under way for long", { freshness: LATE, sender: OTHER_MACHINE }, 1, 0],
    ["stale → none: it proves nothing", { freshness: STALE, sender: OTHER_MACHINE }, 1, 0],
    ["fresh, of a sender that is not known → none", { sender: undefined }, 1, 0],
  ])("a report that is %s", (_, situation, turnCount, forkCount) => {
    const step = decideReport(REPORT, { ...STEADY, ...situation });
    if (!("senders" in step)) throw new Error(step.kind);
    const { turns: seen, forks = [] } = step.senders;
    expect([seen.length, forks.length]).toEqual([turnCount, forkCount]);
  });

  it("disputed facts wait → since the first of them, until no report has contradicted them", () => {
    const disputed = noteFork(ONE_SENDER, NOW_MS - 1000);
    const changed = { ...STEADY, areFactsKnown: false, senders: disputed };
    const first = decideReport(WITH_FACTS, changed);
    expect(first).toMatchObject({ kind: "wait", senders: { waitingSinceMs: NOW_MS } });
    const senders = "senders" in first ? first.senders : NO_SENDERS;
    const later = { ...changed, senders, nowMs: NOW_MS + 10_999 };
    expect(decideReport(WITH_FACTS, later)).toMatchObject({ kind: "wait", senders });
    const applied = decideReport(WITH_FACTS, { ...later, nowMs: NOW_MS + 11_000 });
    expect(applied).toEqual({ kind: "apply", senders: disputed });
  });
});
