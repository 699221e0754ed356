// Frames as they are on the wire: the examples of RFC 6455 and its limits, whole and byte by byte.
import { describe, expect, it, test } from "vitest";
import {
  CLOSE,
  closePayload,
  encodeFrame,
  FrameFault,
  frameReader,
  type Message,
  OPCODE,
} from "../../../../node-shim/wire/websocket/frames.ts";

const MAX = 100_000;
const bytes = (hex: string) => Buffer.from(hex.replaceAll(" ", ""), "hex");
const NO_MASK = Buffer.alloc(4);

/** As a server sends it: not masked. */
function frame(first: number, payload: Buffer | string): Buffer {
  const masked = encodeFrame(0, Buffer.from(payload as string), NO_MASK);
  const begin = masked.length - Buffer.byteLength(payload);
  const head = Buffer.from(masked.subarray(0, begin - 4));
  head[0] = first;
  head[1] = (head[1] ?? 0) & 0x7f;
  return Buffer.concat([head, masked.subarray(begin)]);
}

function readAll(chunks: readonly Buffer[], maxBytes = MAX): Message[] {
  const messages: Message[] = [];
  const read = frameReader(maxBytes, (message) => messages.push(message));
  for (const chunk of chunks) read(chunk);
  return messages;
}
const byteByByte = (whole: Buffer) => [...whole].map((byte) => Buffer.from([byte]));
const text = (text: string): Message => ({ kind: "text", text });

describe("what a client sends", () => {
  it("the RFC's masked Hello", () => {
    expect(encodeFrame(OPCODE.text, Buffer.from("Hello"), bytes("37fa213d"))).toEqual(
      bytes("81 85 37 fa 21 3d 7f 9f 4d 51 58"),
    );
  });

  test.each([
    [0, "80"],
    [125, "fd"],
    [126, "fe 00 7e"],
    [65_535, "fe ff ff"],
    [65_536, "ff 00 00 00 00 00 01 00 00"],
  ])("%i bytes → the length as %s", (length, header) => {
    const encoded = encodeFrame(OPCODE.text, Buffer.alloc(length, 7), bytes("00000000"));
    const expected = bytes(`81 ${header} 00 00 00 00`);
    expect(encoded.subarray(0, expected.length)).toEqual(expected);
    expect(encoded).toHaveLength(expected.length + length);
  });

  it("a reason that is too long for a control frame is cut", () => {
    expect(closePayload(1000, "x".repeat(200))).toHaveLength(125);
    expect(closePayload(1000, "")).toEqual(bytes("03e8"));
  });
});

describe("what a server sends, whole or byte by byte", () => {
  const ping = frame(0x89, "are you there");
  test.each<[string, Buffer, Message[]]>([
    ["the RFC's Hello", bytes("81 05 48 65 6c 6c 6f"), [text("Hello")]],
    ["the RFC's Hello in two fragments", bytes("01 03 48 65 6c 80 02 6c 6f"), [text("Hello")]],
    ["nothing", bytes("81 00"), [text("")]],
    ["several at once", Buffer.concat([frame(0x81, "a"), frame(0x81, "b")]), [text("a"), text("b")]],
    ["126 bytes", frame(0x81, "x".repeat(126)), [text("x".repeat(126))]],
    ["65,536 bytes", frame(0x81, "x".repeat(65_536)), [text("x".repeat(65_536))]],
    [
      "a ping between fragments, one of them empty",
      Buffer.concat([frame(0x01, "a"), ping, frame(0x00, ""), frame(0x80, "b")]),
      [{ kind: "ping", payload: Buffer.from("are you there") }, text("ab")],
    ],
    [
      "a character across fragments",
      Buffer.concat([frame(0x01, bytes("c3")), frame(0x80, bytes("a9"))]),
      [text("é")],
    ],
    ["a pong", frame(0x8a, "x"), [{ kind: "pong" }]],
    ["a close without a code", bytes("88 00"), [{ kind: "close", code: null, reason: "" }]],
    [
      "a close, and what comes after",
      Buffer.concat([frame(0x88, closePayload(1001, "away")), frame(0x81, "x")]),
      [{ kind: "close", code: 1001, reason: "away" }],
    ],
  ])("%s", (_, sent, messages) => {
    expect(readAll([sent])).toEqual(messages);
    expect(readAll(byteByByte(sent))).toEqual(messages);
  });
});

describe("what is none of the RFC's, or too much → a fault with its code", () => {
  test.each<[string, Buffer, code: number]>([
    ["a masked frame", bytes("81 85 37 fa 21 3d 7f 9f 4d 51 58"), CLOSE.protocol],
    ["a compressed one", frame(0xc1, "x"), CLOSE.protocol],
    ["of another opcode", frame(0x83, "x"), CLOSE.protocol],
    ["of another control opcode", frame(0x8b, "x"), CLOSE.protocol],
    ["binary", frame(0x82, "x"), CLOSE.unsupported],
    ["a continuation of nothing", frame(0x80, "x"), CLOSE.protocol],
    [
      "a text within another's fragments",
      Buffer.concat([frame(0x01, "a"), frame(0x81, "b")]),
      CLOSE.protocol,
    ],
    ["a ping in fragments", frame(0x09, "x"), CLOSE.protocol],
    ["a ping of 126 bytes", frame(0x89, "x".repeat(126)), CLOSE.protocol],
    ["a close with half a code", frame(0x88, "x"), CLOSE.protocol],
    ["a text that is not UTF-8", frame(0x81, bytes("c328")), CLOSE.notUtf8],
    ["a reason that is not UTF-8", frame(0x88, bytes("03e8 c328")), CLOSE.notUtf8],
    ["a length of 2^63", bytes("81 7f 80 00 00 00 00 00 00 00"), CLOSE.tooLarge],
  ])("%s", (_, sent, code) => {
    const fault = faultOf(() => readAll(byteByByte(sent)));
    expect(fault).toBeInstanceOf(FrameFault);
    expect(fault.code).toBe(code);
  });

  const faultOf = (read: () => unknown): FrameFault => {
    try {
      read();
    } catch (error) {
      return error as FrameFault;
    }
    throw new Error("there was none");
  };

  it("a message of the most bytes → read; one more, in one frame or in two → too large", () => {
    const most = "x".repeat(1000);
    expect(readAll([frame(0x81, most)], 1000)).toEqual([text(most)]);
    expect(readAll([frame(0x01, most.slice(1)), frame(0x80, "x")], 1000)).toEqual([text(most)]);
    for (const sent of [
      [frame(0x81, `${most}x`)],
      [frame(0x01, most), frame(0x80, "x")],
      // Its header is enough.
      [frame(0x81, `${most}x`).subarray(0, 4)],
    ])
      expect(faultOf(() => readAll(sent, 1000)).code).toBe(CLOSE.tooLarge);
  });

  it("after a message in fragments, the next one may be as large", () => {
    const most = "x".repeat(1000);
    const one = [frame(0x01, most.slice(1)), frame(0x80, "x")];
    expect(readAll([...one, ...one], 1000)).toEqual([text(most), text(most)]);
  });
});
