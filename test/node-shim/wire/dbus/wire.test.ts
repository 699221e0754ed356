// Tests D-Bus messages, byte for byte where the specification leaves no choice.
import { describe, expect, it, test } from "vitest";
import { messageReader, socketPath } from "../../../../node-shim/wire/dbus/bus.ts";
import {
  decodeMessage,
  encodeMessage,
  type BusMessage,
  MESSAGE,
} from "../../../../node-shim/wire/dbus/wire.ts";

const HELLO = {
  type: MESSAGE.call,
  serial: 1,
  path: "/org/freedesktop/DBus",
  interface: "org.freedesktop.DBus",
  member: "Hello",
  destination: "org.freedesktop.DBus",
  signature: "",
  body: [],
};
/** The bytes of a Hello message, made from the specification, which leaves the order of the fields open. */
const HELLO_BYTES = Buffer.from(
  "6c01000100000000010000006d000000" +
    "01016f00150000002f6f72672f667265656465736b746f702f44427573000000" +
    "02017300140000006f72672e667265656465736b746f702e4442757300000000" +
    "030173000500000048656c6c6f000000" +
    "06017300140000006f72672e667265656465736b746f702e4442757300000000",
  "hex",
);

/** The bytes that libdbus sends for `dbus-send /a a.b.C`. */
const LIBDBUS = Buffer.from(
  "6c04010100000000010000002a000000" +
    "01016f00020000002f610000000000000201730003000000612e62000000000003017300010000004300000000000000",
  "hex",
);

/** A signal from a big-endian machine. Its body has a boolean, and then an array, which is not decoded. */
const BIG_ENDIAN = Buffer.from(
  "42040001000000080000000900000039" +
    "01016f00000000022f610000000000000201730000000003612e62000000000003017300000000015300000000000000" +
    "0801670003626173000000000000000000000001" +
    "00000000",
  "hex",
);

describe("bytes", () => {
  it("a call → the specification's bytes", () => {
    expect(encodeMessage(HELLO).toString("hex")).toBe(HELLO_BYTES.toString("hex"));
  });

  it("bytes after a message stay; half a message waits", () => {
    const two = Buffer.concat([HELLO_BYTES, HELLO_BYTES.subarray(0, 40)]);
    const first = decodeMessage(two);
    expect(first?.message).toMatchObject({ type: MESSAGE.call, serial: 1, member: "Hello", body: [] });
    expect(first?.rest).toHaveLength(40);
    for (let length = 0; length < HELLO_BYTES.length; length++)
      expect(decodeMessage(HELLO_BYTES.subarray(0, length))).toBeNull();
  });

  test.each<[types: string, signature: string, body: BusMessage["body"]]>([
    ["texts", "so", ["ü€", "/a"]],
    ["numbers, each at its boundary", "ysut", [7, "abc", 2 ** 32 - 1, 2n ** 63n]],
    ["booleans", "bb", [true, false]],
    ["variants", "vv", [true, "text"]],
  ])("%s there and back", (_types, signature, body) => {
    const message = { ...HELLO, signature, body };
    expect(decodeMessage(encodeMessage(message))?.message).toMatchObject({ signature, body });
  });

  it("libdbus's bytes", () => {
    const decoded = decodeMessage(LIBDBUS);
    expect(decoded?.message).toMatchObject({
      type: MESSAGE.signal,
      path: "/a",
      interface: "a.b",
      member: "C",
    });
    expect(decoded?.rest).toHaveLength(0);
  });

  it("another byte order; a value that is no basic type ends the body", () => {
    const decoded = decodeMessage(BIG_ENDIAN);
    expect(decoded?.message).toMatchObject({
      type: MESSAGE.signal,
      serial: 9,
      path: "/a",
      interface: "a.b",
      member: "S",
      signature: "bas",
      body: [true],
    });
  });
});

describe("malformed messages → thrown, whatever follows", () => {
  const changed = (change: (bytes: Buffer) => void) => {
    const bytes = Buffer.from(HELLO_BYTES);
    change(bytes);
    return bytes;
  };
  test.each<[situation: string, bytes: Buffer, message: RegExp]>([
    ["another protocol", Buffer.from("HTTP/1.1 400 Bad Request\r\n"), /not a D-Bus message/],
    ["another version", changed((bytes) => bytes.writeUInt8(2, 3)), /not a D-Bus message/],
    ["a body of gigabytes", changed((bytes) => bytes.writeUInt32LE(2 ** 31, 4)), /larger than any/],
    ["fields of gigabytes", changed((bytes) => bytes.writeUInt32LE(2 ** 31, 12)), /larger than any/],
    ["a text beyond its end", changed((bytes) => bytes.writeUInt32LE(2 ** 16, 20)), /cut off/],
    ["a field of another type", changed((bytes) => bytes.write("a", 18)), /value of type a/],
  ])("%s", (_situation, bytes, message) => {
    expect(() => decodeMessage(bytes)).toThrow(message);
  });

  it("a message at the limit → accepted; a byte more → not", () => {
    const sized = (length: number) => encodeMessage({ ...HELLO, signature: "s", body: ["x".repeat(length)] });
    const most = 64 * 1024 - sized(0).length;
    expect(decodeMessage(sized(most))?.message.body[0]).toHaveLength(most);
    expect(() => decodeMessage(sized(most + 1))).toThrow(/larger than any/);
  });
});

describe("a bus, byte by byte", () => {
  function reading() {
    const heard: string[] = [];
    const read = messageReader(
      () => heard.push("let in"),
      ({ member = "" }) => heard.push(member),
    );
    return { heard, read };
  }

  it("accepts the client, then sends messages", () => {
    const { heard, read } = reading();
    const all = Buffer.concat([Buffer.from("OK 1234\r\n"), HELLO_BYTES, HELLO_BYTES]);
    for (const byte of all) read(Buffer.from([byte]));
    expect(heard).toEqual(["let in", "Hello", "Hello"]);
  });

  it("refuses the client, or is no bus → an error that says so", () => {
    expect(() => reading().read(Buffer.from("REJECTED EXTERNAL\r\n"))).toThrow(
      "not let in: REJECTED EXTERNAL",
    );
    expect(() => reading().read(Buffer.alloc(1025))).toThrow("this is no message bus");
  });
});

test.each([
  ["unix:path=/run/dbus/system_bus_socket", "/run/dbus/system_bus_socket"],
  ["unix:path=/tmp/a%20b,guid=1234", "/tmp/a b"],
  ["unix:guid=1234,path=/tmp/a;unix:path=/tmp/b", "/tmp/a"],
  ["unix:abstract=/tmp/dbus-1", "\0/tmp/dbus-1"],
  ["tcp:host=127.0.0.1,port=1", null],
  ["unix:path=%zz", null],
  ["", null],
])("address %s", (address, path) => {
  expect(socketPath(address)).toBe(path);
});
