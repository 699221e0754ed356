// Tests how many questions a machine answers at once and a minute.
import { expect, test } from "vitest";
import { answer } from "../../../node-shim/questions/answer.ts";
import { type Answerer, answerer } from "../../../node-shim/questions/answerer.ts";
import type { QuestionHost } from "../../../node-shim/questions/source.ts";
import { QUESTION_LIMITS } from "../../../shared/protocol/limits.ts";
import { heldTimers } from "../base/timers.ts";
import { played } from "./asking.ts";

const UNITS = { name: "units", parameters: {} };
const going = new AbortController().signal;
const ON = { questions: new Set(["units", "follow"] as const), ownQuestions: new Map() };
const BUSY =
  "this machine answers at most 2 questions at once and 30 a minute, of all askers: ask again later";
const turn = () => new Promise((resolve) => void setImmediate(resolve));

const answererOf = (host: QuestionHost, nowMs: () => number) =>
  answerer(
    (question, signal, settled) => answer(question, host, signal, settled),
    ON,
    nowMs,
    "/no/such.sock",
  );

async function end(answers: Answerer, asked: unknown = UNITS): Promise<string> {
  const chunks = answers(asked, going);
  for (;;) {
    const { done, value } = await chunks.next();
    if (done) return value.reason === "refused" ? value.fault : value.reason;
  }
}

/** Returns a machine whose systemctl ends when `go` is called. */
function waiting() {
  let go = () => {};
  const gone = new Promise<void>((resolve) => (go = resolve));
  // oxlint-disable-next-line require-yield -- it waits, and prints nothing
  const run = async function* () {
    await gone;
  };
  return { host: { ...played(), run }, go };
}

test("ten askers at once → two are answered, the others hear at once that the machine is busy", async () => {
  const { host, go } = waiting();
  const answers = answererOf(host, () => 0);
  const ends = Array.from({ length: 10 }, () => end(answers));
  expect(await Promise.all(ends.slice(2))).toEqual(Array.from({ length: 8 }, () => BUSY));
  go();
  expect(await Promise.all(ends.slice(0, 2))).toEqual(["complete", "complete"]);
  expect(await end(answers)).toBe("complete");
});

test("a second log is not followed, and another question is answered; after the end the next log is", async () => {
  const { host, go } = waiting();
  const answers = answererOf(
    {
      ...host,
      run: (program) =>
        program === "journalctl" ? host.run() : played({ systemctl: "" }).run(program, [], { signal: going }),
    },
    () => 0,
  );
  const follow = { name: "follow", parameters: { unit: "a" } };
  const first = end(answers, follow);
  expect(await end(answers, follow)).toMatch(/^this machine follows one log at a time/);
  expect(await end(answers)).toBe("complete");
  go();
  expect([await first, await end(answers, follow)]).toEqual(["complete", "complete"]);
});

test("two questions that hang in a file system → busy after their ends too, until the system call returns", async () => {
  const pass = heldTimers();
  const { host, go } = waiting();
  const answers = answererOf(host, () => 0);
  const ends = [end(answers), end(answers)];
  await turn();
  pass(10_000);
  pass(2000);
  expect(await Promise.all(ends)).toEqual(["timed out", "timed out"]);
  expect(await end(answers)).toBe(BUSY);
  go();
  await turn();
  expect(await end(answers)).toBe("complete");
});

test("more questions than one minute has → busy, until time has passed; refused ones do not count", async () => {
  let nowMs = 0;
  const answers = answererOf(played({ systemctl: "" }), () => nowMs);
  for (let count = 0; count < QUESTION_LIMITS.aMinute; count++) {
    expect(await end(answers, { name: "logs", parameters: { unit: "a" } })).toMatch(/^logs is off/);
    expect(await end(answers)).toBe("complete");
  }
  expect(await end(answers)).toBe(BUSY);
  nowMs = 60_000 / QUESTION_LIMITS.aMinute;
  expect([await end(answers), await end(answers)]).toEqual(["complete", BUSY]);
});
