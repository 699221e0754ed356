// Tests which answers of the Worker a machine accepts, and which parts of a hostile server's answers remain.
import { describe, expect, it, test } from "vitest";
import {
  readEnrolmentAnswer,
  readLeaveAnswer,
  readProblem,
  readReportAnswer,
  readRotationAnswer,
  readUpgradeAnswer,
} from "../../../node-shim/worker-link/answers.ts";
import { exchange } from "../../../node-shim/worker-link/exchange.ts";
import { LIMITS } from "../../../shared/protocol/limits.ts";

const ESCAPE = "\u001b]0;owned\u0007\u009b2J\u202e";
const SHOWN = "\u{FFFD}]0;owned\u{FFFD}\u{FFFD}2J\u{FFFD}";
const REPORT = { phase: "registered", ready: true, ticket: "t", reportInMs: 9600 };
const longest = "x".repeat(LIMITS.textLength);

describe("texts for people", () => {
  it("in an answer to a report → printable, and known fields only", () => {
    const factsRefused = { path: ESCAPE, message: ESCAPE };
    const answer = { ...REPORT, phase: ESCAPE, message: ESCAPE, factsRefused, workerVersion: ESCAPE };
    expect(readReportAnswer({ ...answer, more: ESCAPE })).toEqual({
      ...REPORT,
      phase: SHOWN,
      message: SHOWN,
      factsRefused: { path: SHOWN, message: SHOWN },
      workerVersion: SHOWN,
    });
  });

  it("in a problem → printable; absent → empty", () => {
    const { reason, title, detail, pointer } = {
      reason: ESCAPE,
      title: ESCAPE,
      detail: "a\nb",
      pointer: ESCAPE,
    };
    expect(readProblem({ reason, title, detail, pointer, type: ESCAPE })).toEqual({
      reason: SHOWN,
      title: SHOWN,
      detail: "a b",
      pointer: SHOWN,
    });
    expect(readProblem({ reason: "internal" })).toEqual({ reason: "internal", title: "", detail: "" });
  });

  it("at the limit → whole; a character more → cut", () => {
    expect(readProblem({ reason: "internal", detail: longest })?.detail).toBe(longest);
    expect(readProblem({ reason: "internal", detail: `${longest}y` })?.detail).toBe(longest);
    expect(readReportAnswer({ ...REPORT, message: `${longest}y` })?.message).toBe(longest);
  });

  it("as the reason for no upgrade → printable", () => {
    expect(readUpgradeAnswer({ version: null, why: ESCAPE })).toEqual({ version: null, why: SHOWN });
  });
});

describe("texts that the machine sends back: at the limit → unchanged; longer, or not printable → another kind", () => {
  test.each<[what: string, read: (text: string) => unknown]>([
    ["a ticket", (ticket) => readReportAnswer({ ...REPORT, ticket })?.ticket],
    ["a ticket of a problem", (ticket) => readProblem({ reason: "ticket-stale", ticket })?.ticket],
    ["a challenge", (challenge) => readProblem({ reason: "challenge-stale", challenge })?.challenge],
    ["a kid", (kid) => readRotationAnswer({ kid })?.kid],
    ["a kid of an enrolment", (kid) => readEnrolmentAnswer({ kid, ticket: "t" })?.kid],
  ])("%s", (_, read) => {
    expect(read(longest)).toBe(longest);
    expect(read(`${longest}x`)).toBeUndefined();
    expect(read(ESCAPE)).toBeUndefined();
  });
});

describe("numbers and other values", () => {
  test.each<[what: string, answer: unknown, isRead: boolean]>([
    ["the longest wait", readReportAnswer({ ...REPORT, reportInMs: 3_600_000 }), true],
    ["a longer one", readReportAnswer({ ...REPORT, reportInMs: 3_600_001 }), false],
    ["no wait", readReportAnswer({ ...REPORT, reportInMs: 0 }), true],
    ["a negative one", readReportAnswer({ ...REPORT, reportInMs: -1 }), false],
    ["infinity", readReportAnswer({ ...REPORT, reportInMs: Infinity }), false],
    ["a text in place of a number", readReportAnswer({ ...REPORT, reportInMs: "9600" }), false],
    ["a version of 64 characters", readUpgradeAnswer({ version: `0.2.0-${"a".repeat(58)}` }), true],
    ["a longer one", readUpgradeAnswer({ version: `0.2.0-${"a".repeat(59)}` }), false],
    ["an empty kid", readRotationAnswer({ kid: "" }), false],
    ["a machine that has left", readLeaveAnswer({ left: true }), true],
    ["one that has not", readLeaveAnswer({ left: false }), false],
    ["null", readProblem(null), false],
    ["a problem without a reason", readProblem({ title: "t" }), false],
  ])("%s", (_, answer, isRead) => {
    expect(answer !== null).toBe(isRead);
  });

  it("a phase of a later Worker, an unusable offer → taken: neither may cost the answer", () => {
    const answer = { ...REPORT, phase: "of a later Worker", socket: "/v1" };
    expect(readReportAnswer(answer)).toEqual(answer);
  });
});

test("an answer of several texts, over HTTP → no control character in the outcome", async () => {
  const body = JSON.stringify({ reason: ESCAPE, title: ESCAPE, detail: ESCAPE });
  const send = () => Promise.resolve({ status: 400, body });
  const request = { method: "POST", path: "/", headers: {}, body: "" } as const;
  expect(JSON.stringify(await exchange(send, request, readLeaveAnswer))).not.toMatch(
    /\p{Cc}|\p{Bidi_Control}/u,
  );
});

test("a failure whose text quotes the server → no control character in the outcome", async () => {
  const send = () => Promise.reject(new Error(`names of ${ESCAPE}`));
  const request = { method: "POST", path: "/", headers: {}, body: "" } as const;
  expect(await exchange(send, request, readLeaveAnswer)).toEqual({
    ok: false,
    error: { reason: "failed", message: `names of ${SHOWN}` },
  });
});
