// Tests texts that are not a rotation. test/stories/rotation.test.ts tests valid ones.
import { expect, it } from "vitest";
import { parseRotation } from "../../../worker/machine/parse-body.ts";
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
