// The wire format of protocol buffers: bytes → numbered fields. Knows no message.

/** A field of a message: a number, or bytes that are text, bytes or a message of their own. */
export interface WireField {
  number: number;
  value: bigint | Uint8Array;
}

interface Position {
  bytes: Uint8Array;
  offset: number;
}

const maxVarintBytes = 10;

function readVarint(position: Position): bigint | undefined {
  let value = 0n;
  for (let index = 0; index < maxVarintBytes; index++) {
    const byte = position.bytes[position.offset++];
    if (byte === undefined) return undefined;
    value |= BigInt(byte & 0x7f) << BigInt(7 * index);
    if (byte < 0x80) return BigInt.asUintN(64, value);
  }
  return undefined;
}

function readBytes(position: Position, length: number): Uint8Array | undefined {
  const end = position.offset + length;
  if (end > position.bytes.length) return undefined;
  const bytes = position.bytes.subarray(position.offset, end);
  position.offset = end;
  return bytes;
}

function readValue(position: Position, wireType: number): bigint | Uint8Array | undefined {
  switch (wireType) {
    case 0:
      return readVarint(position);
    case 1:
      return readBytes(position, 8);
    case 2: {
      const length = readVarint(position);
      return length === undefined ? undefined : readBytes(position, Number(length));
    }
    case 5:
      return readBytes(position, 4);
    default:
      return undefined;
  }
}

/** A message's fields in their order; undefined when the bytes are no message. */
export function readFields(bytes: Uint8Array): WireField[] | undefined {
  const fields: WireField[] = [];
  const position: Position = { bytes, offset: 0 };
  while (position.offset < bytes.length) {
    const tag = readVarint(position);
    const value = tag === undefined ? undefined : readValue(position, Number(tag & 7n));
    if (tag === undefined || value === undefined) return undefined;
    fields.push({ number: Number(tag >> 3n), value });
  }
  return fields;
}

const decoder = new TextDecoder();

/** The last value of a field as text; "" when it is not there. */
export function textField(fields: WireField[], number: number): string {
  const value = fields.findLast((field) => field.number === number)?.value;
  return value instanceof Uint8Array ? decoder.decode(value) : "";
}

export function numberField(fields: WireField[], number: number): bigint {
  const value = fields.findLast((field) => field.number === number)?.value;
  return typeof value === "bigint" ? value : 0n;
}

export function bytesField(fields: WireField[], number: number): Uint8Array {
  const value = fields.findLast((field) => field.number === number)?.value;
  return value instanceof Uint8Array ? value : new Uint8Array();
}
