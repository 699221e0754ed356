// Tests that each report fits the Worker's schema and size, and that the shim names what it cut.
import { describe, expect, it } from "vitest";
import { type Gathered, reportFitter, withinSchema, withinSize } from "../../../node-shim/machine/fit.ts";
import { type Facts, factsSchema } from "../../../shared/protocol/facts.ts";
import { LIMITS } from "../../../shared/protocol/limits.ts";
import { reportSchema, type Vitals } from "../../../shared/protocol/report.ts";
import { facts as factsOf } from "../../worker/support/facts.ts";

const VITALS: Vitals = { signals: { "memory.available": [1, 2] } };
const machine = (more: Partial<NonNullable<Facts["machine"]>>): Partial<Facts> => ({
  machine: { ...factsOf("edge-1").machine, ...more } as NonNullable<Facts["machine"]>,
});
const ADDRESSES = Array.from({ length: 70 }, (_, index) => `10.7.0.${index + 2}`);
const addresses = (lookup: string[]): Partial<Facts> => ({
  addresses: { nodeIPs: [], lookup, onInterface: lookup, defaultRoute: {} },
});
const gathered = (more: Partial<Facts>, vitals = VITALS): Gathered => ({
  facts: { ...factsOf("edge-1"), ...more },
  vitals: structuredClone(vitals),
});
const isAccepted = ({ facts, vitals }: Gathered) =>
  factsSchema.safeParse(facts).success && reportSchema.shape.vitals.safeParse(vitals).success;

describe("a value beyond the schema → the Worker accepts the report, and the change is named", () => {
  it.each<[situation: string, more: Partial<Facts>, cuts: string[]]>([
    ["everything fits", {}, []],
    ["swap at the limit", machine({ swapBytes: Number.MAX_SAFE_INTEGER }), []],
    [
      "lxcfs: swap of 2^63 bytes",
      machine({ swapBytes: 2 ** 63 }),
      ["/machine/swapBytes is limited to 9007199254740991 instead of 9223372036854776000"],
    ],
    [
      "memory beyond 2^53",
      machine({ memoryBytes: 2 ** 53 }),
      ["/machine/memoryBytes is limited to 9007199254740991 instead of 9007199254740992"],
    ],
    ["64 addresses", addresses(ADDRESSES.slice(0, 64)), []],
    [
      "a name with 70 addresses",
      addresses(ADDRESSES),
      ["/addresses/onInterface is cut to 64 of 70 entries", "/addresses/lookup is cut to 64 of 70 entries"],
    ],
    [
      "an operating system's name of 1,025 characters",
      { versions: { kernel: "6", osImage: "x".repeat(1025) } },
      ["/versions/osImage is cut to 1024 of 1025 characters"],
    ],
    [
      "a resolver's long error",
      { addresses: { nodeIPs: [], lookup: { error: "x".repeat(2000) }, onInterface: [], defaultRoute: {} } },
      ["/addresses/lookup/error is cut to 1024 of 2000 characters"],
    ],
    [
      "an address that is too long for a list",
      addresses(["x".repeat(46)]),
      [
        "addresses is left out, since the Worker refuses /addresses/lookup/0: Too big: expected string to have <=45 characters",
      ],
    ],
    [
      "a version that is no text",
      { versions: { kernel: 6, osImage: "" } as never },
      [
        "versions is left out, since the Worker refuses /versions/kernel: Invalid input: expected string, received number",
      ],
    ],
  ])("%s", (_, more, cuts) => {
    const fitted = withinSchema(gathered(more));
    expect(fitted.cuts).toEqual(cuts);
    expect(isAccepted(fitted)).toBe(true);
  });

  it("a signal beyond 2^53 → limited; the other signals stay", () => {
    const signals: Vitals["signals"] = { "memory.available": [5, 2 ** 63], "pid.available": [1, 2] };
    const fitted = withinSchema(gathered({}, { signals }));
    expect(fitted.vitals.signals).toEqual({
      "memory.available": [5, Number.MAX_SAFE_INTEGER],
      "pid.available": [1, 2],
    });
    expect(isAccepted(fitted)).toBe(true);
  });

  it("an amount that changes with each report → one warning", () => {
    const lines: string[] = [];
    const fit = reportFitter((source, message) => lines.push(`${source}: ${message}`));
    for (const exponent of [54, 55, 56])
      fit(gathered({}, { signals: { "memory.available": [2 ** exponent, 5] } }));
    expect(lines).toEqual([
      "facts: /signals/memory.available/0 is limited to 9007199254740991 instead of 18014398509481984",
    ]);
  });

  it("settings that the Worker refuses → unchanged, and named", () => {
    const settings = { ...factsOf("edge-1").settings, maxPods: -1 };
    const { facts, cuts } = withinSchema(gathered({ settings }));
    expect(facts.settings).toEqual(settings);
    expect(cuts).toEqual([
      "/settings/maxPods has a value that the Worker refuses: Too small: expected number to be >=0",
    ]);
  });
});

