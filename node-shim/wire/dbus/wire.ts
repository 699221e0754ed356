// Encodes and decodes D-Bus messages with basic types and variants of them (D-Bus Specification, "Message Protocol").

/** A value of a basic type. Decoding a body stops before the first value of another type. */
export type Value = string | number | bigint | boolean;

export const MESSAGE = { call: 1, answer: 2, error: 3, signal: 4 } as const;

export interface BusMessage {
  type: number;
  serial: number;
  path?: string | undefined;
  interface?: string | undefined;
  member?: string | undefined;
  /** The name of an error; absent in other messages. */
  errorName?: string | undefined;
  /** The serial of the call that an answer or error belongs to. */
  replySerial?: number | undefined;
  destination?: string | undefined;
  sender?: string | undefined;
  /** The types of the body's values. */
  signature?: string | undefined;
  body: readonly Value[];
}

/** The most bytes of a message, far above any expected message. A larger message ends the connection. */
const MAX_MESSAGE_BYTES = 64 * 1024;
const FIXED_HEADER_BYTES = 16;

/** The header's fields: the code, the name and the type of each. */
const FIELDS = [
  [1, "path", "o"],
  [2, "interface", "s"],
  [3, "member", "s"],
  [4, "errorName", "s"],
  [5, "replySerial", "u"],
  [6, "destination", "s"],
  [7, "sender", "s"],
  [8, "signature", "g"],
] as const;

/** For each type, the number of bytes that its values are aligned to. */
const ALIGNMENT: Readonly<Record<string, number>> = { y: 1, g: 1, v: 1, b: 4, u: 4, s: 4, o: 4, t: 8 };

/** Encodes a message in little endian. */
export function encodeMessage(message: BusMessage): Buffer {
  const body = encodeValues(message.signature ?? "", message.body);
  const fields: number[] = [];
  for (const [code, name, type] of FIELDS) {
    const value = message[name];
    if (value === undefined || value === "") continue;
    pad(fields, 8);
    fields.push(code);
    put(fields, "g", type);
    put(fields, type, value);
  }
  const header = [0x6c, message.type, 0, 1];
  put(header, "u", body.length);
  put(header, "u", message.serial);
  put(header, "u", fields.length);
  const bytes = [...header, ...fields];
  pad(bytes, 8);
  return Buffer.from([...bytes, ...body]);
}

function encodeValues(signature: string, values: readonly Value[]): number[] {
  const bytes: number[] = [];
  for (const [at, type] of signature.split("").entries()) put(bytes, type, values[at] ?? "");
  return bytes;
}

function put(bytes: number[], type: string, value: Value): void {
  pad(bytes, ALIGNMENT[type] ?? 1);
  if (type === "y") bytes.push(Number(value));
  else if (type === "b" || type === "u") bytes.push(...number(4, BigInt(value)));
  else if (type === "t") bytes.push(...number(8, BigInt(value)));
  else if (type === "v") {
    const inner = typeof value === "boolean" ? "b" : "s";
    put(bytes, "g", inner);
    put(bytes, inner, value);
  } else {
    const text = Buffer.from(String(value));
    bytes.push(...(type === "g" ? [text.length] : number(4, BigInt(text.length))), ...text, 0);
  }
}

function number(size: number, value: bigint): number[] {
  return Array.from({ length: size }, (_, at) => Number((value >> BigInt(8 * at)) & 0xffn));
}

function pad(bytes: number[], alignment: number): void {
  while (bytes.length % alignment !== 0) bytes.push(0);
}

/** Returns the first message in `bytes`, and the rest; null if incomplete. Throws if the bytes are no message. */
export function decodeMessage(bytes: Buffer): { message: BusMessage; rest: Buffer } | null {
  if (bytes.length < FIXED_HEADER_BYTES) return null;
  const isLittle = bytes[0] === 0x6c;
  if ((!isLittle && bytes[0] !== 0x42) || bytes[3] !== 1) throw new Error("not a D-Bus message");
  const reader = { bytes, at: 4, isLittle };
  const bodyBytes = Number(take(reader, "u"));
  const serial = Number(take(reader, "u"));
  const fieldsBytes = Number(take(reader, "u"));
  const bodyAt = aligned(FIXED_HEADER_BYTES + fieldsBytes, 8);
  const end = bodyAt + bodyBytes;
  if (end > MAX_MESSAGE_BYTES) throw new Error("a D-Bus message that is larger than any that is asked for");
  if (bytes.length < end) return null;
  const fields = takeFields({ ...reader, bytes: bytes.subarray(0, FIXED_HEADER_BYTES + fieldsBytes) });
  const body = takeValues({ bytes: bytes.subarray(0, end), at: bodyAt, isLittle }, fields.signature ?? "");
  return { message: { type: bytes[1] ?? 0, serial, ...fields, body }, rest: bytes.subarray(end) };
}

interface Reader {
  bytes: Buffer;
  at: number;
  isLittle: boolean;
}

function takeFields(reader: Reader): Partial<BusMessage> {
  const fields: Record<string, Value> = {};
  for (; reader.at < reader.bytes.length; reader.at = aligned(reader.at, 8)) {
    const code = take(reader, "y");
    const type = String(take(reader, "g"));
    const known = FIELDS.find(([candidate]) => candidate === code);
    const value = take(reader, type);
    if (known && known[2] === type) fields[known[1]] = value;
  }
  return fields;
}

/** Reads the values of a signature. Stops before the first value that does not have a basic type. */
function takeValues(reader: Reader, signature: string): Value[] {
  const values: Value[] = [];
  for (const type of signature) {
    const inner = type === "v" ? String(take(reader, "g")) : type;
    if (ALIGNMENT[inner] === undefined || inner === "v") break;
    values.push(take(reader, inner));
  }
  return values;
}

function take(reader: Reader, type: string): Value {
  const { bytes, isLittle } = reader;
  const at = aligned(reader.at, ALIGNMENT[type] ?? 1);
  const long = (from: number) => (isLittle ? bytes.readUInt32LE(from) : bytes.readUInt32BE(from));
  if (type === "y") {
    reader.at = at + 1;
    return bytes.readUInt8(at);
  }
  if (type === "b" || type === "u") {
    reader.at = at + 4;
    return type === "b" ? long(at) === 1 : long(at);
  }
  if (type === "t") {
    reader.at = at + 8;
    return isLittle ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at);
  }
  if (type !== "s" && type !== "o" && type !== "g") throw new Error(`a D-Bus value of type ${type}`);
  const from = type === "g" ? at + 1 : at + 4;
  const end = from + (type === "g" ? bytes.readUInt8(at) : long(at));
  if (end >= bytes.length) throw new Error("a D-Bus text that is cut off");
  reader.at = end + 1;
  return bytes.toString("utf8", from, end);
}

function aligned(at: number, alignment: number): number {
  return Math.ceil(at / alignment) * alignment;
}
