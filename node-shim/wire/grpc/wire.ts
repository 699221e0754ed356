// Protobuf's wire format: tags, varints, lengths.

/** The bytes are no protobuf, or end too early. */
export class WireError extends Error {}

/** Groups (3 and 4) are older than proto3, and no message here has any. */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** Where a reader is, and where its message ends. */
export interface Cursor {
  readonly bytes: Buffer;
  at: number;
  readonly end: number;
}

/** An unsigned varint of up to 64 bits as [its low 32 bits, its high 32 bits], both unsigned. */
export function readVarint(cursor: Cursor): [low: number, high: number] {
  let low = 0;
  let high = 0;
  for (let shift = 0; shift < 70; shift += 7) {
    if (cursor.at >= cursor.end) throw new WireError("a number is cut off");
    const byte = cursor.bytes[cursor.at++] ?? 0;
    const bits = byte & 0x7f;
    if (shift < 28) low |= bits << shift;
    else if (shift === 28) {
      low |= bits << 28;
      high |= bits >>> 4;
    } else high |= bits << (shift - 32);
    if (byte < 0x80) return [low >>> 0, high >>> 0];
  }
  throw new WireError("a number has more than 64 bits");
}

/** A length-delimited field's content, as a cursor over the same bytes. */
export function readSlice(cursor: Cursor): Cursor {
  const [length, high] = readVarint(cursor);
  if (high !== 0 || length > cursor.end - cursor.at)
    throw new WireError("a field is longer than its message");
  const slice = { bytes: cursor.bytes, at: cursor.at, end: cursor.at + length };
  cursor.at += length;
  return slice;
}

export function readTag(cursor: Cursor): { number: number; wireType: number } {
  const [tag, high] = readVarint(cursor);
  if (high !== 0 || tag >>> 3 === 0) throw new WireError("a field has no number");
  return { number: tag >>> 3, wireType: tag & 7 };
}

export function skip(cursor: Cursor, wireType: number): void {
  switch (wireType) {
    case WIRE.varint:
      readVarint(cursor);
      return;
    case WIRE.bytes:
      readSlice(cursor);
      return;
    case WIRE.fixed64:
    case WIRE.fixed32:
      cursor.at += wireType === WIRE.fixed64 ? 8 : 4;
      if (cursor.at > cursor.end) throw new WireError("a field is cut off");
      return;
    default:
      throw new WireError(`a field has wire type ${wireType}`);
  }
}

/** For whole numbers; the format needs ten bytes for a negative one. */
export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

export function tag(number: number, wireType: number): Buffer {
  return varint(number * 8 + wireType);
}
