// Tests that a missing container runtime is an error on a machine that had a runtime, and on no other.
import { describe, expect, it, test } from "vitest";
import {
  missingRuntime,
  type RuntimeMemory,
  runtimeSeen,
} from "../../../shared/from-report/missing-runtime.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { facts } from "../../worker/support/facts.ts";

const CONTAINERD = { name: "containerd", version: "2.1.0" };
const DOWN = "container runtime is down";

const reporting = (findRuntime: boolean | undefined, runtime: Facts["runtime"]): Facts => {
  const { runtime: _none, settings, ...others } = facts("edge-1");
  return {
    ...others,
    settings: { ...settings, ...(findRuntime !== undefined && { findRuntime }) },
    ...(runtime !== undefined && { runtime }),
  };
};

test.each<
  [
    situation: string,
    findRuntime: boolean | undefined,
    runtime: Facts["runtime"],
    memory: RuntimeMemory,
    outcome: string | null,
  ]
>([
  ["none is found, and there never was one", true, null, {}, null],
  ["none is found, and there was one", true, null, { wasSeen: true }, DOWN],
  [
    "none is found, there was one, and an operator has declared that none is needed",
    true,
    null,
    { wasSeen: true, isWaived: true },
    null,
  ],
  [
    "none is found, there never was one, and an operator has declared that none is needed",
    true,
    null,
    { isWaived: true },
    null,
  ],
  ["one is found", true, CONTAINERD, { wasSeen: true }, null],
  ["one is found, whose kind is not known yet", true, undefined, { wasSeen: true }, null],
  ["the configuration has none", undefined, null, { wasSeen: true }, null],
  ["the configuration excludes one explicitly", false, null, { wasSeen: true }, null],
  ["one is configured, which has not answered yet", undefined, undefined, { wasSeen: true }, null],
])("%s → %s", (_situation, findRuntime, runtime, memory, outcome) => {
  expect(missingRuntime(reporting(findRuntime, runtime), memory)).toBe(outcome);
});

describe("the memory after a report with", () => {
  test.each<[situation: string, facts: (Facts | undefined)[], before: RuntimeMemory, after: RuntimeMemory]>([
    ["no runtime", [reporting(true, null)], {}, {}],
    ["a group that could not be read", [reporting(true, undefined)], {}, {}],
    ["one that was found", [reporting(true, CONTAINERD)], {}, { wasSeen: true }],
    ["one that was configured", [reporting(undefined, CONTAINERD)], {}, { wasSeen: true }],
    [
      "one in the facts before, and none now",
      [reporting(undefined, CONTAINERD), reporting(true, null)],
      {},
      { wasSeen: true },
    ],
    ["no facts before", [undefined, reporting(true, null)], {}, {}],
    ["gone since", [reporting(true, null)], { wasSeen: true }, { wasSeen: true }],
    [
      "beside an operator's word",
      [reporting(true, CONTAINERD)],
      { isWaived: true },
      { isWaived: true, wasSeen: true },
    ],
  ])("%s", (_situation, seen, before, after) => {
    expect(runtimeSeen(before, ...seen)).toEqual(after);
  });

  it("the same again → the same object, which is not written", () => {
    const memory = { wasSeen: true } as const;
    expect(runtimeSeen(memory, reporting(true, CONTAINERD))).toBe(memory);
  });
});
