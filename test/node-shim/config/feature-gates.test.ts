import { describe, expect, it, test } from "vitest";
import { featureGates, KNOWN_GATES, NEEDED_GATES } from "../../../node-shim/config/feature-gates.ts";
import { failure } from "../../../shared/result.ts";

function isOn(set: Record<string, boolean>, name: string): boolean {
  const gates = featureGates(set);
  if (!gates.ok) throw new Error(gates.error);
  return gates.value(name);
}

describe("a gate that is not set has its default, or the value of its stage", () => {
  test.each<[situation: string, set: Record<string, boolean>, name: string, outcome: boolean]>([
    ["alpha", {}, "MemoryQoS", false],
    ["beta that is on", {}, "GracefulNodeShutdown", true],
    ["stable", {}, "NodeSwap", true],
    ["set", { MemoryQoS: true }, "MemoryQoS", true],
    ["all of alpha", { AllAlpha: true }, "MemoryQoS", true],
    ["all of alpha but this one", { AllAlpha: true, MemoryQoS: false }, "MemoryQoS", false],
    ["all of alpha does not affect beta", { AllAlpha: false }, "GracefulNodeShutdown", true],
    ["no beta", { AllBeta: false }, "GracefulNodeShutdown", false],
    ["no beta does not affect stable gates", { AllBeta: false }, "NodeSwap", true],
    ["unknown", {}, "MadeUp", false],
  ])("%s: %j → %s is %s", (_, set, name, outcome) => {
    expect(isOn(set, name)).toBe(outcome);
  });
});

describe("refused", () => {
  test.each<[set: Record<string, boolean>, error: string]>([
    [{ MadeUp: false }, "unrecognized feature gate: MadeUp; the nearest known name is "],
    [{ constructor: true }, "unrecognized feature gate: constructor"],
    [{ NodeSwap: false }, "cannot set feature gate NodeSwap to false, feature is locked to true"],
    [
      { GracefulNodeShutdown: false },
      "GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: GracefulNodeShutdown",
    ],
  ])("%j", (set, error) => {
    expect(featureGates(set)).toEqual(failure(expect.stringContaining(error) as string));
  });

  it("not refused: a locked gate that is set to its own value", () => {
    expect(isOn({ NodeSwap: true }, "NodeSwap")).toBe(true);
  });
});

describe("the table", () => {
  const names = KNOWN_GATES.flatMap((gates) => gates.names);

  it("has each name once, and each dependency", () => {
    expect(names.length).toBe(240);
    expect(new Set(names).size).toBe(names.length);
    expect(
      Object.entries(NEEDED_GATES)
        .flat(2)
        .filter((name) => !names.includes(name)),
    ).toEqual([]);
  });
});
