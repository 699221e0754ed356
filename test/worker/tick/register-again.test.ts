// Tests which deleted Nodes are registered again, and when.
import { describe, expect, it, test } from "vitest";
import type { Deletion } from "../../../worker/storage/records.ts";
import { keptRecords } from "../support/kept-records.ts";
import {
  AGAIN_LIMITS,
  type Again,
  deletionAfter,
  registersAgain,
  wasReady,
} from "../../../worker/tick/register-again.ts";

const { firstWaitMs, longestWaitMs, soonMs, soonDeletions } = AGAIN_LIMITS;
const NOW = 1_000_000_000;
const deletion = (more: Partial<Deletion> = {}): Deletion => ({
  atMs: NOW,
  wasReady: false,
  waitMs: firstWaitMs,
  soon: 0,
  ...more,
});

describe("a deletion counts", () => {
  const next = { atMs: NOW, wasReady: false };
  const waited = (waitMs: number, soon: number) => deletion({ waitMs, soon });
  const silent = { ...waited(0, 0), silentDays: 30 };
  test.each<
    [string, Deletion | undefined, createdAtMs: number | undefined, Pick<Deletion, "waitMs" | "soon">]
  >([
    ["of a Node that was there before the Worker", undefined, undefined, { waitMs: 60_000, soon: 0 }],
    ["the first one soon", undefined, NOW - soonMs + 1, { waitMs: 60_000, soon: 1 }],
    ["the first one, not soon any more", undefined, NOW - soonMs, { waitMs: 60_000, soon: 0 }],
    ["the next one soon", waited(60_000, 1), NOW - soonMs + 1, { waitMs: 120_000, soon: 2 }],
    ["the next one, not soon any more", waited(60_000, 1), NOW - soonMs, { waitMs: 120_000, soon: 1 }],
    ["after the longest wait", waited(longestWaitMs, 0), NOW - soonMs, { waitMs: longestWaitMs, soon: 0 }],
    [
      "half of the longest wait and more",
      waited(1_920_000, 0),
      NOW - soonMs,
      { waitMs: longestWaitMs, soon: 0 },
    ],
    [
      "of a Node that stood for an hour",
      waited(longestWaitMs, 2),
      NOW - longestWaitMs,
      { waitMs: 60_000, soon: 0 },
    ],
    ["a moment sooner", waited(60_000, 2), NOW - longestWaitMs + 1, { waitMs: 120_000, soon: 2 }],
    ["after the Worker's own", silent, NOW - soonMs, { waitMs: 60_000, soon: 0 }],
    ["soon after the Worker's own", silent, NOW - soonMs + 1, { waitMs: 60_000, soon: 1 }],
    ["by a clock that was put back", waited(60_000, 1), NOW + 1, { waitMs: 120_000, soon: 2 }],
  ])("%s", (_, before, createdAtMs, counted) => {
    const after = deletionAfter(before, { nowMs: NOW, createdAtMs, wasReady: false });
    expect(after).toEqual({ ...next, ...counted });
  });
});

test("deletions 20 minutes after each creation, the first one the Worker's own → each wait twice the one before", () => {
  const deleted = { nowMs: NOW, createdAtMs: NOW - 20 * 60_000, wasReady: false };
  let last = deletion({ waitMs: 0, silentDays: 30 });
  const waits = [1, 2, 3, 4].map(() => (last = deletionAfter(last, deleted)).waitMs / 60_000);
  expect(waits).toEqual([1, 2, 4, 8]);
});

describe("a Node that was deleted", () => {
  const now: Partial<Again> = { kind: "now" };
  const never: Partial<Again> = { kind: "never" };
  const wait: Partial<Again> = { kind: "wait", untilMs: NOW + firstWaitMs };
  const due = NOW + firstWaitMs;
  const whileReady = deletion({ wasReady: true });
  const unwanted = deletion({ soon: soonDeletions });
  test.each<
    [string, Deletion | undefined, Parameters<typeof registersAgain>[1], nowMs: number, Partial<Again>]
  >([
    ["while not Ready, at once", deletion(), "when-silent", NOW, wait],
    ["while not Ready, a moment too soon", deletion(), "when-silent", due - 1, wait],
    ["while not Ready, a minute later", deletion(), "when-silent", due, now],
    ["while not Ready, by a clock that was put back", deletion(), "when-silent", NOW - 1, now],
    ["while not Ready", deletion(), "never", due, never],
    ["while Ready", whileReady, "when-silent", due, never],
    ["while Ready", whileReady, "always", due - 1, wait],
    ["while Ready", whileReady, "always", due, now],
    ["while Ready", whileReady, "never", due, never],
    ["soon, twice", deletion({ soon: soonDeletions - 1 }), "when-silent", due, now],
    ["soon, three times", unwanted, "when-silent", NOW + 100 * longestWaitMs, never],
    ["soon, three times", unwanted, "always", NOW + 100 * longestWaitMs, never],
    ["by the Worker, after a silence", deletion({ silentDays: 30 }), "never", NOW, now],
    ["by the Worker, after a silence", { ...unwanted, silentDays: 30 }, "when-silent", NOW, now],
    ["and nothing is known of that", undefined, "when-silent", NOW, never],
    ["and nothing is known of that", undefined, "always", NOW, now],
  ])("%s, %s, %s", (_, gone, policy, nowMs, expected) => {
    expect(registersAgain(gone, policy, nowMs)).toMatchObject(expected);
  });
});

describe("was it Ready?", () => {
  const node = (status: string) => ({ status: { conditions: [{ type: "Ready", status }] } });
  it.each([
    ["a Node that was Ready", { node: node("True") }, true],
    ["whose lease had run out", { node: node("True"), hasLapsed: true }, false],
    ["that was not Ready", { node: node("False") }, false],
    ["that the node controller had called Unknown", { node: node("Unknown") }, false],
    ["without conditions", { node: {} }, false],
  ])("%s → %s", (_, known, expected) => {
    expect(wasReady(keptRecords({ node: known }).records)).toBe(expected);
  });
});
