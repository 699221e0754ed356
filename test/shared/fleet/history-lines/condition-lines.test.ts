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

describe("a transition's line", () => {
  it("→ is parsed as it was written, for any message", () => {
    fc.assert(
      fc.property(anyCondition, fc.option(anyStatus), fc.boolean(), (after, from, isByOthers) => {
        fc.pre(from !== after.status);
        const before = from === null ? [] : [{ ...after, status: from }];
        const [line = ""] = transitions(before, [after]);
        expect(parseTransition(isByOthers ? byOthers(line) : line)).toEqual({
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

  it("of a message that mentions another writer → still the machine's own", () => {
    const [line = ""] = transitions([], [{ ...READY, message: "x), by somebody else" }]);
    expect(parseTransition(line)?.isByOthers).toBe(false);
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
