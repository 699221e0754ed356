// How variables and bindings are read.
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { machineRequests, origins, registry } from "../../worker/env.ts";

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

it.each<[string | number | undefined, number]>([
  [undefined, 20],
  ["", 20],
  [20, 20],
  ["21", 21],
  ["1000000000", 1e9],
])("MACHINE_REQUESTS %j → %d", (configured, expected) => {
  expect(machineRequests(configured === undefined ? {} : { MACHINE_REQUESTS: configured })).toBe(expected);
});

it.each(["19", "1000000001", "-20", "20.5", "many", " 20"])(
  "MACHINE_REQUESTS %j → says what it has to be",
  (text) => {
    expect(() => machineRequests({ MACHINE_REQUESTS: text })).toThrow(
      `MACHINE_REQUESTS is "${text}": set it to a whole number from 20 to 1000000000`,
    );
  },
);
