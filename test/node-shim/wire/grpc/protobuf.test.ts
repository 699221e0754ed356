// Tests the protobuf codec: compared with protobufjs, and on malformed bytes.
import * as fc from "fast-check";
import protobuf from "protobufjs";
import { expect, test } from "vitest";
import { decode, encode } from "../../../../node-shim/wire/grpc/protobuf.ts";
import type { Schema } from "../../../../node-shim/wire/grpc/schema.ts";

const INNER = { name: [1, "string"], weights: [2, "int64[]"] } as const satisfies Schema;
const OUTER = {
  text: [1, "string"],
  blob: [2, "bytes"],
  flag: [3, "bool"],
  small: [4, "int32"],
  natural: [5, "uint32"],
  wide: [6, "int64"],
  size: [16, "uint64"],
  texts: [17, "string[]"],
  counts: [18, "uint32[]"],
  labels: [19, "map<string,string>"],
  inner: [2048, INNER],
  inners: [2049, [INNER]],
} as const satisfies Schema;

const PROTO = (packed: boolean) => `syntax = "proto3";
message Inner { string name = 1; repeated int64 weights = 2 [packed=${packed}]; }
message Outer {
  string text = 1; bytes blob = 2; bool flag = 3; int32 small = 4; uint32 natural = 5; int64 wide = 6;
  uint64 size = 16; repeated string texts = 17; repeated uint32 counts = 18 [packed=${packed}];
  map<string, string> labels = 19; Inner inner = 2048; repeated Inner inners = 2049;
}`;
const peer = (packed: boolean) => protobuf.parse(PROTO(packed)).root.lookupType("Outer");

const wide = fc.integer({ min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
const text = fc.string({ unit: "binary", maxLength: 40 });
const inner = fc.record({ name: text, weights: fc.array(wide, { maxLength: 4 }) });
const outer = fc.record({
  text,
  blob: fc.uint8Array({ maxLength: 200 }),
  flag: fc.boolean(),
  small: fc.integer(),
  natural: fc.nat(2 ** 32 - 1),
  wide,
  size: fc.maxSafeNat(),
  texts: fc.array(text, { maxLength: 4 }),
  counts: fc.array(fc.nat(2 ** 32 - 1), { maxLength: 4 }),
  labels: fc.dictionary(fc.string({ maxLength: 8 }), text, { maxKeys: 4, noNullPrototype: true }),
  inner: fc.option(inner, { nil: undefined }),
  inners: fc.array(inner, { maxLength: 3 }),
});
type Outer = typeof outer extends fc.Arbitrary<infer T> ? T : never;
const ours = (message: Outer) => ({ ...message, labels: new Map(Object.entries(message.labels)) });

test.each([true, false])("messages from protobufjs (packed: %s) → the same message", (packed) => {
  const type = peer(packed);
  fc.assert(
    fc.property(outer, (message) => {
      // protobufjs encodes the 64-bit numbers of the message without a conversion.
      const bytes = type.encode(type.create(message)).finish();
      expect(decode(OUTER, Buffer.from(bytes))).toEqual(ours(message));
    }),
  );
});

test("messages encoded here → the same message in protobufjs", () => {
  const type = peer(true);
  fc.assert(
    fc.property(outer, (message) => {
      const decoded = type.toObject(type.decode(encode(OUTER, ours(message))), {
        longs: Number,
        defaults: true,
        arrays: true,
        objects: true,
      });
      const { inner = null, blob, ...rest } = message;
      expect({ ...decoded, blob: null }).toEqual({ ...rest, inner, blob: null });
      expect(Buffer.from(decoded["blob"] as Uint8Array)).toEqual(Buffer.from(blob));
    }),
  );
});

test("fields of a later version → skipped", () => {
  const bytes = encode(OUTER, { text: "a", natural: 7, size: 2 ** 40, inner: { name: "b" }, texts: ["c"] });
  expect(decode({ natural: [5, "uint32"], fixed: [9, "string"] }, bytes)).toEqual({ natural: 7, fixed: "" });
  const fixed = Buffer.from("0d010203041101020304050607082a0161", "hex");
  expect(decode({ text: [5, "string"] }, fixed)).toEqual({ text: "a" });
});

test("a field of another wire type than the table's → skipped, like an unknown one", () => {
  const bytes = encode({ text: [1, "uint32"] }, { text: 5 });
  expect(decode({ text: [1, "string"] }, bytes)).toEqual({ text: "" });
});

test("a message that comes twice → merged", () => {
  const twice = Buffer.concat([
    encode(OUTER, { inner: { name: "a", weights: [1] } }),
    encode(OUTER, { inner: { weights: [2] } }),
  ]);
  expect(decode(OUTER, twice).inner).toEqual({ name: "a", weights: [1, 2] });
});

test("a key named __proto__ → an entry like any other", () => {
  const bytes = encode(OUTER, { labels: new Map([["__proto__", "x"]]) });
  expect([...decode(OUTER, bytes).labels]).toEqual([["__proto__", "x"]]);
});

test.each([
  ["a tag that is cut off", "80"],
  ["a length without its bytes", "0a05616263"],
  ["a length beyond 32 bits", "0affffffffff0f61"],
  ["a number of eleven bytes", "30ffffffffffffffffffff01"],
  ["field number 0", "0001"],
  ["a group", "0b0c"],
  ["a nested message that is cut off", "828001020a05"],
  ["a fixed number that is cut off", "4d0102"],
])("%s → refused", (_name, hex) => {
  expect(() => decode(OUTER, Buffer.from(hex, "hex"))).toThrow(/field|number/);
});

test("any bytes → a message or a refusal, and it always ends", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        decode(OUTER, Buffer.from(bytes));
      } catch (error) {
        expect((error as Error).constructor.name).toBe("WireError");
      }
    }),
    { numRuns: 2000 },
  );
});
