// Tests an answer's bounds, and which questions a machine answers.
import { describe, expect, it, test } from "vitest";
import { answer } from "../../../node-shim/questions/answer.ts";
import { acceptedQuestion } from "../../../node-shim/questions/answerer.ts";
import type { QuestionHost } from "../../../node-shim/questions/source.ts";
import { QUESTION_LIMITS } from "../../../shared/protocol/limits.ts";
import type { Question } from "../../../shared/protocol/question.ts";
import { questionsOn } from "../../../shared/protocol/questions.ts";
import { valueOr } from "../../../shared/result.ts";
import { heldTimers } from "../base/timers.ts";
import { played } from "./asking.ts";

const on = (...names: string[]) => valueOr(questionsOn(names), new Set<never>());
const LOGS: Question = { name: "logs", parameters: { kernel: "yes", lines: 5000 } };
const entry = (text: string) => `${JSON.stringify({ __REALTIME_TIMESTAMP: "0", MESSAGE: text })}\n`;
const going = new AbortController().signal;

async function whole(host: QuestionHost, question = LOGS, signal = going) {
  const chunks = answer(question, host, signal);
  let text = "";
  for (;;) {
    const { done, value } = await chunks.next();
    if (done) return { text, end: value };
    text += Buffer.from(value).toString();
  }
}

describe("a question", () => {
  test.each([
    ["is on", { name: "logs", parameters: { unit: "nginx" } }, undefined],
    [
      "is off",
      { name: "files", parameters: { path: "/a" } },
      "files is off: --questions names the questions that this machine answers",
    ],
    ["does not exist", { name: "shell", parameters: {} }, "name: Invalid input"],
    ["lacks a parameter", { name: "logs", parameters: {} }, "parameters: pass unit or kernel"],
    ["has one too many", { name: "logs", parameters: { unit: "a", x: "1" } }, "x: unknown field"],
    [
      "has a parameter that a terminal obeys",
      { name: "logs", parameters: { unit: "a", "\u001b[2J": "1" } },
      String.raw`\u001b[2J: unknown field`,
    ],
  ])("that %s", (_, asked, error) => {
    const accepted = acceptedQuestion(asked, { questions: on("logs"), ownQuestions: new Map() });
    expect(accepted.ok ? undefined : accepted.error).toBe(error);
  });
});

test("what a program prints → the text, cleaned, and its end", async () => {
  const host = played({ journalctl: entry("two\u001b[0m") + entry("one") });
  expect(await whole(host)).toEqual({
    text:
      "1970-01-01T00:00:00.000Z unknown: one\n" +
      String.raw`1970-01-01T00:00:00.000Z unknown: two\u001b[0m` +
      "\n",
    end: { reason: "complete" },
  });
});

test("a name with the edge of a key → hides no other name", async () => {
  const asking = played({ du: "4\t/a/-----BEGIN PRIVATE KEY-----\n3\t/a/b\n" });
  const { text } = await whole(asking, { name: "folders", parameters: { path: "/a", top: 9 } });
  expect(text).toMatch(/\[redacted\]\n.*\/a\/b\n$/);
});

test("a program that fails → its fault, without secrets", async () => {
  // oxlint-disable-next-line require-yield -- it fails before its first line
  const run = async function* () {
    throw new Error("journalctl ended with 1: token=hunter2");
  };
  const { end } = await whole({ ...played(), run });
  expect(end).toEqual({ reason: "failed", fault: "journalctl ended with 1: token=[redacted]" });
});

test("more than an answer may have → cut at the limit", async () => {
  const host = played({ journalctl: entry("x".repeat(4000)).repeat(400) });
  const { text, end } = await whole(host);
  expect(end).toEqual({ reason: "cut" });
  expect(text.length).toBeLessThanOrEqual(QUESTION_LIMITS.answerBytes);
  expect(text.length).toBeGreaterThan(QUESTION_LIMITS.answerBytes - 5000);
});

describe("a program without end", () => {
  /** Prints one line, and waits until it is stopped, or for ever. */
  const hanging = (obeys: boolean): QuestionHost => ({
    ...played(),
    async *run(_program, _args, { signal }) {
      yield entry("one").trim();
      await new Promise<void>((resolve) => {
        if (obeys) signal.addEventListener("abort", () => resolve());
      });
    },
  });

  it("that can be stopped → ends in time, with the lines until then", async () => {
    const pass = heldTimers();
    const ended = whole(hanging(true));
    await new Promise((resolve) => void setImmediate(resolve));
    pass(30_000);
    expect(await ended).toEqual({
      text: "1970-01-01T00:00:00.000Z unknown: one\n",
      end: { reason: "timed out", seconds: 30 },
    });
  });

  it("that cannot be stopped → ends two seconds later, without it", async () => {
    const pass = heldTimers();
    const ended = whole(hanging(false));
    pass(30_000);
    pass(2000);
    expect(await ended).toEqual({ text: "", end: { reason: "timed out", seconds: 30 } });
  });

  it("whose asker has gone → ends at once", async () => {
    const gone = new AbortController();
    const ended = whole(hanging(false), LOGS, gone.signal);
    gone.abort();
    expect((await ended).end).toEqual({ reason: "gone" });
  });
});
