// Tests how a shim answers questions over a socket: the frames, the credit, and what ends an answer.
import { beforeEach, describe, expect, it } from "vitest";
import { SocketQuestions } from "../../../node-shim/worker-link/questions.ts";
import type { AnswerFrame, AskedQuestion, AskingFrame } from "../../../shared/protocol/asking.ts";
import { ASKING_LIMITS } from "../../../shared/protocol/limits.ts";
import type { AnswerEnd } from "../../../shared/protocol/questions.ts";
import { settle } from "../base/fake-clock.ts";

const COMPLETE: AnswerEnd = { reason: "complete" };
const MAC = `\n${"m".repeat(22)}`;

interface Answer {
  asked: AskedQuestion;
  signal: AbortSignal;
  /** The chunks that the machine has read so far. */
  read: number;
}

/** Makes the questions of a socket. `chunks`: the answer to each question. */
function askable(
  chunks: (signal: AbortSignal) => AsyncGenerator<Uint8Array, AnswerEnd>,
  send: () => Promise<void> = async () => undefined,
  isInRate = () => true,
) {
  const sent: AnswerFrame[] = [];
  const answers: Answer[] = [];
  async function* answer(asked: AskedQuestion, signal: AbortSignal): AsyncGenerator<Uint8Array, AnswerEnd> {
    const own: Answer = { asked, signal, read: 0 };
    answers.push(own);
    const all = chunks(signal);
    for (;;) {
      const next = await all.next();
      if (next.done) return next.value;
      own.read += next.value.length;
      yield next.value;
    }
  }
  const questions = new SocketQuestions({
    answering: { on: new Set(["disks", "logs"]), isInRate, answer },
    send: (text) => {
      sent.push(JSON.parse(text.split("\n")[0] ?? "") as AnswerFrame);
      return send();
    },
  });
  questions.name((frame) => `${JSON.stringify(frame)}${MAC}`);
  return { questions, sent, answers, ends: () => sent.filter(({ type }) => type === "end") };
}

const question = (
  id: number,
  more: Partial<Extract<AskingFrame, { type: "question" }>> = {},
): AskingFrame => ({
  type: "question",
  id,
  credit: ASKING_LIMITS.creditBytes,
  question: { name: "disks", parameters: {} },
  asker: "operator alice",
  ...more,
});

async function* linesOf(...lines: string[]): AsyncGenerator<Uint8Array, AnswerEnd> {
  for (const line of lines) yield Buffer.from(line);
  return COMPLETE;
}
/** Yields without end, and ends when nobody reads. */
async function* forever(bytes: number, value = "x"): AsyncGenerator<Uint8Array, AnswerEnd> {
  for (;;) yield Buffer.alloc(bytes, value);
}
/** Waits until the answer is not wanted any more. */
// oxlint-disable-next-line require-yield -- it has no part
async function* silent(signal: AbortSignal): AsyncGenerator<Uint8Array, AnswerEnd> {
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  return { reason: "timed out", seconds: 1 };
}

let hung: ReturnType<typeof askable>;
beforeEach(() => {
  hung = askable(silent);
});

describe("an answer", () => {
  it("has the lines that come together in one part, and its end", async () => {
    const { questions, sent, answers } = askable(() => linesOf("one\n", "über\n"));
    expect(questions.take(question(7, { proof: "signed" }))).toBe(true);
    await settle();
    expect(sent).toEqual([
      { type: "questions", on: ["disks", "logs"] },
      { type: "part", id: 7, n: 1, text: "one\nüber\n" },
      { type: "end", id: 7, n: 2, end: COMPLETE },
    ]);
    expect(answers.map(({ asked }) => asked)).toEqual([
      { question: { name: "disks", parameters: {} }, asker: "operator alice", proof: "signed" },
    ]);
  });

  it("a line that the machine has is not kept until the next one comes", async () => {
    const next = Promise.withResolvers<void>();
    const { questions, sent } = askable(async function* () {
      yield Buffer.from("at once\n");
      await next.promise;
      return COMPLETE;
    });
    questions.take(question(1));
    await settle();
    expect(sent.at(-1)).toMatchObject({ type: "part", text: "at once\n" });
    next.resolve();
    await settle();
    expect(sent.at(-1)).toMatchObject({ type: "end" });
  });

  it.each([
    ["text", Buffer.alloc(90_000, "line of text\n")],
    ["bytes that are no text", Buffer.alloc(90_000, Buffer.from([0xff, 0, 1]))],
    ["text whose JSON is much longer", Buffer.alloc(90_000, "\u0001")],
  ])("%s of any length goes in frames of at most 64 KiB, and is the same behind them", async (_, bytes) => {
    const { questions, sent } = askable(async function* () {
      yield bytes;
      return COMPLETE;
    });
    questions.take(question(1));
    for (let turn = 0; turn < 20; turn++) await settle();
    const parts = sent.filter((frame) => frame.type === "part");
    const whole = parts.map(({ text, base64 = "" }) =>
      text === undefined ? Buffer.from(base64, "base64") : Buffer.from(text),
    );
    expect(Buffer.concat(whole).equals(bytes)).toBe(true);
    const largest = Math.max(...sent.map((frame) => Buffer.byteLength(JSON.stringify(frame)) + MAC.length));
    expect(largest).toBeLessThanOrEqual(ASKING_LIMITS.frameBytes);
  });

  it("two at once; the third is refused with what to do, and a later one is answered", async () => {
    const { questions, ends, answers } = hung;
    for (const id of [1, 2, 3]) questions.take(question(id));
    await settle();
    expect(answers).toHaveLength(2);
    expect(ends()).toMatchObject([
      { id: 3, n: 1, end: { reason: "refused", fault: expect.stringContaining("ask again when") } },
    ]);
    questions.take({ type: "end", id: 1 });
    await settle();
    questions.take(question(4));
    await settle();
    expect(answers).toHaveLength(3);
  });

  it("a fault of what answers is the end of this answer alone", async () => {
    const { questions, ends } = askable(async function* () {
      yield Buffer.from("begin\n");
      throw new Error("a bug");
    });
    questions.take(question(1));
    await settle();
    expect(ends()).toEqual([{ type: "end", id: 1, n: 2, end: { reason: "failed", fault: "a bug" } }]);
  });
});

