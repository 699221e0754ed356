// Tests bodies that are not UTF-8 or no JSON, values beyond the schema of a report, and texts that are not a rotation. test/stories/rotation.test.ts tests
// valid rotations.
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { canonicalJson } from "../../../shared/protocol/digest.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { digestOf } from "../../../worker/identity/jwt.ts";
import { parseBody, parseReport, parseRotation } from "../../../worker/machine/parse-body.ts";
import { ORIGIN } from "../support/constants.ts";
import { facts } from "../support/facts.ts";
import { reportOf } from "../support/posting.ts";

it.each([
  ["no JSON", "{"],
  ["no object", "[]"],
  ["without a proof", '{"protocol":1}'],
  ["with a proof that is no text", '{"protocol":1,"proof":1}'],
  ["with a proof that is no JWT", '{"protocol":1,"proof":"x"}'],
])("%s → none", async (_, text) => {
  const request = {
    name: "edge-1",
    kid: "",
    token: "",
    body: new Uint8Array(new TextEncoder().encode(text)),
    address: "",
  };
  const expected = { path: "/v1/nodes/edge-1/rotate", previous: "k", origins: [ORIGIN] };
  expect(await parseRotation(request, expected)).toBeNull();
});

const QUOTE = 0x22;

it.each<[string, number[], unknown]>([
  ["UTF-8", [0xc3, 0xa9], { ok: true, value: "é" }],
  ["a byte that UTF-8 does not have", [0x61, 0xff], { ok: false, error: { reason: "invalid-json" } }],
  ["a cut character", [0xe2, 0x82], { ok: false, error: { reason: "invalid-json" } }],
  ["a surrogate", [0xed, 0xa0, 0x80], { ok: false, error: { reason: "invalid-json" } }],
  ["an overlong form", [0xc0, 0xaf], { ok: false, error: { reason: "invalid-json" } }],
])("a text with %s → …", (_, bytes, outcome) => {
  expect(parseBody(z.string(), new Uint8Array([QUOTE, ...bytes, QUOTE]))).toEqual(outcome);
});

const parsed = (report: object, change = (text: string) => text) =>
  parseReport(new Uint8Array(new TextEncoder().encode(change(JSON.stringify(report)))));
const NAME = "edge-1";
const MACHINE = facts(NAME).machine as NonNullable<Facts["machine"]>;
const SAFE = Number.MAX_SAFE_INTEGER;

async function withFacts(more: object, digest?: string) {
  const sent = { ...facts(NAME), ...more };
  const factsDigest = digest ?? (await digestOf(canonicalJson(sent)));
  const report = await parsed(reportOf(NAME, { facts: sent, factsDigest }));
  return report.ok ? report.value.facts : report;
}

describe("one value of the facts beyond the schema → the other groups count, and the value is named", () => {
  const ADDRESSES = Array.from({ length: 70 }, (_, index) => `10.7.0.${index + 2}`);
  const addresses = { nodeIPs: [], lookup: ADDRESSES, onInterface: [], defaultRoute: {} };
  const versions = { kernel: "6", osImage: "a\u0007b" };

  it.each<[situation: string, more: object, counts: Partial<Facts>, fault: object]>([
    [
      "an earlier shim, swap of 2^63 bytes",
      { machine: { ...MACHINE, swapBytes: 2 ** 63 } },
      { machine: { ...MACHINE, swapBytes: SAFE } },
      { path: "/facts/machine/swapBytes", message: `is limited to ${SAFE} instead of ${2 ** 63}` },
    ],
    [
      "a name with 70 addresses",
      { addresses },
      { addresses: { ...addresses, lookup: ADDRESSES.slice(0, 64) } },
      { path: "/facts/addresses/lookup", message: "is cut to 64 of 70 entries" },
    ],
    [
      "a control character",
      { versions },
      { machine: MACHINE },
      { path: "/facts/versions/osImage", message: "a control character" },
    ],
    [
      "a group of a later shim",
      { moonPhase: { name: "full" } },
      { machine: MACHINE },
      { path: "/facts/moonPhase", message: "unknown field" },
    ],
  ])("%s", async (_, more, counts, fault) => {
    const reported = await withFacts(more);
    expect(reported).toMatchObject({ ok: true, value: counts, fault });
    expect(reported?.ok && reported.value.versions === undefined).toBe("versions" in more);
  });
});

describe("facts that are refused whole", () => {
  it.each<[situation: string, more: object, digest: string | undefined, path: string]>([
    ["a fault of the settings", { settings: { hostname: "_" } }, undefined, "/facts/settings/"],
    ["no platform", { platform: undefined }, undefined, "/facts/platform"],
    [
      "another digest, and a value too large",
      { machine: { ...MACHINE, swapBytes: 2 ** 63 } },
      "A".repeat(43),
      "/factsDigest",
    ],
  ])("%s", async (_, more, digest, path) => {
    const refused = await withFacts(more, digest);
    expect(refused).toMatchObject({ ok: false, error: { path: expect.stringContaining(path) } });
  });
});

it("a group that is nested more deeply than a function can recurse → refused", async () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const sent = reportOf(NAME, { facts: { ...facts(NAME), images: "HERE" as never } });
  const report = await parsed(sent, (text) => text.replace('"HERE"', deep));
  expect(report.ok && report.value.facts).toMatchObject({ ok: false, error: { path: "/factsDigest" } });
});

describe("vitals beyond the schema", () => {
  const withVitals = (vitals: object) => parsed(reportOf(NAME, { vitals: vitals as never }));

  it.each<[situation: string, vitals: object, counts: object, cut: string | undefined]>([
    [
      "none",
      { signals: { "memory.available": [1, SAFE] } },
      { signals: { "memory.available": [1, SAFE] } },
      undefined,
    ],
    [
      "memory beyond 2^53",
      { signals: { "memory.available": [1, 2 ** 53] } },
      { signals: { "memory.available": [1, SAFE] } },
      `/vitals/signals/memory.available/1 is limited to ${SAFE} instead of ${2 ** 53}`,
    ],
    [
      "an error of 1,025 characters",
      { signals: {}, errors: { runtime: ["x".repeat(1025)] } },
      { signals: {}, errors: { runtime: ["x".repeat(1024)] } },
      "/vitals/errors/runtime/0 is cut to 1024 of 1025 characters",
    ],
    [
      "17 errors",
      { signals: {}, errors: { runtime: Array.from({ length: 17 }, () => "down") } },
      { signals: {}, errors: { runtime: Array.from({ length: 16 }, () => "down") } },
      "/vitals/errors/runtime is cut to 16 of 17 entries",
    ],
  ])("%s → limited, and named", async (_, vitals, counts, cut) => {
    const report = await withVitals(vitals);
    expect(report).toMatchObject({ ok: true, value: { report: { vitals: counts } } });
    expect(report.ok && report.value.vitalsCut).toBe(cut);
  });

  it.each<[situation: string, vitals: unknown, path: string]>([
    [
      "errors of another form → refused: the Node must not be Ready for it",
      { signals: {}, errors: "down" },
      "/vitals/errors",
    ],
    ["a signal below 0", { signals: { "memory.available": [-1, 1] } }, "/vitals/signals/memory.available/0"],
    ["no object", 3, "/vitals"],
    ["absent", undefined, "/vitals"],
  ])("%s → refused", async (_, vitals, path) => {
    expect(await withVitals(vitals as object)).toMatchObject({
      ok: false,
      error: { reason: "invalid-body", fault: { path } },
    });
  });
});
