// Tests sealed answers: what the operator reads, and that the Worker between both can neither read nor change anything.
import { describe, expect, it } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { newUnsealing, type Opened, sealed, type Unsealing } from "../../../node-shim/wire/sealed-answer.ts";
import { QUESTION_LIMITS } from "../../../shared/protocol/limits.ts";
import { proofText } from "../../../shared/protocol/question-proof.ts";
import type { AnswerEnd } from "../../../shared/protocol/questions.ts";
import { failure, type Result } from "../../../shared/result.ts";

const [machine, mallory] = [await makeMachineKey(), await makeMachineKey()];
const provedTo = (sealTo: string, more: object = {}) =>
  proofText({
    machine: "edge-1",
    challenge: "A".repeat(22),
    question: { name: "disks", parameters: {} },
    sealTo,
    ...more,
  });

async function* answered(parts: readonly (string | Uint8Array)[], end: AnswerEnd) {
  for (const part of parts) yield Buffer.from(part);
  return end;
}

/** Seals an answer. Returns its messages, and the end that the Worker gets. */
async function seal(
  { sealTo }: Unsealing,
  parts: readonly (string | Uint8Array)[] = ["one\n", "two\n"],
  end: AnswerEnd = { reason: "complete" },
  { key = machine, proved = provedTo(sealTo) } = {},
) {
  const chunks = sealed(answered(parts, end), { sealTo, proved, key });
  const messages: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await chunks.next();
    if (done) return { messages, end: value };
    messages.push(value);
  }
}

const open = (unsealing: Unsealing, bytes: Uint8Array): Promise<Result<Opened[]>> =>
  unsealing.opener(provedTo(unsealing.sealTo)).take(bytes);
const opened = (parts: string[], end?: AnswerEnd) => ({
  ok: true,
  value: [
    { machine: machine.thumbprint },
    ...parts.map((part) => ({ part: new Uint8Array(Buffer.from(part)) })),
    ...(end ? [{ end }] : []),
  ],
});

describe("a sealed answer", () => {
  it("→ the machine's key, the parts and the end, however the bytes are cut on their way", async () => {
    const unsealing = await newUnsealing();
    const { messages } = await seal(unsealing);
    const bytes = Buffer.concat(messages);
    expect(await open(unsealing, bytes)).toEqual(opened(["one\n", "two\n"], { reason: "complete" }));
    const opener = unsealing.opener(provedTo(unsealing.sealTo));
    const all: Opened[] = [];
    for (const byte of bytes) {
      const taken = await opener.take(Buffer.of(byte));
      if (taken.ok) all.push(...taken.value);
    }
    expect(all).toEqual(opened(["one\n", "two\n"], { reason: "complete" }).value);
  });

  it("a part of any size → a part or several", async () => {
    const unsealing = await newUnsealing();
    const part = Buffer.alloc(2 * QUESTION_LIMITS.chunkBytes + 1, "x");
    const { messages } = await seal(unsealing, [part]);
    const all = await open(unsealing, Buffer.concat(messages));
    const parts = all.ok ? all.value.flatMap((each) => ("part" in each ? [each.part] : [])) : [];
    expect(parts.map(({ length }) => length)).toEqual([65_536, 65_536, 1]);
    expect(Buffer.concat(parts)).toEqual(part);
  });

  it("no text of the answer is in its bytes, and no fault in the end that the Worker gets", async () => {
    const unsealing = await newUnsealing();
    const end: AnswerEnd = { reason: "failed", fault: "a secret fault" };
    const sent = await seal(unsealing, ["a secret part"], end);
    expect(Buffer.concat(sent.messages).toString("latin1")).not.toContain("secret part");
    expect(JSON.stringify(sent.end)).toBe('{"reason":"failed","fault":"the reason is sealed"}');
    expect(await open(unsealing, Buffer.concat(sent.messages))).toEqual(opened(["a secret part"], end));
  });

  it.each<[situation: string, change: (messages: Uint8Array[]) => Uint8Array[]]>([
    ["without a part", ([head, , two, end]) => [head!, two!, end!]],
    ["with a part twice", ([head, one, two]) => [head!, one!, one!, two!]],
    ["in another order", ([head, one, two]) => [head!, two!, one!]],
    ["with a changed bit", ([head, one]) => [head!, flipped(one!)]],
    ["with another secret", ([head, one]) => [flipped(head!, 70), one!]],
    ["that goes on after its end", ([head, one, two, end]) => [head!, one!, two!, end!, end!]],
  ])("%s → refused", async (_, change) => {
    const unsealing = await newUnsealing();
    const { messages } = await seal(unsealing);
    expect(await open(unsealing, Buffer.concat(change(messages)))).toEqual(
      failure("the answer was changed on its way"),
    );
  });

  it("that is cut → no end", async () => {
    const unsealing = await newUnsealing();
    const { messages } = await seal(unsealing);
    expect(await open(unsealing, Buffer.concat(messages.slice(0, -1)))).toEqual(opened(["one\n", "two\n"]));
  });

  it.each([
    ["to another question", { question: { name: "logs", parameters: {} } }],
    ["of another machine", { machine: "edge-2" }],
    ["to another challenge", { challenge: "B".repeat(22) }],
  ])("an answer %s → refused", async (_, more) => {
    const unsealing = await newUnsealing();
    const { messages } = await seal(unsealing, [], undefined, { proved: provedTo(unsealing.sealTo, more) });
    expect(await open(unsealing, Buffer.concat(messages))).toEqual(
      failure("the answer was changed on its way"),
    );
  });

  it("an answer that the Worker has made itself → another machine's key, before all parts", async () => {
    const unsealing = await newUnsealing();
    const { messages } = await seal(unsealing, ["forged"], undefined, { key: mallory });
    const read = await open(unsealing, Buffer.concat(messages));
    expect(read.ok && read.value[0]).toEqual({ machine: mallory.thumbprint });
  });

  it.each([
    ["a text", Buffer.from("disks are fine\n")],
    ["a message of a gigabyte", Buffer.from([0, 0x40, 0, 0, 0])],
  ])("%s → not sealed", async (_, bytes) => {
    expect(await open(await newUnsealing(), bytes)).toEqual(failure("the answer is not sealed"));
  });

  it.each(["A".repeat(43), "x"])("to a key that is none, %s → no answer", async (sealTo) => {
    const unsealing = { ...(await newUnsealing()), sealTo };
    await expect(seal(unsealing)).rejects.toThrow();
  });
});

/** Returns the bytes with one other bit, by default in the last byte. */
function flipped(bytes: Uint8Array, at = bytes.length - 1): Uint8Array {
  const changed = Uint8Array.from(bytes);
  changed[at]! ^= 1;
  return changed;
}
