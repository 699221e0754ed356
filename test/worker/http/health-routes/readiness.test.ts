// Tests the result of GET /readyz: the worst state, the age of each check, and the text.
import { describe, expect, it, test } from "vitest";
import type { CheckResult } from "../../../../shared/deployment/check-result.ts";
import { VERSION } from "../../../../shared/version.ts";
import { type CheckedAt, readiness, readinessText } from "../../../../worker/http/health-routes.ts";

const NOW = Date.parse("2026-03-01T00:00:00Z");
const at = (ms: number) => new Date(ms).toISOString();
const found = (check: string, state: CheckResult["state"], atMs?: number): CheckedAt => ({
  check,
  state,
  message: "it is so",
  ...(state !== "ok" && { cure: "do this" }),
  ...(atMs !== undefined && { atMs }),
});

test.each<[states: CheckResult["state"][], state: string]>([
  [["ok", "ok"], "ok"],
  [["ok", "warning"], "warning"],
  [["failed", "warning", "ok"], "failed"],
])("%j → %s", (states, state) => {
  const checks = states.map((each, i) => found(`check ${i}`, each));
  expect(readiness(checks, new Map(), NOW)).toMatchObject({ state, version: VERSION });
});

describe("the age of a check", () => {
  it("checked earlier → the time of the check", () => {
    const { checks } = readiness([found("apiserver", "ok", NOW - 3000)], new Map(), NOW);
    expect(checks).toMatchObject([{ checkedAt: at(NOW - 3000), since: at(NOW - 3000) }]);
  });

  it("failed before this isolate knew it → since the time that an object knows", () => {
    const failing = { ...found("apiserver", "failed", NOW - 3000), failedSinceMs: NOW - 60_000 };
    expect(readiness([failing], new Map(), NOW).checks).toMatchObject([
      { checkedAt: at(NOW - 3000), since: at(NOW - 60_000) },
    ]);
  });

  it("failed since a time when this isolate found it ok → since the last ok", () => {
    const since = new Map();
    readiness([found("apiserver", "ok", NOW - 10_000)], since, NOW - 10_000);
    const failing = { ...found("apiserver", "failed", NOW), failedSinceMs: NOW - 35_000 };
    expect(readiness([failing], since, NOW).checks).toMatchObject([{ since: at(NOW - 10_000) }]);
  });

  it("unchanged → since the first result; changed → since the change", () => {
    const since = new Map();
    const ages = ([state, nowMs]: [CheckResult["state"], number]) =>
      readiness([found("ORIGINS", state)], since, nowMs).checks.map((each) => [each.checkedAt, each.since]);
    expect(ages(["ok", NOW])).toEqual([[at(NOW), at(NOW)]]);
    expect(ages(["ok", NOW + 1000])).toEqual([[at(NOW + 1000), at(NOW)]]);
    expect(ages(["failed", NOW + 2000])).toEqual([[at(NOW + 2000), at(NOW + 2000)]]);
  });
});

it("the text → a mark for each check, its remedy, and the result", () => {
  const all = [found("ORIGINS", "ok"), found("token", "warning"), found("KUBE_URL", "failed")];
  const since = `(since ${at(NOW)})`;
  expect(readinessText(readiness(all, new Map(), NOW))).toBe(
    `[+]ORIGINS ok: it is so ${since}\n` +
      `[!]token warning: it is so ${since}\n   → do this\n` +
      `[-]KUBE_URL failed: it is so ${since}\n   → do this\n` +
      "readyz check failed\n",
  );
  expect(readinessText(readiness(all.slice(0, 2), new Map(), NOW))).toMatch(/readyz check passed\n$/);
});