const image = (length: number) => ({ repoDigests: [], repoTags: ["x".repeat(length)], sizeBytes: 1 });
const CUSTOM = Object.fromEntries(
  Array.from({ length: 64 }, (_, index) => [`note-${index}`, "x".repeat(1024)]),
);
const reportBytes = ({ facts, vitals }: Gathered) =>
  Buffer.byteLength(JSON.stringify({ facts, vitals, startId: "x".repeat(22), digest: "x".repeat(43) }));

describe("parts at their limits, whose sum is too large → a report that fits", () => {
  const images = Array.from({ length: 1000 }, () => image(155));

  it("images and custom facts → fewer images, all custom facts", () => {
    const { facts, cuts } = withinSize(gathered({ images, custom: CUSTOM }));
    expect(cuts).toEqual([expect.stringMatching(/^images were cut to [789]\d\d$/)]);
    expect(facts.custom).toEqual(CUSTOM);
    expect(reportBytes({ facts, vitals: VITALS })).toBeLessThanOrEqual(LIMITS.bodyBytes);
  });

  it("each group at its limit, with characters of three bytes → cut in order, and volumes last", () => {
    const volumes = { synced: true, inUse: Array.from({ length: 2048 }, () => "x".repeat(1024)) };
    const custom = Object.fromEntries(Object.keys(CUSTOM).map((key) => [key, "€".repeat(1024)]));
    const { facts, cuts } = withinSize(gathered({ images, custom, volumes }));
    expect(cuts).toEqual([
      "images were cut to 0",
      "custom was left out",
      expect.stringMatching(/^volumes were cut to \d+$/),
    ]);
    expect(facts.volumes?.inUse.length).toBeGreaterThan(200);
    expect(reportBytes({ facts, vitals: VITALS })).toBeLessThanOrEqual(LIMITS.bodyBytes);
  });

  it("exactly at the limit → nothing is cut; a byte more → one image is cut", () => {
    const fill = (length: number) => withinSize(gathered({ images: [image(10), image(length)] }));
    const spare = LIMITS.bodyBytes - fill(0).bytes;
    expect(fill(spare).cuts).toEqual([]);
    expect(fill(spare + 1).cuts).toEqual(["images were cut to 1"]);
  });
});

it("the same cut in each report → one warning with the size; a cut that ends and comes back → another", () => {
  const lines: string[] = [];
  const fit = reportFitter((source, message) => lines.push(`${source}: ${message}`));
  const large = gathered({ images: Array.from({ length: 1000 }, () => image(300)) });
  const small = gathered({});
  for (const each of [large, large, small, large]) fit(each);
  const line = expect.stringMatching(/^report: 3\d\d,\d{3} of 262,144 bytes: images were cut to \d+$/);
  expect(lines).toEqual([line, line]);
});
