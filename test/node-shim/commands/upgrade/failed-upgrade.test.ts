// Tests how long the shim waits before it tries a version again that did not report.
import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it, test } from "vitest";
import {
  failedUpgradePath,
  noteFailedUpgrade,
  triedAgainAt,
} from "../../../../node-shim/commands/upgrade.ts";
import { temporaryFolder } from "../../base/temporary-folder.ts";

const NOW_MS = Date.parse("2026-01-01T10:00:00Z");
const DAY_MS = 86_400_000;

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

test.each<[situation: string, version: string, passedMs: number, againMs: number | null]>([
  ["at once", "0.2.0", 0, NOW_MS + DAY_MS],
  ["a moment before the day has passed", "0.2.0", DAY_MS - 1, NOW_MS + DAY_MS],
  ["after a day", "0.2.0", DAY_MS, null],
  ["another version", "0.2.1", 0, null],
  ["the clock was set back since", "0.2.0", -1, null],
])("%s: %s", (_situation, version, passedMs, againMs) => {
  noteFailedUpgrade(folder.path, "0.2.0", NOW_MS);
  expect(triedAgainAt(folder.path, version, NOW_MS + passedMs)).toBe(againMs);
});

it("no note → now", () => {
  expect(triedAgainAt(folder.path, "0.2.0", NOW_MS)).toBeNull();
});

it.each(["", "{}", '{"version":"0.2.0","at":"once"}'])("a damaged note (%j) → now", (text) => {
  writeFileSync(failedUpgradePath(folder.path), text);
  expect(triedAgainAt(folder.path, "0.2.0", NOW_MS)).toBeNull();
});
