// Tests which answers to hostile frames are refusals, and the text of a verdict.
import { describe, expect, it } from "vitest";
import type { GatewayFrame } from "../../../../shared/protocol/frames.ts";
import {
  areFramesClean,
  type FrameVerdict,
  frameVerdictText,
  judge,
  offenceText,
  type Outcome,
} from "./frames-verdict.ts";

const MIB = 2 ** 20;
const lastLine = (text: string) => text.trimEnd().split("\n").at(-1);
const nothing: Outcome = { heard: [], pongs: 0, ended: null, isLate: false };
const heard = (...frames: object[]): Outcome => ({ ...nothing, heard: frames as GatewayFrame[] });
const ANSWER = { type: "answer", n: 1, nonce: "", nextInMs: 0 };
const reported = (status: number) => heard({ type: "report-answer", status, body: {}, comeBackWithinMs: 0 });
const closing = (reason: string) => ({ type: "closing", reason, comeBackInMs: 0 });

describe("an answer to a hostile frame", () => {
  it.each<[situation: string, Outcome, words: string, what: string | null]>([
    ["no session", heard({ type: "again", reason: "no session" }), "again no session", null],
    ["not fresh", heard({ type: "again", reason: "not fresh" }), "again not fresh", null],
    ["a MAC was right", heard({ type: "again", reason: "over" }), "again over", "accepted"],
    [
      "a MAC was right, and the heartbeat was not quiet",
      heard({ type: "again", reason: "not quiet" }),
      "again not quiet",
      "accepted",
    ],
    ["it was written", heard({ type: "again", reason: "lease" }), "again lease", "accepted"],
    ["it was accepted", heard(ANSWER), "answer", "accepted"],
    ["a report refused", reported(401), "report 401", null],
    ["a report challenged", reported(409), "report 409", null],
    ["a report accepted", reported(200), "report 200", "accepted"],
    ["a fault", reported(500), "report 500", "5xx"],
    ["none", heard(closing("bad frame")), "closing bad frame", null],
    ["the socket is another's now", heard(closing("replaced")), "closing replaced", "accepted"],
    ["the machine was forgotten", heard({ type: "left" }), "left", "accepted"],
    [
      "a flood, one of which was accepted",
      heard({ type: "again", reason: "not fresh" }, ANSWER, closing("too often")),
      "again not fresh + answer + closing too often",
      "accepted",
    ],
    ["a ping", { ...nothing, pongs: 1 }, "pong", null],
    ["the connection ended", { ...nothing, ended: { code: 1002, reason: "" } }, "cut, 1002", null],
    ["nothing", { ...nothing, isLate: true }, "nothing", "no answer"],
    ["a request refused", { ...nothing, status: 401 }, "HTTP 401", null],
    ["a request accepted", { ...nothing, status: 200 }, "HTTP 200", "accepted"],
    ["a request that fails", { ...nothing, status: 503 }, "HTTP 503", "5xx"],
    ["a request without an answer", { ...nothing, isLate: true }, "nothing", "no answer"],
  ])("%s", (_, outcome, words, what) => {
    expect(judge(outcome)).toEqual({ words, what });
  });
});

describe("a verdict over frames", () => {
  const clean: FrameVerdict = {
    plan: { frames: 2, seed: 3, from: 4 },
    sent: 2,
    discarded: 0,
    sockets: { accepted: 1, unaccepted: 1 },
    arrived: 2,
    late: 0,
    kinds: new Map([["no frame", new Map([["closing bad frame", 2]])]]),
    offences: [],
    disturbances: [],
    rows: 0,
    ended: 1,
    rowsOfAnEnd: 3,
    renewals: 0,
    asked: 0,
    objectsMade: 0,
    beats: 2,
    residentBytes: [100 * MIB, 110 * MIB],
  };
  const offence = { what: "accepted", index: 4, text: offenceText("deep", "answer", { text: "[" }) } as const;

  it("without an effect → clean", () => {
    expect(areFramesClean(clean)).toBe(true);
    const text = frameVerdictText(clean);
    expect(lastLine(text)).toBe("accepted 0, 5xx 0, rows 0, renewals 0");
    expect(text).toContain("memory 100 MiB at 10 %, 100 MiB at 50 %, 110 MiB at the end");
  });

  it.each<[string, Partial<FrameVerdict>, string]>([
    [
      "a frame was accepted",
      { offences: [offence] },
      'accepted: npm run hostile -- --seed 3 --from 4 --frames 1\n  answer to deep: {"text":"["}',
    ],
    [
      "rows were written",
      { rows: 2, disturbances: [{ from: 4, to: 9, rows: 2, asks: 0 }] },
      "rows 2, apiserver asked 0: npm run hostile -- --seed 3 --from 4 --frames 5",
    ],
    ["an end wrote fewer rows than others", { rows: -1 }, "rows -1"],
    ["a lease was renewed", { renewals: 1, asked: 1 }, "renewals 1"],
    ["the apiserver got a request", { asked: 1 }, "apiserver asked 1"],
    ["an object was made", { objectsMade: 1 }, "objects made 1"],
    [
      "memory grows",
      { residentBytes: Array.from({ length: 100 }, (_, at) => (100 + at * 10) * MIB) },
      "which is not flat",
    ],
    [
      "nothing was sent",
      { sockets: { accepted: 0, unaccepted: 0 } },
      "on 0 accepted and 0 unaccepted sockets",
    ],
    ["no other machine kept reporting", { beats: 0 }, "0 heartbeats of machines beside them"],
  ])("%s → not clean, and what to check", (_, more, text) => {
    expect(areFramesClean({ ...clean, ...more })).toBe(false);
    expect(frameVerdictText({ ...clean, ...more })).toContain(text);
  });
});
