// Encodes a message to protobuf bytes. Leaves out what is zero or empty, as proto3 does.
import {
  type FieldType,
  type ProtoInput,
  MAP_ENTRY,
  type ScalarName,
  type Schema,
  shapeOf,
} from "./schema.ts";
import { tag, varint, WIRE } from "./wire.ts";

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
