// Tests bodies that are not UTF-8 or no JSON, and texts that are not a rotation. test/stories/rotation.test.ts tests
// valid rotations.
import { expect, it } from "vitest";
import * as z from "zod/mini";
import { parseBody, parseRotation } from "../../../worker/machine/parse-body.ts";
import { ORIGIN } from "../support/constants.ts";

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
