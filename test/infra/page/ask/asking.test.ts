// Tests an answer on the page while it comes: its text, its limits, and each end.
import { describe, expect, it } from "vitest";
import { answerLine, type AnswerLine } from "../../../../shared/protocol/asking.ts";
import { failure, success } from "../../../../shared/result.ts";
import { Asking, withText } from "../../../../infra/page/ask/asking.ts";
import type { OpenRequest } from "../../../../infra/page/base/api.ts";

const COMPLETE: AnswerLine = { end: { reason: "complete" } };

/** Asks, and lets the Worker answer part by part. */
function asked(open?: OpenRequest) {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let ring = () => {};
  let signal: AbortSignal | undefined;
  const body = new ReadableStream<Uint8Array>({ start: (made) => void (controller = made) });
  const answer: OpenRequest = async (_, __, options) => {
    ({ signal } = options);
    signal?.addEventListener("abort", () => controller?.error(new DOMException("aborted", "AbortError")));
    return success(new Response(body));
  };
  const later = (act: () => void) => {
    ring = act;
    return () => (ring = () => {});
  };
  const question = { name: "disks", parameters: {} };
  const asking = new Asking("edge-7", question, { open: open ?? answer, nowMs: () => 0, later });
  return {
    asking,
    send: async (...texts: string[]) => {
      await turns();
      for (const text of texts) controller?.enqueue(new TextEncoder().encode(text));
      await turns();
    },
    close: async () => {
      controller?.close();
      await turns();
    },
    ring: () => ring(),
    isAborted: () => signal?.aborted,
    text: () => asking.state.value.blocks.map(({ text }) => text).join(""),
    end: () => asking.state.value.end,
  };
}

/** Lets all run that waits only for promises. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

describe("an answer", () => {
  it("comes in parts that end anywhere, and empty lines are no part of it", async () => {
    const { send, text, end } = asked();
    const whole = answerLine({ text: "ä is 93 %\n" });
    await send("\n", whole.slice(0, 11));
    expect([text(), end()]).toEqual(["", null]);
    await send(whole.slice(11), answerLine(COMPLETE));
    expect([text(), end()]).toEqual(["ä is 93 %\n", { text: null, isRefused: false }]);
  });

  it("has bytes", async () => {
    const { send, asking } = asked();
    await send(answerLine({ base64: "H4sI" }), answerLine(COMPLETE));
    expect([asking.bytes, asking.state.value.size]).toEqual([[new Uint8Array([0x1f, 0x8b, 8])], 3]);
  });

  it.each<[situation: string, lines: (AnswerLine | string)[], end: object]>([
    [
      "cut at its size",
      [{ end: { reason: "cut" } }],
      { text: expect.stringContaining("the answer is cut") as string, isRefused: false },
    ],
    [
      "refused for lack of a proof",
      [{ end: { reason: "refused", fault: "no proof", challenge: "c" } }],
      { text: "no proof", isRefused: true, challenge: "c" },
    ],
    ["no JSON", ["{\n"], { text: expect.stringContaining("reload the page") as string, isRefused: false }],
    [
      "endless",
      [{ text: "x".repeat(4 * 1024 * 1024 + 1) }],
      { text: "the answer is longer than the page shows", isRefused: false },
    ],
  ])("that is %s has this end", async (_, lines, end) => {
    const { send, ...rest } = asked();
    await send(...lines.map((line) => (typeof line === "string" ? line : answerLine(line))));
    expect(rest.end()).toEqual(end);
  });

  it("breaks off → what came is there", async () => {
    const { send, close, text, end } = asked();
    await send(answerLine({ text: "a\n" }));
    await close();
    expect([text(), end()]).toEqual(["a\n", { text: "the answer broke off", isRefused: false }]);
  });

  it.each<[situation: string, act: (of: ReturnType<typeof asked>) => void, why: string]>([
    ["is stopped", ({ asking }) => asking.stop(), "you stopped the answer"],
    ["does not go on for 20 s", ({ ring }) => ring(), "nothing more has come for 20 s"],
  ])("%s → the request ends", async (_, act, why) => {
    const of = asked();
    await of.send(answerLine({ text: "a\n" }));
    act(of);
    await turns();
    expect([of.end()?.text, of.isAborted(), of.text()]).toEqual([why, true, "a\n"]);
  });

  it("is refused by the Worker → its reason, and the wrong parameter", async () => {
    const fault = { reason: "invalid-body", message: "not a unit", status: 400, pointer: "/parameters/unit" };
    const { end } = asked(async () => failure(fault));
    await turns();
    expect(end()).toEqual({ text: "not a unit", isRefused: true, fault });
  });
});

describe("the text", () => {
  it("blocks have at most 250 lines, and full blocks stay the same object", () => {
    const lines = (count: number) => "x\n".repeat(count);
    const first = withText([], lines(251));
    expect(first.map((block) => block.lines)).toEqual([250, 1]);
    const second = withText(first, `${lines(249)}y`);
    expect(second.map((block) => block.lines)).toEqual([250, 250, 0]);
    expect(second[0]).toBe(first[0]);
    expect(second.map(({ text }) => text).join("")).toBe(`${lines(500)}y`);
  });

  it("a part that ends within a line is continued in its block", () => {
    expect(withText(withText([], "a"), "b\nc")).toEqual([{ text: "ab\nc", lines: 1 }]);
  });
});
