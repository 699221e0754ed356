// Tests how long changed facts wait before they change the Node, depending on their senders, and which records are
// stored for the wait.
import { describe, expect, it, test } from "vitest";
import {
  NO_SENDERS,
  noteFork,
  noteSender,
  type SeenSenders,
} from "../../../shared/node/duplicate-senders.ts";
import {
  confirmationMs,
  type Incumbent,
  incumbentAfter,
  KnownFacts,
  waitsUntilMs,
} from "../../../worker/machine/known-facts.ts";
import type { Report } from "../../../shared/protocol/report.ts";
import { success } from "../../../shared/result.ts";
import type { ReportedFacts } from "../../../worker/machine/parse-body.ts";
import { facts } from "../support/facts.ts";
import { keptRecords } from "../support/kept-records.ts";

const MS = 11_000;
const seen = (...processes: string[]): SeenSenders =>
  processes.reduce(
    (senders, startId) => noteSender(senders, { machineID: "m", bootID: "b", startId }, 0, 40_000),
    NO_SENDERS,
  );
const incumbent: Incumbent = { startId: "a", lastMs: 0 };

describe("changed facts", () => {
  it.each<[string, startId: string, SeenSenders, Incumbent | undefined, nowMs: number, expected?: number]>([
    ["of the process that is known → now", "a", seen("a"), incumbent, 0],
    ["of another one → when the first one must have reported", "b", seen("a", "b"), incumbent, 10_999, MS],
    ["of another one, the first one being silent → now", "b", seen("a", "b"), incumbent, MS],
    ["of another one, after an eviction → now: nobody reported for long", "b", seen("a", "b"), undefined, 0],
    [
      "of one that was there before the last one → now",
      "a",
      seen("a", "b", "a"),
      { ...incumbent, startId: "b" },
      0,
    ],
    [
      "of a new one after that → when nothing has contradicted",
      "c",
      seen("a", "b", "a", "c"),
      undefined,
      5,
      MS + 5,
    ],
    ["of a process that has forked → the same", "a", noteFork(seen("a"), 0), incumbent, 5, MS + 5],
    ["the same, waiting", "a", { ...noteFork(seen("a"), 0), waitingSinceMs: 1 }, incumbent, MS, MS + 1],
    [
      "the same, at the end of the wait → now",
      "a",
      { ...noteFork(seen("a"), 0), waitingSinceMs: 1 },
      incumbent,
      MS + 1,
    ],
  ])("%s", (_, startId, senders, known, nowMs, expected) => {
    const changed = { startId, digest: "new", senders, incumbent: known, confirmationMs: MS, nowMs };
    expect(waitsUntilMs(changed)).toBe(expected);
  });

  it.each<[string, digest: string, nowMs: number, waits: boolean]>([
    ["that stood before them → now", "before", 2 * MS, false],
    ["a moment later → they wait", "before", 2 * MS + 1, true],
    ["others → they wait", "others", 2 * MS, true],
  ])("of a process that has forked, after facts that may be its double's: %s", (_, digest, nowMs, waits) => {
    const known = { ...incumbent, replaced: { digest: "before", atMs: 0 } };
    const senders = noteFork(seen("a"), nowMs);
    const changed = { startId: "a", digest, senders, incumbent: known, confirmationMs: MS, nowMs };
    expect(waitsUntilMs(changed) !== undefined).toBe(waits);
  });
});

it.each([
  ["every 10 s, as is usual", 10_000, 40, 11_000],
  ["more often than its settings say, for its lease", 60_000, 40, 11_000],
  ["every second", 1000, 40, 1100],
])("a machine that reports %s", (_, nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds, expected) => {
  expect(confirmationMs({ nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds })).toBeCloseTo(expected);
});

describe("the facts that were active before", () => {
  /** Returns the incumbent after these reports. `2s x`: facts x are applied at the second 2. */
  const after = (text: string) => {
    let known: Incumbent | undefined;
    let before: string | undefined;
    for (const word of text.split(", ")) {
      const [at = "", factsDigest = ""] = word.split("s ");
      const moment = { confirmationMs: MS, nowMs: Number(at) * 1000 };
      known = incumbentAfter(known, { startId: "a", factsDigest }, before, moment);
      before = factsDigest;
    }
    return known?.replaced?.digest;
  };

  it.each([
    ["the first facts", "0s x", undefined],
    ["others", "0s x, 10s y", "x"],
    ["others, twice in a moment: the first ones", "0s x, 10s y, 11s z", "x"],
    ["others, and the first ones again", "0s x, 10s y, 20s x", undefined],
    ["others, for as long as they may be somebody's", "0s x, 10s y, 32s y", "x"],
    ["others, for longer", "0s x, 10s y, 33s y", undefined],
    ["others, and others long after", "0s x, 10s y, 90s z", "y"],
  ])("%s: %s → %s", (_, text, expected) => {
    expect(after(text)).toBe(expected);
  });
});

it.each<[string, startId: string, nowMs: number, expected: Incumbent]>([
  ["of the same process → it goes on", "a", 5000, { startId: "a", lastMs: 5000 }],
  ["of another one, the first one being there → the first one", "b", MS - 1, incumbent],
  ["of another one, the first one being silent → the other one", "b", MS, { startId: "b", lastMs: MS }],
])("a report that is applied, %s", (_, startId, nowMs, expected) => {
  const report = { startId, factsDigest: "same" };
  expect(incumbentAfter(incumbent, report, "same", { confirmationMs: MS, nowMs })).toEqual(expected);
});

const BOUNDS = { minReportIntervalMs: 1000, minStatusPeriodMs: 1000, minLeaseSeconds: 1, maxImages: 50 };

test.each([
  ["that sets their labels → they count", true, true],
  ["that sets none → they do not count, and stay stored", false, false],
])("features in a deployment %s", (_, hasFeatureLabels, counts) => {
  const kept = keptRecords();
  const features = { flags: {}, attributes: {}, instances: {} };
  kept.records.put("facts", { digest: "d", facts: facts("edge-1", { features }) });
  const known = new KnownFacts(kept, () => ({ ...BOUNDS, hasFeatureLabels }));
  expect("features" in known.current()!).toBe(counts);
  expect(kept.records.get("facts")?.facts.features).toEqual(features);
});

describe("facts of which a value was limited", () => {
  const fault = { path: "/facts/machine/swapBytes", message: "is limited" };
  const report = (digest: string) => ({ startId: "s", factsDigest: digest }) as Report;
  const take = (kept: ReturnType<typeof keptRecords>, digest: string, facts: ReportedFacts) => {
    const known = new KnownFacts(kept, () => BOUNDS);
    known.take(report(digest), facts, 0);
    return known;
  };

  it("→ they count, and the fault is named until other facts come, also after an eviction", () => {
    const kept = keptRecords();
    take(kept, "d-1", { ...success(facts("edge-1")), fault });
    const evicted = new KnownFacts(kept, () => BOUNDS);
    expect([evicted.has("d-1"), evicted.current()?.settings.hostname]).toEqual([true, "edge-1"]);
    expect([evicted.refused, evicted.refusal("d-1"), evicted.refusal("d-2")]).toEqual([
      fault,
      { factsRefused: fault },
      {},
    ]);
    expect(take(kept, "d-2", success(facts("edge-1"))).refused).toBeUndefined();
  });
});
