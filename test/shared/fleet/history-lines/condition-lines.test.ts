// Tests that lines about conditions are parsed as they were written, also lines that the history has cut.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  byOthers,
  departures,
  GONE,
  parseTransition,
  transitions,
} from "../../../../shared/fleet/history-lines.ts";

const READY = { type: "Ready", status: "True", reason: "KubeletReady", message: "posting ready status" };
const GONE_LINE = { type: "RaidDegraded", from: "True", to: GONE, text: "", isByOthers: false };

const anyStatus = fc.constantFrom("True", "False", "Unknown");
const anyCondition = fc.record({
  type: fc.constantFrom("Ready", "MemoryPressure", "example.com/RaidDegraded"),
  status: anyStatus,
  reason: fc.constantFrom("A", "KubeletReady"),
  message: fc.string({ unit: "grapheme", minLength: 1 }),
});
/** The wordings of a line: the machine's own, and those of other writers in this version and in earlier ones. */
const anyWording = fc.constantFrom<[isByOthers: boolean, (line: string) => string][]>(
  [false, (line) => line],
  [true, (line) => byOthers(line, "kube-controller-manager")],
  [true, (line) => byOthers(line, null)],
  [true, (line) => `${line}, by somebody else`],
);

describe("a transition's line", () => {
  it("→ is parsed as it was written, for any message", () => {
    fc.assert(
      fc.property(anyCondition, fc.option(anyStatus), anyWording, (after, from, [isByOthers, worded]) => {
        fc.pre(from !== after.status);
        const before = from === null ? [] : [{ ...after, status: from }];
        const [line = ""] = transitions(before, [after]);
        expect(parseTransition(worded(line))).toEqual({
          type: after.type,
          from,
          to: after.status,
          text: `${after.reason}: ${after.message}`,
          isByOthers,
        });
      }),
    );
  });

  it.each([
    ["without a message", { ...READY, message: undefined }, "KubeletReady"],
    ["without a reason", { ...READY, reason: undefined }, "posting ready status"],
    ["without either", { type: "Ready", status: "True" }, ""],
  ])("%s → parsed without it", (_, condition, text) => {
    expect(parseTransition(transitions([], [condition])[0]!)).toMatchObject({ to: "True", text });
  });

  it.each([22, 24, 40])("that was cut to %i characters → its type and its statuses", (length) => {
    const line = `${transitions([{ ...READY, status: "False" }], [READY])[0]!.slice(0, length - 1)}…`;
    expect(parseTransition(line)).toMatchObject({ type: "Ready", from: "False", to: "True" });
  });

  it.each(["x), by somebody else", "x set Ready: True (y"])(
    "of the message %j, which looks like another writer's line → still the machine's own",
    (message) => {
      const [line = ""] = transitions([], [{ ...READY, message }]);
      expect(parseTransition(line)?.isByOthers).toBe(false);
    },
  );

  it.each([
    ["a field manager", "kubectl-edit", "kubectl-edit set Ready: True (R: m)"],
    ["no known field manager", null, "another writer set Ready: True (R: m)"],
    [
      "a field manager that would look like a condition",
      "Ready: False",
      "another writer set Ready: True (R: m)",
    ],
  ])("of a change by %s → names the writer first", (_, fieldManager, line) => {
    expect(byOthers("Ready: True (R: m)", fieldManager)).toBe(line);
    // Earlier Workers take a line that begins with a condition's type for a decision of the machine.
    expect(line).not.toMatch(/^[^\s:]+:/);
  });

  it.each([
    "",
    "Ready",
    "Ready became False: node is shutting down",
    "a b: True (x: y)",
    "Ready: → True (x: y)",
  ])("%j → none", (line) => expect(parseTransition(line)).toBeNull());
});

describe("conditions that were removed", () => {
  it("→ a line each, and it is parsed", () => {
    const lines = departures([READY, { type: "RaidDegraded", status: "True" }], [READY]);
    expect(lines).toEqual(["RaidDegraded: True → gone"]);
    expect(parseTransition(lines[0]!)).toEqual(GONE_LINE);
  });
});
