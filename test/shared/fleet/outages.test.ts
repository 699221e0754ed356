// Tests which silences count for an outage, how a silence ended, and the text about an outage.
import { describe, expect, it } from "vitest";
import { endOfSilence, silenceOf, whatOutageWas } from "../../../shared/fleet/outages.ts";
import type { MachineSummary } from "../../../shared/fleet/summary.ts";
import { IN_MAINTENANCE, summaryOf } from "../../worker/support/made-up-fleet.ts";

const SILENT = { state: "silent", sinceMs: 90_000, silentSinceMs: 50_000, address: "203.0.113.7" } as const;

describe("a silence", () => {
  const cases: [situation: string, change: Partial<MachineSummary> | null, silence: unknown][] = [
    ["began before it was noticed", SILENT, { network: "203.0.113.7", sinceMs: 50_000 }],
    [
      "whose start is unknown",
      { ...SILENT, silentSinceMs: null },
      { network: "203.0.113.7", sinceMs: 90_000 },
    ],
    ["at an unknown address", { ...SILENT, address: "" }, null],
    ["of a machine that was revoked", { ...SILENT, state: "revoked" }, null],
    ["during maintenance", { ...SILENT, conditions: [IN_MAINTENANCE] }, null],
    ["of nobody", null, null],
  ];
  it.each(cases)("%s", (_, change, silence) => {
    expect(silenceOf(change && summaryOf(1, change))).toEqual(silence);
  });
});

describe("a silent machine that comes back", () => {
  const before = summaryOf(1, { ...SILENT, boot: "b1", process: "p1" });
  const cases: [situation: string, after: Partial<MachineSummary> | null, end: string][] = [
    ["with the same boot and process", { boot: "b1", process: "p1" }, "cut off"],
    ["with another boot", { boot: "b2", process: "p2" }, "down"],
    ["with another process alone", { boot: "b1", process: "p2" }, "restarted"],
    ["without a boot ID", { boot: "", process: "" }, "unknown"],
    ["and is silent again", { ...SILENT, silentSinceMs: 200_000, boot: "b1", process: "p1" }, "cut off"],
    ["not: revoked", { state: "revoked", boot: "b1", process: "p1" }, "left"],
    ["not: forgotten", null, "left"],
  ];
  it.each(cases)("%s → %3$s", (_, after, end) => {
    expect(endOfSilence(before, after && summaryOf(1, after))).toBe(end);
  });
});

it.each([
  [{}, ""],
  [{ "cut off": 3 }, "cut off"],
  [{ "cut off": 3, down: 0 }, "cut off"],
  [{ down: 1, "cut off": 3, left: 2 }, "3 cut off, 1 down, 2 left"],
])("%j → %s", (counts, text) => {
  expect(whatOutageWas(counts)).toBe(text);
});
