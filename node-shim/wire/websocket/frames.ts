// Encodes and decodes WebSocket frames (RFC 6455, section 5) as a client does: without extensions, messages of text.
// Opens no connection, and draws no random numbers.
import { isUtf8 } from "node:buffer";

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Why a connection is closed (section 7.4.1). */
export const CLOSE = {
  normal: 1000,
  protocol: 1002,
  unsupported: 1003,
  notUtf8: 1007,
  tooLarge: 1009,
} as const;

/** Of a control frame's payload. */
const MAX_CONTROL_BYTES = 125;
/** A payload's length is in the header itself below these, else in the two or eight bytes that follow. */
const [TWO_BYTES, EIGHT_BYTES] = [126, 127];

/** What the other side sends is none of RFC 6455's, or more than is wanted. */
export class FrameFault extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export type Message =
  | { kind: "text"; text: string }
  | { kind: "ping"; payload: Buffer }
  | { kind: "pong" }
  /** `code`: null where none was given. */
  | { kind: "close"; code: number | null; reason: string };

/** A whole message in one frame, masked as a client has to. `mask`: four random bytes. */
export function encodeFrame(opcode: number, payload: Buffer, mask: Buffer): Buffer {
  const { length } = payload;
  const inHeader = length < TWO_BYTES ? length : length < 2 ** 16 ? TWO_BYTES : EIGHT_BYTES;
  const extended = inHeader === TWO_BYTES ? 2 : inHeader === EIGHT_BYTES ? 8 : 0;
  const begin = 2 + extended + mask.length;
  const frame = Buffer.allocUnsafe(begin + length);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | inHeader;
  if (extended === 2) frame.writeUInt16BE(length, 2);
  if (extended === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  mask.copy(frame, 2 + extended);
  for (let at = 0; at < length; at++) frame[begin + at] = (payload[at] ?? 0) ^ (mask[at & 3] ?? 0);
  return frame;
}

/** A close frame's payload. */
export function closePayload(code: number, reason: string): Buffer {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
  payload.writeUInt16BE(code, 0);
  payload.write(reason, 2);
  return payload.subarray(0, MAX_CONTROL_BYTES);
}

interface Header {
  isFinal: boolean;
  opcode: number;
  length: number;
}

/**
 * The function takes bytes as they arrive, and throws a FrameFault where they are no frames, or a message of more than
 * `maxBytes`. What follows a close frame is passed over.
 */
export function frameReader(maxBytes: number, received: (message: Message) => void): (bytes: Buffer) => void {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let neededBytes = 2;
  /** Of a message that comes in several frames; null: there is none. */
  let fragments: Buffer[] | null = null;
  let heldBytes = 0;
  let isClosed = false;

  /** null: more bytes are needed, `neededBytes` in all. */
  function nextFrame(): { header: Header; payload: Buffer } | null {
    if (waitingBytes < neededBytes) return null;
    const bytes = waiting.length === 1 ? (waiting[0] as Buffer) : Buffer.concat(waiting);
    waiting = [bytes];
    const begin = headerBytes(bytes[1] ?? 0);
    neededBytes = begin;
    if (bytes.length < begin) return null;
    const header = headerOf(bytes);
    if (heldBytes + header.length > maxBytes)
      throw new FrameFault(CLOSE.tooLarge, "the message is too large");
    neededBytes = begin + header.length;
    if (bytes.length < neededBytes) return null;
    const payload = bytes.subarray(begin, neededBytes);
    waiting = [bytes.subarray(neededBytes)];
    waitingBytes -= neededBytes;
    neededBytes = 2;
    return { header, payload };
  }

  function take({ isFinal, opcode }: Header, payload: Buffer): void {
    if ((opcode === OPCODE.continuation) !== (fragments !== null))
      throw new FrameFault(CLOSE.protocol, "a fragment is out of order");
    if (isFinal && fragments === null) return received({ kind: "text", text: textOf(payload) });
    fragments ??= [];
    heldBytes += payload.length;
    // A copy, since what has arrived beside it need not be kept. Of empty ones there may be any number.
    if (payload.length > 0) fragments.push(Buffer.from(payload));
    if (!isFinal) return;
    const whole = Buffer.concat(fragments);
    fragments = null;
    heldBytes = 0;
    received({ kind: "text", text: textOf(whole) });
  }

  return (bytes) => {
    waiting.push(bytes);
    waitingBytes += bytes.length;
    for (let next = nextFrame(); next !== null && !isClosed; next = nextFrame()) {
      const { header, payload } = next;
      if (header.opcode < OPCODE.close) take(header, payload);
      else {
        const message = controlOf(header.opcode, payload);
        isClosed = message.kind === "close";
        received(message);
      }
    }
  };
}

/** By the header's second byte. */
function headerBytes(second: number): number {
  const inHeader = second & 0x7f;
  return 2 + (inHeader === TWO_BYTES ? 2 : inHeader === EIGHT_BYTES ? 8 : 0);
}

function headerOf(bytes: Buffer): Header {
  const [first = 0, second = 0] = bytes;
  const opcode = first & 0x0f;
  const isFinal = (first & 0x80) !== 0;
  const isControl = opcode >= OPCODE.close;
  if ((first & 0x70) !== 0) throw new FrameFault(CLOSE.protocol, "an extension was not agreed on");
  if ((second & 0x80) !== 0) throw new FrameFault(CLOSE.protocol, "a server masks nothing");
  if (opcode === OPCODE.binary) throw new FrameFault(CLOSE.unsupported, "messages are text");
  if (!(Object.values(OPCODE) as number[]).includes(opcode))
    throw new FrameFault(CLOSE.protocol, "there is no such kind of frame");
  const inHeader = second & 0x7f;
  if (isControl && (!isFinal || inHeader > MAX_CONTROL_BYTES))
    throw new FrameFault(CLOSE.protocol, "a control frame is short and whole");
  if (inHeader === TWO_BYTES) return { isFinal, opcode, length: bytes.readUInt16BE(2) };
  if (inHeader === EIGHT_BYTES) return { isFinal, opcode, length: Number(bytes.readBigUInt64BE(2)) };
  return { isFinal, opcode, length: inHeader };
}

function controlOf(opcode: number, payload: Buffer): Message {
  if (opcode === OPCODE.ping) return { kind: "ping", payload };
  if (opcode === OPCODE.pong) return { kind: "pong" };
  if (payload.length === 1) throw new FrameFault(CLOSE.protocol, "a close frame has two bytes of code");
  const code = payload.length === 0 ? null : payload.readUInt16BE(0);
  return { kind: "close", code, reason: textOf(payload.subarray(2)) };
}

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new FrameFault(CLOSE.notUtf8, "a text is UTF-8");
  return bytes.toString();
}
