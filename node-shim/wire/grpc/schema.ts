// Describes a protobuf message by a table of its fields. The types of its values follow from the table.

interface Scalars {
  string: string;
  bytes: Uint8Array;
  bool: boolean;
  int32: number;
  uint32: number;
  /** Above 2^53 − 1 the last digits are lost, as in JSON. */
  int64: number;
  uint64: number;
}
export type ScalarName = keyof Scalars;
export type MapName = "map<string,string>";

/** A field's type: a scalar, repeated ("string[]"), a map, a message (its table), or repeated (a table in an array). */
export type FieldType = ScalarName | `${ScalarName}[]` | MapName | Schema | readonly [Schema];

/** The fields by name, each with its number. Enums are int32. A field that is not in the table is never read. */
export interface Schema {
  readonly [name: string]: readonly [number: number, type: FieldType];
}

type ValueOf<T extends FieldType> = T extends ScalarName
  ? Scalars[T]
  : T extends `${infer E extends ScalarName}[]`
    ? Scalars[E][]
    : T extends MapName
      ? Map<string, string>
      : T extends readonly [infer E extends Schema]
        ? ProtoMessage<E>[]
        : T extends Schema
          ? ProtoMessage<T> | undefined
          : never;

/** A received message. As in proto3, a field that was not sent is zero or empty; a single message is undefined. */
export type ProtoMessage<S extends Schema> = { -readonly [F in keyof S]: ValueOf<S[F][1]> };

type GivenOf<T extends FieldType> = T extends readonly [infer E extends Schema]
  ? readonly ProtoInput<E>[]
  : T extends `${infer E extends ScalarName}[]`
    ? readonly Scalars[E][]
    : T extends MapName
      ? ReadonlyMap<string, string>
      : T extends ScalarName
        ? Scalars[T]
        : T extends Schema
          ? ProtoInput<T>
          : never;

/** A message to send. An absent field counts as zero. */
export type ProtoInput<S extends Schema> = { readonly [F in keyof S]?: GivenOf<S[F][1]> | undefined };

/** The table of a map's entries: on the wire, a map is a repeated message. */
export const MAP_ENTRY = { key: [1, "string"], value: [2, "string"] } as const satisfies Schema;

export type Shape =
  | { kind: "scalar"; scalar: ScalarName; repeated: boolean }
  | { kind: "map" }
  | { kind: "message"; schema: Schema; repeated: boolean };

export function shapeOf(type: FieldType): Shape {
  if (type === "map<string,string>") return { kind: "map" };
  if (typeof type === "string") {
    const repeated = type.endsWith("[]");
    return { kind: "scalar", scalar: (repeated ? type.slice(0, -2) : type) as ScalarName, repeated };
  }
  return isRepeatedMessage(type)
    ? { kind: "message", schema: type[0], repeated: true }
    : { kind: "message", schema: type, repeated: false };
}

function isRepeatedMessage(type: Schema | readonly [Schema]): type is readonly [Schema] {
  return Array.isArray(type);
}
