// How variables and bindings are read.
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { origins, registry } from "../../worker/env.ts";

it("the registry is the object that it has always been: another name would be another, empty one", () => {
  expect(registry(env).id.equals(env.REGISTRY.idFromName("fleet"))).toBe(true);
});

it.each([
  ["none", "", []],
  ["one", "https://a.test", ["https://a.test"]],
  [
    "several, however they are spaced",
    " https://a.test\n  https://b.test ",
    ["https://a.test", "https://b.test"],
  ],
])("ORIGINS with %s → %j", (_, configured, expected) => {
  expect(origins({ ...env, ORIGINS: configured })).toEqual(expected);
});
