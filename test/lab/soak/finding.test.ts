// Tests the printed limits, and which of them fail a run.
import { expect, test } from "vitest";
import { areKept, type Finding, findingsText } from "./finding.ts";

const KEPT: Finding = { text: "a", isKept: true };
const BROKEN: Finding = { text: "b", isKept: false, faults: ["edge-1", "edge-2"] };
const NOT_JUDGED: Finding = { text: "c", isKept: null };

test.each<[situation: string, findings: Finding[], kept: boolean, lines: string[]]>([
  ["all kept", [KEPT, KEPT], true, ["kept: a", "kept: a", "clean: 2 limits kept"]],
  ["one not judged", [KEPT, NOT_JUDGED], true, ["kept: a", "not judged: c", "clean: 1 limits kept"]],
  [
    "one broken",
    [KEPT, BROKEN],
    false,
    ["kept: a", "BROKEN: b", "  edge-1", "  edge-2", "1 of 2 limits BROKEN"],
  ],
])("%s", (_, findings, kept, lines) => {
  expect(areKept(findings)).toBe(kept);
  expect(findingsText(findings).trimEnd().split("\n")).toEqual(lines);
});

test("of many faults twenty are shown", () => {
  const faults = Array.from({ length: 23 }, (_, index) => `edge-${index}`);
  const lines = findingsText([{ text: "a", isKept: false, faults }]).split("\n");
  expect(lines.filter((line) => line.startsWith("  edge-"))).toHaveLength(20);
  expect(lines).toContain("  … and 3 more");
});
