import { describe, expect, it } from "vitest";
import type { BulkProgress } from "../../../../shared/protocol/administration-answers.ts";
import type { ActionName } from "../../../../shared/fleet/action-words.ts";
import { bulkRequestSchema } from "../../../../shared/protocol/administration-api.ts";
import {
  BULK_CHOICES,
  bulkTitle,
  isTyped,
  isTypedRight,
  nextLookMs,
  progressText,
  shownBulks,
  sortedPlan,
  statesText,
  TYPED_ABOVE,
  waitText,
} from "../../../../infra/page/fleet/bulk-words.ts";

const bulk = (change: Partial<BulkProgress>): BulkProgress => ({
  id: "1",
  action: "revoke",
  createdBy: "admin secret",
  createdAt: "2026-11-23T14:00:00Z",
  state: "running",
  endedAt: null,
  total: 400,
  done: 0,
  failed: 0,
  remaining: 400,
  ...change,
});

describe("what can be done", () => {
  it.each(BULK_CHOICES)("$action is what the Worker takes", ({ action }) => {
    expect(bulkRequestSchema.safeParse({ action, names: ["edge-1"], dryRun: true }).success).toBe(true);
  });

  it("what cannot be taken back comes last, and is revoke and forget", () => {
    expect(BULK_CHOICES.map(({ action, isFinal }) => [action, isFinal])).toEqual([
      ["register", false],
      ["believe", false],
      ["revoke", true],
      ["forget", true],
    ]);
  });

  it.each([
    ["forget", "Delete"],
    ["remove-node", "Remove Nodes of machines that have not reported for long"],
    ["an action of a newer Worker", "an action of a newer Worker"],
  ])("the title of %s", (action, title) => {
    expect(bulkTitle(action)).toBe(title);
  });
});

describe("how it is confirmed", () => {
  it.each([
    ["forget", TYPED_ABOVE, false],
    ["forget", TYPED_ABOVE + 1, true],
    ["revoke", TYPED_ABOVE + 1, true],
    ["register", 10_000, false],
  ])("%s of %d machines: typed? %s", (action, total, isIt) => {
    const choice = BULK_CHOICES.find((each) => each.action === action);
    expect(choice && isTyped(choice, total)).toBe(isIt);
  });

  it.each([
    ["1204", true],
    [" 1,204 ", true],
    ["1 204", true],
    ["1.204", true],
    ["1203", false],
    ["", false],
    ["12O4", false],
    ["1204 machines", false],
  ])("%o is 1204: %s", (typed, isRight) => {
    expect(isTypedRight(typed, 1204)).toBe(isRight);
  });
});

describe("a dry run", () => {
  it("says whom it would touch, and who is left out by which reason", () => {
    const match = (name: string, effect: string) => ({ name, state: "silent", effect });
    const plan = sortedPlan({
      matches: [
        match("a", "its keys are refused for ever"),
        match("b", "none: its keys are refused already"),
        match("c", "its keys are refused for ever"),
        match("d", "none: its keys are refused already"),
      ],
      unknown: ["e"],
    });
    expect(plan.touched.map(({ name }) => name)).toEqual(["a", "c"]);
    expect(plan.leftOut).toEqual([
      { reason: "its keys are refused already", names: ["b", "d"] },
      { reason: "no machine has this name any more", names: ["e"] },
    ]);
  });
});

describe("the machines that it would change", () => {
  const machines = [...Array.from({ length: 3 }, () => "ready"), "silent", "silent", null].map((state) => ({
    state,
  }));
  it("→ how many are in which state", () => {
    expect(statesText(machines)).toBe("3 Ready, 2 Not reporting, 1 not known");
  });
  it.each<[ActionName, string]>([
    ["register", "2 machines do not report: nothing changes there before the next report."],
    ["believe", "2 machines do not report: nothing changes there before the next report."],
    ["revoke", ""],
    ["forget", ""],
  ])("%s → what has to wait: %s", (action, text) => {
    expect(waitText(action, machines)).toBe(text);
    expect(waitText(action, machines.slice(0, 1))).toBe("");
  });
});

describe("how far it is", () => {
  it.each<[string, Partial<BulkProgress>, string]>([
    ["just begun", {}, "0 of 400 machines done"],
    ["under way", { done: 120, failed: 3, remaining: 277 }, "120 of 400 machines done, 3 failed"],
    ["done", { state: "done", done: 400, remaining: 0 }, "400 machines revoked"],
    [
      "done with failures",
      { state: "done", done: 1, failed: 2, remaining: 0 },
      "1 machine revoked, 2 failed",
    ],
    [
      "stopped",
      { state: "stopped", done: 120, remaining: 280 },
      "stopped: 120 machines revoked, 280 left as they were",
    ],
    [
      "done, and to be seen with the next report",
      { action: "register", state: "done", done: 3, remaining: 0 },
      "3 machines asked; each registers its Node again with its next report",
    ],
    [
      "an action of the deployment",
      { action: "remove-node", state: "done", done: 3, remaining: 0 },
      "3 machines done",
    ],
  ])("%s", (_, change, text) => {
    expect(progressText(bulk(change))).toBe(text);
  });

  it("is shown of what is under way, whoever began it, and of what was begun here", () => {
    const bulks = [
      bulk({ id: "3" }),
      bulk({ id: "2", state: "done" }),
      bulk({ id: "1", state: "done", createdBy: "somebody else" }),
    ];
    expect(shownBulks(bulks, new Set(["2"])).map(({ id }) => id)).toEqual(["3", "2"]);
  });

  it("is looked at often only while something is under way", () => {
    expect(nextLookMs([bulk({ state: "done" }), bulk({})])).toBeLessThanOrEqual(2000);
    expect(nextLookMs([bulk({ state: "done" })])).toBe(nextLookMs([]));
    expect(nextLookMs([])).toBeGreaterThanOrEqual(30_000);
  });
});
