// Tests that the line about a machine's return shows the reason for its silence.
import { describe, expect, it } from "vitest";
import { parseReturn, returnText } from "../../../../shared/fleet/history-lines.ts";

const NOW_MS = Date.UTC(2026, 0, 1, 12);
const SILENT_MS = 12 * 60_000;
const before = { boot: "b-1", process: "p-1" };

describe("a machine that was silent for twelve minutes, and is back", () => {
  it.each([
    ["in the same process → was cut off", before, {}, ": was cut off, not down: kept running for 12 min"],
    [
      "in another one of the same boot → its shim was restarted",
      { boot: "b-1", process: "p-2" },
      {},
      ": the machine kept running for 12 min, its shim was restarted",
    ],
    [
      "in another boot → was down",
      { boot: "b-2", process: "p-2" },
      {},
      ": was down, started at 2026-01-01T12:00:00Z or just before",
    ],
    [
      "in another boot, and got no answer for a while → it ran for that time",
      { boot: "b-2", process: "p-2" },
      { noAnswerSeconds: 90 },
      ": was down, started at 2026-01-01T11:58:30Z or just before",
    ],
    [
      "in another boot, without an answer for longer than it was silent → its start is not before the silence",
      { boot: "b-2", process: "p-2" },
      { noAnswerSeconds: 3600 },
      ": was down, started at 2026-01-01T11:48:00Z or just before",
    ],
    ["without facts about its boot → nothing", { boot: undefined, process: "p-1" }, {}, ""],
  ])("%s", (_, after, more, text) => {
    const back = { before, after, silentSinceMs: NOW_MS - SILENT_MS, nowMs: NOW_MS, ...more };
    expect(returnText(back)).toBe(`heard of again after 720 s${text}`);
  });

  it("without facts from before the silence → nothing", () => {
    const unknown = { boot: undefined, process: undefined };
    const back = { before: unknown, after: before, silentSinceMs: NOW_MS - 1400, nowMs: NOW_MS };
    expect(returnText(back)).toBe("heard of again after 1 s");
  });
});

describe("a return's line is read as it was written", () => {
  const KEPT = "kept running for 12 min";
  it.each([
    ["was cut off", before, { how: `was cut off, not down: ${KEPT}`, isAnew: false }],
    [
      "its shim was restarted → its earlier conditions have ended",
      { boot: "b-1", process: "p-2" },
      { how: `the machine ${KEPT}, its shim was restarted`, isAnew: true },
    ],
    [
      "was down → the same",
      { boot: "b-2", process: "p-2" },
      { how: "was down, started at 2026-01-01T12:00:00Z or just before", isAnew: true },
    ],
    ["nobody knows", { boot: undefined, process: "p-1" }, { how: "", isAnew: false }],
  ])("%s", (_, after, read) => {
    const back = { before, after, silentSinceMs: NOW_MS - SILENT_MS, nowMs: NOW_MS };
    expect(parseReturn(returnText(back))).toEqual(read);
  });

  it.each([
    [
      "of an earlier version, which did not write the reason",
      "heard of again after 720 s",
      { how: "", isAnew: false },
    ],
    ["by a clock that was set back", "heard of again after -5 s", { how: "", isAnew: false }],
    ["about another subject", "silent since 2026-01-01T12:00:00.000Z; last said: x", null],
    ["without a time", "heard of again", null],
  ])("one %s", (_, text, read) => expect(parseReturn(text)).toEqual(read));
});
