// Encodes and decodes protobuf messages. Encoding omits zero and empty values, as proto3 does.
import {
  type FieldType,
  MAP_ENTRY,
  type ProtoInput,
  type ProtoMessage,
  type ScalarName,
  type Schema,
  shapeOf,
} from "./schema.ts";

/** Thrown if the bytes are no protobuf message, or end too early. */
export class WireError extends Error {}

/** The wire types. Groups (3 and 4) are older than proto3, and no message here has one. */
const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** The position of a reader in the bytes, and the end of its message. */
interface Cursor {
  readonly bytes: Buffer;
  at: number;
  readonly end: number;
}

/** Reads an unsigned varint of up to 64 bits as [low 32 bits, high 32 bits], both unsigned. */
function readVarint(cursor: Cursor): [low: number, high: number] {
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

/** Reads a length-delimited field. Returns a cursor that covers the field's bytes. */
function readSlice(cursor: Cursor): Cursor {
  const [length, high] = readVarint(cursor);
  if (high !== 0 || length > cursor.end - cursor.at)
    throw new WireError("a field is longer than its message");
  const slice = { bytes: cursor.bytes, at: cursor.at, end: cursor.at + length };
  cursor.at += length;
  return slice;
}

function readTag(cursor: Cursor): { number: number; wireType: number } {
  const [tag, high] = readVarint(cursor);
  if (high !== 0 || tag >>> 3 === 0) throw new WireError("a field has no number");
  return { number: tag >>> 3, wireType: tag & 7 };
}

function skip(cursor: Cursor, wireType: number): void {
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

/** Encodes a whole number as a varint. A negative number takes ten bytes. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

function tag(number: number, wireType: number): Buffer {
  return varint(number * 8 + wireType);
}

// Encodes a message to protobuf bytes. Omits values that are zero or empty, as proto3 does.

export function encode<S extends Schema>(schema: S, message: ProtoInput<S>): Buffer {
  const parts = Object.entries(schema).flatMap(([name, [number, type]]) => {
    const value: unknown = message[name];
    return value === undefined ? [] : fieldParts(number, type, value);
  });
  return Buffer.concat(parts);
}

function fieldParts(number: number, type: FieldType, value: unknown): Buffer[] {
  const shape = shapeOf(type);
  if (shape.kind === "map") {
    const entries = [...(value as ReadonlyMap<string, string>)];
    return entries.flatMap(([key, value]) => delimited(number, encode(MAP_ENTRY, { key, value })));
  }
  if (shape.kind === "message") {
    const messages = (shape.repeated ? value : [value]) as ProtoInput<Schema>[];
    return messages.flatMap((message) => delimited(number, encode(shape.schema, message)));
  }
  const { scalar, repeated } = shape;
  if (!repeated) return isZero(value) ? [] : scalarParts(number, scalar, value);
  const values = value as unknown[];
  if (scalar === "string" || scalar === "bytes")
    return values.flatMap((value) => scalarParts(number, scalar, value));
  if (values.length === 0) return [];
  return delimited(number, Buffer.concat(values.map((value) => varint(Number(value)))));
}

function scalarParts(number: number, scalar: ScalarName, value: unknown): Buffer[] {
  if (scalar === "string") return delimited(number, Buffer.from(value as string));
  if (scalar === "bytes") return delimited(number, value as Uint8Array);
  return [tag(number, WIRE.varint), varint(Number(value))];
}

function delimited(number: number, content: Uint8Array): Buffer[] {
  return [tag(number, WIRE.bytes), varint(content.length), Buffer.from(content)];
}

function isZero(value: unknown): boolean {
  return (
    value === 0 || value === "" || value === false || (value instanceof Uint8Array && value.length === 0)
  );
}

type Target = Record<string, unknown>;

/** Decodes a message, without unknown fields. Does not refer to `bytes`. Throws WireError if `bytes` is no message. */
export function decode<S extends Schema>(schema: S, bytes: Buffer): ProtoMessage<S> {
  const message = emptyMessage(schema);
  decodeInto(message, schema, { bytes, at: 0, end: bytes.length });
  return message as ProtoMessage<S>;
}

const ZERO = { string: "", bool: false, int32: 0, uint32: 0, int64: 0, uint64: 0 } as const;

function emptyMessage(schema: Schema): Target {
  const entries = Object.entries(schema).map(([name, [, type]]): [string, unknown] => {
    const shape = shapeOf(type);
    if (shape.kind === "map") return [name, new Map<string, string>()];
    if (shape.repeated) return [name, []];
    if (shape.kind === "message") return [name, undefined];
    return [name, shape.scalar === "bytes" ? new Uint8Array() : ZERO[shape.scalar]];
  });
  return Object.fromEntries(entries);
}

/** Decodes a message into `target`. The depth is limited by the tables, since no table refers to itself. */
function decodeInto(target: Target, schema: Schema, cursor: Cursor): void {
  const fields = Object.entries(schema);
  while (cursor.at < cursor.end) {
    const { number, wireType } = readTag(cursor);
    const field = fields.find(([, [own]]) => own === number);
    // A field with another wire type than in the table counts as unknown.
    if (!field || !readField(target, field, wireType, cursor)) skip(cursor, wireType);
  }
}

/** Reads a field's value. Returns false if the table has no field with this wire type. */
function readField(
  target: Target,
  [name, [, type]]: [string, Schema[string]],
  wireType: number,
  cursor: Cursor,
): boolean {
  const shape = shapeOf(type);
  if (shape.kind === "scalar") {
    const { scalar, repeated } = shape;
    if (wireType === wireTypeOf(scalar)) {
      const value = readScalar(scalar, cursor);
      if (repeated) (target[name] as unknown[]).push(value);
      else target[name] = value;
      return true;
    }
    if (!repeated || wireType !== WIRE.bytes) return false;
    const packed = readSlice(cursor);
    while (packed.at < packed.end) (target[name] as unknown[]).push(readScalar(scalar, packed));
    return true;
  }
  if (wireType !== WIRE.bytes) return false;
  const slice = readSlice(cursor);
  if (shape.kind === "map") {
    const entry = emptyMessage(MAP_ENTRY) as ProtoMessage<typeof MAP_ENTRY>;
    decodeInto(entry, MAP_ENTRY, slice);
    (target[name] as Map<string, string>).set(entry.key, entry.value);
    return true;
  }
  // A single message may come in several parts, which are merged.
  const known = shape.repeated ? undefined : (target[name] as Target | undefined);
  const message = known ?? emptyMessage(shape.schema);
  decodeInto(message, shape.schema, slice);
  if (shape.repeated) (target[name] as unknown[]).push(message);
  else target[name] = message;
  return true;
}

function wireTypeOf(scalar: ScalarName): number {
  return scalar === "string" || scalar === "bytes" ? WIRE.bytes : WIRE.varint;
}

function readScalar(scalar: ScalarName, cursor: Cursor): unknown {
  if (scalar === "string" || scalar === "bytes") {
    const { bytes, at, end } = readSlice(cursor);
    return scalar === "string" ? bytes.toString("utf8", at, end) : Uint8Array.from(bytes.subarray(at, end));
  }
  const [low, high] = readVarint(cursor);
  return NUMBERS[scalar](low, high);
}

/** For each type, the function that converts the low and the high half of a varint. */
const NUMBERS: Record<Exclude<ScalarName, "string" | "bytes">, (low: number, high: number) => unknown> = {
  bool: (low, high) => low !== 0 || high !== 0,
  int32: (low) => low | 0,
  uint32: (low) => low,
  int64: (low, high) => (high | 0) * 2 ** 32 + low,
  uint64: (low, high) => high * 2 ** 32 + low,
};
