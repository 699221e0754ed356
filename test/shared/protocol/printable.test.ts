// Tests how texts with control characters appear in a Node.
import { expect, test } from "vitest";
import type * as z from "zod/mini";
import { customSchema } from "../../../shared/protocol/drop-ins.ts";
import { factsSchema } from "../../../shared/protocol/facts.ts";
import {
  isPrintable,
  printable,
  printableJson,
  printableTexts,
  shownText,
  visibleText,
} from "../../../shared/protocol/printable.ts";
import { reportSchema } from "../../../shared/protocol/report.ts";
import { firstFault } from "../../../shared/protocol/schema.ts";
import { facts } from "../../worker/support/facts.ts";

const ESCAPE = "\u001b[2Jgone";

test.each([
  ["a line break", "a\nb", "a b"],
  ["a tab", "a\tb", "a b"],
  ["C0: escape", ESCAPE, "\u{FFFD}[2Jgone"],
  ["C0: NUL", "a\u0000b", "a\u{FFFD}b"],
  ["DEL", "a\u007fb", "a\u{FFFD}b"],
  ["C1: CSI", "a\u009bb", "a\u{FFFD}b"],
  ["a line separator", "a\u2028b", "a b"],
  ["an override of the writing direction", "a\u202eb", "a\u{FFFD}b"],
  ["an isolate", "a\u2066b", "a\u{FFFD}b"],
  ["a mark of the writing direction", "a\u061cb", "a\u{FFFD}b"],
])("%s is replaced", (_, text, shown) => {
  expect(isPrintable(text)).toBe(false);
  expect(printable(text)).toBe(shown);
});

test.each(["", "md0: 1 of 2 disks", "Größe", "مرحبا", "👩‍👩‍👧", "a~b"])("%o stays as it is", (text) => {
  expect(isPrintable(text)).toBe(true);
  expect(printable(text)).toBe(text);
});

test("a text of several lines: control characters are visible; line breaks and tabs stay", () => {
  expect(visibleText("a\tb\u001B[31m\r\nc\u202E\n")).toBe(String.raw`a	b\u001b[31m\u000d` + "\nc\\u202e\n");
});

test("every text and key within a value is replaced, nothing else", () => {
  expect(printableTexts({ a: ["x\ny", 1, null, { [ESCAPE]: ESCAPE }], c: true })).toEqual({
    a: ["x y", 1, null, { "\u{FFFD}[2Jgone": "\u{FFFD}[2Jgone" }],
    c: true,
  });
});

test("a foreign text → at most this long, and well-formed where it is cut", () => {
  expect([shownText("abc", 3), shownText("abcd", 3), shownText("ab\u{1F600}", 3)]).toEqual([
    "abc",
    "abc",
    "ab\u{FFFD}",
  ]);
  expect(shownText("x".repeat(2000))).toHaveLength(1024);
});

test.each([undefined, 2])(
  "JSON, indented by %s → the same value, without a control character but line breaks",
  (indent) => {
    const value = { [ESCAPE]: ["\u007f\u009b\u2028\u202e\u2066\u061c\n", 1] };
    const json = printableJson(value, indent);
    expect(JSON.parse(json)).toEqual(value);
    expect(isPrintable(json.replaceAll("\n", ""))).toBe(true);
  },
);

const pointerOf = (parsed: z.core.util.SafeParseResult<unknown>) =>
  parsed.success ? null : firstFault(parsed.error);
const dropIns = { resources: {}, labels: {}, conditions: [], working: 1, failures: [] };

test.each<[string, object, string]>([
  ["an OS image", { versions: { kernel: "6", osImage: ESCAPE } }, "/versions/osImage"],
  ["a machine ID", { machine: { ...facts("edge-1").machine, machineID: ESCAPE } }, "/machine/machineID"],
  ["an image", { images: [{ repoDigests: [], repoTags: [ESCAPE], sizeBytes: 1 }] }, "/images/0/repoTags/0"],
  ["a runtime", { runtime: { name: ESCAPE, version: "" } }, "/runtime/name"],
  [
    "a failed resolver",
    { addresses: { ...facts("edge-1").addresses, lookup: { error: ESCAPE } } },
    "/addresses/lookup/error",
  ],
  ["a graphics card", { inventory: { gpus: [{ model: ESCAPE }] } }, "/inventory/gpus/0/model"],
  [
    "a drop-in's failure",
    { dropIns: { ...dropIns, failures: [{ name: "a", error: ESCAPE }] } },
    "/dropIns/failures/0/error",
  ],
  ["a volume", { volumes: { synced: true, inUse: [ESCAPE] } }, "/volumes/inUse/0"],
  [
    "a provider ID",
    { settings: { ...facts("edge-1").settings, providerID: ESCAPE } },
    "/settings/providerID",
  ],
])("facts: %s with a control character is refused, with its path", (_, more, path) => {
  expect(pointerOf(factsSchema.safeParse({ ...facts("edge-1"), ...more }))?.path).toBe(path);
});

test("a custom fact with a control character is refused, with its path", () => {
  expect(pointerOf(customSchema.safeParse({ rack: ESCAPE }))).toEqual({
    path: "/rack",
    message: "a control character",
  });
});

test("a control character in vitals never stops a heartbeat: it is replaced", () => {
  const report = {
    protocol: 1,
    startId: "a",
    machineTime: "2026-01-01T00:00:00Z",
    vitals: { signals: {}, errors: { runtime: ["first\nsecond", ESCAPE] }, setupError: ESCAPE },
    factsDigest: "d".repeat(43),
  };
  expect(reportSchema.parse(report).vitals).toMatchObject({
    errors: { runtime: ["first second", "\u{FFFD}[2Jgone"] },
    setupError: "\u{FFFD}[2Jgone",
  });
  expect(pointerOf(reportSchema.safeParse({ ...report, startId: ESCAPE }))?.path).toBe("/startId");
});
