import { describe, expect, it, test } from "vitest";
import { featureGates } from "../../../node-shim/config/feature-gates.ts";
import { gatesOf, type Release } from "../../../node-shim/config/known-gates.ts";
import { failure } from "../../../shared/result.ts";

/** Returns the gate's value for each release that accepts the gates. */
function isOn(set: Record<string, boolean>, name: string): boolean[] {
  const gates = featureGates(set);
  if (!gates.ok) throw new Error(gates.error);
  return gates.value.map((view) => view(name));
}

describe("a gate that is not set has its default, or the value of its stage, in each release that accepts the file", () => {
  test.each<[situation: string, set: Record<string, boolean>, name: string, outcomes: boolean[]]>([
    ["alpha in 1.36, beta that is on in 1.37", {}, "MemoryQoS", [false, true]],
    ["beta that is on", {}, "GracefulNodeShutdown", [true, true]],
    ["stable", {}, "NodeSwap", [true, true]],
    ["set", { MemoryQoS: true }, "MemoryQoS", [true, true]],
    ["all of alpha, which 1.37 refuses", { AllAlpha: true }, "MemoryQoS", [true]],
    ["all of alpha but this one", { AllAlpha: true, MemoryQoS: false }, "MemoryQoS", [false]],
    ["all of alpha does not affect beta", { AllAlpha: false }, "GracefulNodeShutdown", [true, true]],
    ["no beta", { AllBeta: false }, "GracefulNodeShutdown", [false, false]],
    ["no beta does not affect stable gates", { AllBeta: false }, "NodeSwap", [true, true]],
    ["new in 1.37", { HugepageAwareEviction: false }, "HugepageAwareEviction", [false, false]],
    ["gone in 1.37", { SidecarContainers: true }, "SidecarContainers", [true, true]],
    ["locked from 1.37 on", { HostnameOverride: false }, "HostnameOverride", [false]],
    ["unknown", {}, "MadeUp", [false, false]],
  ])("%s: %j → %s is %j", (_, set, name, outcomes) => {
    expect(isOn(set, name)).toEqual(outcomes);
  });
});

describe("refused", () => {
  test.each<[set: Record<string, boolean>, error: string]>([
    [{ MadeUp: false }, "unrecognized feature gate: MadeUp; the nearest known name is "],
    [{ constructor: true }, "unrecognized feature gate: constructor"],
    [{ NodeSwap: false }, "cannot set feature gate NodeSwap to false, feature is locked to true"],
    [
      { SidecarContainers: false },
      "cannot set feature gate SidecarContainers to false, feature is locked to true",
    ],
    [
      { GangScheduling: true },
      "GangScheduling is enabled, but depends on features that are disabled: GenericWorkload",
    ],
    [
      { GracefulNodeShutdown: false },
      "GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: GracefulNodeShutdown",
    ],
  ])("%j", (set, error) => {
    expect(featureGates(set)).toEqual(failure(expect.stringContaining(error) as string));
  });

  it("not refused: a locked gate that is set to its own value", () => {
    expect(isOn({ NodeSwap: true }, "NodeSwap")).toEqual([true, true]);
  });
});

test.each<[release: Release, gates: number, needs: number]>([
  ["1.36", 240, 49],
  ["1.37", 252, 58],
])("the table of %s has each gate once, and each gate that others need", (release, gates, needs) => {
  const known = gatesOf(release);
  expect([known.gates.size, known.needs.size]).toEqual([gates, needs]);
  expect([...known.needs].flat(2).filter((name) => !known.gates.has(name))).toEqual([]);
});
