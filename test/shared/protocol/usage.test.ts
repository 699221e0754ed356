// Tests what operators see of two usage frames.
import { describe, expect, it, test } from "vitest";
import {
  amountsOf,
  shownUsage,
  USAGE,
  type Usage,
  usageFrameSchema,
  usageOf,
} from "../../../shared/protocol/usage.ts";

const NONE = usageOf(USAGE.map(() => null));
const EARLIER: Usage = {
  ...NONE,
  uptimeSeconds: 1000,
  cpuSecondsTotal: 400,
  networkSentBytesTotal: 5000,
  ioWaitingSecondsTotal: 7,
};
const LATER: Usage = {
  ...EARLIER,
  uptimeSeconds: 1060,
  cpuSecondsTotal: 430,
  networkSentBytesTotal: 11_000,
  ioWaitingSecondsTotal: 22,
};

test.each([
  ["of a fast network, after some weeks", 2 ** 54, 2 ** 54],
  ["of all 64 bits", 2 ** 64, 2 ** 64],
  ["that no counter can have", 2 ** 65, null],
  ["that is no number", Number.NaN, null],
])("an amount %s → a frame that the gateway takes", (_, amount, sent) => {
  const amounts = amountsOf({ ...NONE, networkSentBytesTotal: amount });
  expect(usageFrameSchema.safeParse({ type: "usage", n: 1, amounts }).success).toBe(true);
  expect(usageOf(amounts).networkSentBytesTotal).toBe(sent);
});

describe("rates", () => {
  test.each<[situation: string, last: Usage, before: Usage | null, rates: object]>([
    [
      "two frames a minute apart",
      LATER,
      EARLIER,
      { windowSeconds: 60, cpuUsed: 0.5, networkSentBytesPerSecond: 100, ioPressure: 0.25 },
    ],
    ["only one frame", LATER, null, { windowSeconds: null, cpuUsed: null, networkSentBytesPerSecond: null }],
    ["a total that the machine does not have", LATER, EARLIER, { diskReadBytesPerSecond: null }],
    [
      "a boot in between",
      { ...LATER, uptimeSeconds: 20 },
      EARLIER,
      { windowSeconds: null, cpuUsed: null, ioPressure: null },
    ],
    [
      "a network device that is gone",
      { ...LATER, networkSentBytesTotal: 9 },
      EARLIER,
      { cpuUsed: 0.5, networkSentBytesPerSecond: null },
    ],
    ["two frames of one moment", EARLIER, EARLIER, { cpuUsed: null }],
  ])("%s", (_, last, before, rates) => {
    expect(shownUsage(last, before)).toMatchObject(rates);
  });
});

describe("a frame", () => {
  const frame = { type: "usage", n: 1, amounts: amountsOf(LATER) };

  it("has each amount in its place", () => {
    expect(usageOf(frame.amounts)).toEqual(LATER);
  });

  test.each<[situation: string, frame: object, isValid: boolean]>([
    ["as the shim sends it", frame, true],
    [
      "a temperature below zero",
      { ...frame, amounts: amountsOf({ ...LATER, temperatureCelsius: -12.5 }) },
      true,
    ],
    ["one amount too few", { ...frame, amounts: frame.amounts.slice(1) }, false],
    ["one too many", { ...frame, amounts: [...frame.amounts, 1] }, false],
    ["a text as an amount", { ...frame, amounts: frame.amounts.with(0, "1" as never) }, false],
    ["more than any amount", { ...frame, amounts: frame.amounts.with(0, 2 ** 65) }, false],
    ["the number 0", { ...frame, n: 0 }, false],
    ["another field", { ...frame, name: "edge-1" }, false],
  ])("%s", (_, given, isValid) => {
    expect(usageFrameSchema.safeParse(given).success).toBe(isValid);
  });
});