describe("the credit", () => {
  it("a reader who does not read → the machine holds at most the credit and one part", async () => {
    const { questions, sent, answers } = askable(() => forever(4096));
    questions.take(question(1));
    for (let turn = 0; turn < 30; turn++) await settle();
    const bytes = sent.slice(1).reduce((sum, frame) => sum + JSON.stringify(frame).length + MAC.length, 0);
    expect(bytes).toBeLessThanOrEqual(ASKING_LIMITS.creditBytes);
    expect(answers[0]?.read).toBeLessThanOrEqual(ASKING_LIMITS.creditBytes + 64 * 1024);
    const before = sent.length;
    expect(questions.take({ type: "credit", id: 1, bytes: 64 * 1024 })).toBe(true);
    for (let turn = 0; turn < 5; turn++) await settle();
    expect(sent.length).toBeGreaterThan(before);
  });

  it("a network that takes no bytes → one part waits", async () => {
    const { questions, sent } = askable(
      () => forever(4096),
      () => new Promise(() => undefined),
    );
    questions.take(question(1));
    for (let turn = 0; turn < 5; turn++) await settle();
    expect(sent).toHaveLength(2);
  });

  it("other work of the shim runs between two parts", async () => {
    const { questions, sent } = askable(() => forever(30 * 1024));
    questions.take(question(1));
    const seen: number[] = [];
    for (let turn = 0; turn < 20; turn++) {
      await new Promise((resolve) => void setImmediate(resolve));
      seen.push(sent.length);
    }
    expect(seen.every((count, at) => count - (seen[at - 1] ?? 0) <= 2)).toBe(true);
  });
});

describe("ends the answer, and what it reads with", () => {
  it.each<[situation: string, act: (questions: SocketQuestions) => void]>([
    ["the asker has gone", (questions) => void questions.take({ type: "end", id: 1 })],
    ["the socket has ended", (questions) => questions.stop()],
    ["the gateway has forgotten this machine's questions", (questions) => questions.name(() => "{}")],
  ])("%s", async (_, act) => {
    const { questions, answers, ends } = hung;
    questions.take(question(1));
    await settle();
    act(questions);
    await settle();
    expect([answers[0]?.signal.aborted, ends()]).toEqual([true, []]);
  });

  it("while a part waits for credit", async () => {
    const { questions, sent, answers } = askable(() => forever(30 * 1024));
    questions.take(question(1));
    for (let turn = 0; turn < 10; turn++) await settle();
    const before = sent.length;
    questions.take({ type: "end", id: 1 });
    await settle();
    expect([answers[0]?.signal.aborted, sent.length]).toEqual([true, before]);
  });
});

describe("a frame that no gateway sends", () => {
  it.each<[situation: string, frames: AskingFrame[], isTaken: boolean]>([
    ["a question with the next ID", [question(1), question(2)], true],
    ["a question with a used ID", [question(2), question(2)], false],
    ["an earlier ID", [question(2), question(1)], false],
    ["more credit than a gateway has", [question(1, { credit: ASKING_LIMITS.creditBytes + 1 })], false],
    ["more credit than was used", [question(1), { type: "credit", id: 1, bytes: 1024 }], false],
    [
      "credit for an answer that has ended",
      [question(1), { type: "end", id: 1 }, { type: "credit", id: 1, bytes: 1024 }],
      true,
    ],
    [
      "as many frames for ended answers as may cross on the way",
      [question(1), ...Array.from({ length: 9 }, () => ({ type: "end", id: 1 }) as const)],
      true,
    ],
    [
      "one more",
      [question(1), ...Array.from({ length: 10 }, () => ({ type: "end", id: 1 }) as const)],
      false,
    ],
    ["an end of what nobody asked", [{ type: "end", id: 1 }], false],
  ])("%s", (_, frames, isTaken) => {
    expect(frames.map((frame) => hung.questions.take(frame)).at(-1)).toBe(isTaken);
  });

  it("questions faster than a Worker sends them", () => {
    const { questions, answers } = askable(silent, undefined, () => false);
    expect([questions.take(question(1)), answers]).toEqual([false, []]);
  });

  it("a question before this machine has named its questions", () => {
    const { questions } = hung;
    questions.stop();
    expect(questions.take(question(1))).toBe(false);
  });
});
