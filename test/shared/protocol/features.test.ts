// Tests the schema of features at its limits and just over them.
import { expect, test } from "vitest";
import {
  featureBytes,
  type Features,
  featuresSchema,
  instancesOf,
} from "../../../shared/protocol/features.ts";
import { FEATURE_LIMITS } from "../../../shared/protocol/limits.ts";

const NOTHING: Features = { flags: {}, attributes: {}, instances: {} };
const many = <T>(length: number, of: (at: number) => T) => Array.from({ length }, (_, at) => of(at));
const table = (rows: number): Features => ({
  ...NOTHING,
  instances: { "pci.device": { attributes: ["class"], rows: many(rows, () => ["0300"]) } },
});

test.each<[what: string, at: Features, over: Features]>([
  [
    "a feature's name",
    { ...NOTHING, flags: { [`a.${"b".repeat(FEATURE_LIMITS.keyLength - 2)}`]: [] } },
    { ...NOTHING, flags: { [`a.${"b".repeat(FEATURE_LIMITS.keyLength - 1)}`]: [] } },
  ],
  ["devices", table(FEATURE_LIMITS.instances), table(FEATURE_LIMITS.instances + 1)],
  [
    "a name",
    { ...NOTHING, flags: { "cpu.cpuid": ["A".repeat(FEATURE_LIMITS.keyLength)] } },
    { ...NOTHING, flags: { "cpu.cpuid": ["A".repeat(FEATURE_LIMITS.keyLength + 1)] } },
  ],
  [
    "a value",
    { ...NOTHING, attributes: { "a.b": { c: "d".repeat(FEATURE_LIMITS.valueLength) } } },
    { ...NOTHING, attributes: { "a.b": { c: "d".repeat(FEATURE_LIMITS.valueLength + 1) } } },
  ],
  ["bytes of all", ofBytes(FEATURE_LIMITS.bytes), ofBytes(FEATURE_LIMITS.bytes + 1)],
])("%s: at the limit → accepted; over it → refused", (_, at, over) => {
  expect(featuresSchema.safeParse(at)).toMatchObject({ success: true });
  expect(featuresSchema.safeParse(over)).toMatchObject({ success: false });
});

/** Returns features of exactly this number of bytes: a value fills what the others leave. */
function ofBytes(bytes: number): Features {
  const values = many(92, (at): [string, string] => [`k${at}`, "v".repeat(FEATURE_LIMITS.valueLength)]);
  const features = (fill: string): Features => ({
    ...NOTHING,
    attributes: { "a.b": Object.fromEntries([...values, ["fill", fill]]) },
  });
  return features("f".repeat(bytes - featureBytes(features(""))));
}

test.each<[what: string, features: object]>([
  ["a control character in a flag", { ...NOTHING, flags: { "cpu.cpuid": ["A\u001B[2J"] } }],
  ["a control character in a value", { ...NOTHING, attributes: { "a.b": { c: "\u0000" } } }],
  ["half a character", { ...NOTHING, attributes: { "a.b": { c: "\uD800" } } }],
  ["an empty flag", { ...NOTHING, flags: { "cpu.cpuid": [""] } }],
  [
    "a row that is too short",
    { ...NOTHING, instances: { "a.b": { attributes: ["c", "d"], rows: [["e"]] } } },
  ],
  ["a name of another form", { ...NOTHING, flags: { "../x": [] } }],
  ["a kind that is missing", { flags: {}, attributes: {} }],
])("%s → refused", (_, features) => {
  expect(featuresSchema.safeParse(features).success).toBe(false);
});

test("a table's rows → devices with their present attributes", () => {
  const features: Features = {
    ...NOTHING,
    instances: {
      "pci.device": {
        attributes: ["class", "sriov_totalvfs"],
        rows: [
          ["0300", null],
          ["0200", "8"],
        ],
      },
    },
  };
  expect(instancesOf(features, "pci.device")).toEqual([
    { class: "0300" },
    { class: "0200", sriov_totalvfs: "8" },
  ]);
  expect(instancesOf(features, "usb.device")).toEqual([]);
});
