// Tests which senders of one key are duplicates: several machines, several processes, or one machine that changes.
import { describe, expect, it } from "vitest";
import {
  isTrusted,
  type DuplicatePhase,
  currentSenders,
  hasReturned,
  isDisputed,
  isWorthStoring,
  MAX_SENDERS,
  NO_SENDERS,
  noteFork,
  noteSender,
  type SeenSenders,
} from "../../../shared/node/duplicate-senders.ts";

const LEASE_MS = 40_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Returns the senders after these reports. A report such as `m b 1` has machine ID, boot ID and process. `!` before
 * a report means a fork: its process runs in two places.
 */
function sequence(text: string, everyMs = 5000, before: SeenSenders = NO_SENDERS, fromMs = 0): SeenSenders {
  return text.split(", ").reduce((seen, word, index) => {
    const [machineID = "", bootID = "", startId = ""] = word.replace("!", "").split(" ");
    const nowMs = fromMs + index * everyMs;
    const noted = noteSender(seen, { machineID, bootID, startId }, nowMs, LEASE_MS);
    return word.startsWith("!") ? noteFork(noted, nowMs) : noted;
  }, before);
}

const phaseOf = (seen: SeenSenders) => seen.double?.phase;

describe("one key, one machine", () => {
  it.each([
    ["steady", "m b 1, m b 1, m b 1, m b 1"],
    ["a reboot, or kexec: another boot ID, once", "m b 1, m b 1, m c 2, m c 2"],
    ["reboots in a row", "m a 1, m b 2, m c 3, m d 4, m e 5"],
    ["a shim in a crash loop", "m b 1, m b 2, m b 3, m b 4, m b 5, m b 6"],
    ["a crash loop whose last report arrives late", "m b 1, m b 2, m b 1, m b 3, m b 4"],
    ["a new machine ID", "m b 1, n b 1, n b 1"],
    ["a machine ID that is corrected again", "m b 1, n b 1, m b 1"],
    ["a live migration: nothing changes", "m b 1, m b 1"],
    ["a disk that was moved to another machine, and back", "m a 1, m b 2, m c 3"],
    ["a restored snapshot", "m a 1, m b 2, m a 1, m c 3, m c 3"],
    ["a snapshot that was restored within a ticket's life", "m a 1, !m a 1, m a 1, !m a 1, m a 1"],
    ["a second process, started by mistake", "m b 1, m b 2, m b 1, m b 1"],
  ])("%s → one sender", (_, text) => {
    const seen = sequence(text);
    expect(phaseOf(seen)).toBeUndefined();
    expect(isTrusted(seen, "whoever")).toBe(true);
  });

  it("reports without a change → the very same sightings: no row, no memory", () => {
    const seen = sequence("m b 1");
    expect(sequence("m b 1, m b 1", 9600, seen, 9600)).toBe(seen);
  });
});

describe("one key, several senders", () => {
  it.each<[string, string, DuplicatePhase]>([
    ["boot IDs in turns", "m a 1, m b 2, m a 1, m b 2", "cloned"],
    ["machine IDs in turns", "m a 1, n a 2, m a 1, n a 2", "cloned"],
    [
      "machine IDs in turns, of one process (a copy of a running machine)",
      "m a 1, n a 1, m a 1, n a 1",
      "cloned",
    ],
    ["some reports in a row", "m a 1, m a 1, m b 2, m b 2, m a 1, m a 1, m b 2", "cloned"],
    ["three machines", "m a 1, m b 2, m c 3, m a 1, m b 2", "cloned"],
    ["a machine and a copy in a boot loop", "m a 1, m b 2, m a 1, m c 3, m a 1", "cloned"],
    ["a machine and a copy whose shim crashes", "m a 1, m b 2, m a 1, m b 3", "cloned"],
    ["a copy of a running machine, nothing changed", "m a 1, !m a 1, m a 1, !m a 1, !m a 1", "cloned"],
    ["forks of a machine that boots meanwhile", "m a 1, !m a 1, m b 2, !m b 2, !m b 2", "cloned"],
    ["forks of one of two shims", "m a 1, m a 2, m a 1, m a 2, !m a 1, !m a 1, !m a 1", "cloned"],
    ["two processes", "m a 1, m a 2, m a 1, m a 2", "two shims"],
    ["a process, and another one in a crash loop", "m a 1, m a 2, m a 1, m a 3, m a 1", "two shims"],
    ["two processes, then also a copy", "m a 1, m a 2, m a 1, m a 2, m b 3, m a 1, m b 3", "cloned"],
  ])("%s → %s", (_, text, phase) => {
    expect(phaseOf(sequence(text))).toBe(phase);
  });

  it.each<[string, string, number, DuplicatePhase]>([
    ["machines (an image for many)", "m-% b-% %", MAX_SENDERS.machines, "cloned"],
    ["boots", "m b-% %", MAX_SENDERS.machines, "cloned"],
    ["processes", "m b %", MAX_SENDERS.processes, "two shims"],
  ])(
    "%s, all of them new, in ten minutes: at the limit → one sender; one more → %s",
    (_, of, most, phase) => {
      const all = Array.from({ length: most + 1 }, (_more, index) => of.replaceAll("%", `${index}`));
      expect(phaseOf(sequence(all.slice(1).join(", "), 100))).toBeUndefined();
      expect(phaseOf(sequence(all.join(", "), 100))).toBe(phase);
      // With about one report a minute, the first senders are older than ten minutes and no longer count.
      expect(phaseOf(sequence(all.join(", "), 60_000))).toBeUndefined();
    },
  );

  it.each([
    ["within an hour → cloned", 30 * MINUTE_MS, "cloned"],
    ["within a moment more → not", 30 * MINUTE_MS + 1, undefined],
  ])("three forks %s", (_, everyMs, phase) => {
    expect(phaseOf(sequence("!m a 1, !m a 1, !m a 1", everyMs))).toBe(phase);
  });

  it("a flood of unknown senders → the former one stays trusted, and the memory is bounded", () => {
    const strangers = Array.from({ length: 1000 }, (_, index) => `m b ${index}`).join(", ");
    const seen = sequence(strangers, 1, sequence("m b machine"));
    expect(isTrusted(seen, "machine")).toBe(true);
    expect(seen.turns.length).toBeLessThanOrEqual(MAX_SENDERS.processes + 2);
  });

  it.each<[string, string]>([
    ["machines", "m a 1, m b 2, m a 1, m b 2"],
    ["processes", "m a 1, m a 2, m a 1, m a 2"],
  ])("%s, three turns within ten minutes → noticed; within a moment more → not", (_, text) => {
    const [first = "", ...turns] = text.split(", ");
    const steady = sequence(first, 0, NO_SENDERS, -24 * HOUR_MS);
    expect(phaseOf(sequence(turns.join(", "), 5 * MINUTE_MS, steady))).toBeDefined();
    expect(phaseOf(sequence(turns.join(", "), 5 * MINUTE_MS + 1, steady))).toBeUndefined();
  });
});

describe("cloned", () => {
  const cloned = sequence("m a 1, m b 2, m a 1, m b 2", 0);

  it("→ neither is trusted, nor a third one", () => {
    expect(["1", "2", "3"].map((startId) => isTrusted(cloned, startId))).toEqual([false, false, false]);
  });

  it("an hour without a turn → still; a moment more → ended, and one more turn is no clone", () => {
    expect(phaseOf(currentSenders(cloned, HOUR_MS))).toBe("cloned");
    expect(phaseOf(currentSenders(cloned, HOUR_MS + 1))).toBeUndefined();
    expect(phaseOf(sequence("m b 2", 0, cloned, HOUR_MS + 1))).toBeUndefined();
    expect(phaseOf(sequence("m a 1", 0, cloned, HOUR_MS + 1))).toBeUndefined();
  });

  it("each turn starts the hour again, and is counted", () => {
    const later = sequence("m a 1", 0, cloned, HOUR_MS);
    expect(later.double).toMatchObject({ sinceMs: 0, lastTurnMs: HOUR_MS, turns: 4 });
    expect(phaseOf(currentSenders(later, 2 * HOUR_MS))).toBe("cloned");
  });

  it("one of them alone → no turn", () => {
    expect(sequence("m b 2, m b 2, m b 2", 5000, cloned)).toBe(cloned);
  });
});

describe("two shims", () => {
  const two = sequence("m a 1, m a 2, m a 1, m a 2", 0);
  const believed = (seen: SeenSenders) => ["1", "2", "3"].filter((startId) => isTrusted(seen, startId));

  it("→ the first one is trusted, also after more turns", () => {
    expect(believed(two)).toEqual(["1"]);
    expect(believed(sequence("m a 1, m a 2, m a 1, m a 2", 5000, two))).toEqual(["1"]);
  });

  it.each([
    ["while the first one may still report", LEASE_MS + MINUTE_MS, ["1"]],
    ["once the first one is gone", LEASE_MS + MINUTE_MS + 1, ["2"]],
  ])("the second one alone, %s → trusted: %s %s", (_, nowMs, expected) => {
    expect(believed(sequence("m a 2", 0, two, nowMs))).toEqual(expected);
  });

  it("the first one starts again while the second one runs → one of them is trusted again", () => {
    const after = LEASE_MS + MINUTE_MS + 1;
    expect(believed(sequence("m a 3, m a 2, m a 3", 0, two, after))).toEqual(["3"]);
  });

  it("ten minutes without a turn → still; a moment more → ended", () => {
    expect(phaseOf(currentSenders(two, 10 * MINUTE_MS))).toBe("two shims");
    expect(phaseOf(currentSenders(two, 10 * MINUTE_MS + 1))).toBeUndefined();
  });
});

describe("a dispute, before a phase is set", () => {
  it.each<[string, string, disputed: boolean, returned: boolean]>([
    ["one sender", "m a 1", false, false],
    ["reboots and restarts", "m a 1, m a 2, m b 3, m c 4", false, false],
    ["a fork", "m a 1, !m a 1", true, false],
    ["one that comes back", "m a 1, m a 2, m a 1", true, true],
    ["a new one after it", "m a 1, m a 2, m a 1, m a 3", true, false],
  ])("%s", (_, text, disputed, returned) => {
    const seen = sequence(text);
    expect(phaseOf(seen)).toBeUndefined();
    expect([isDisputed(seen, MINUTE_MS), hasReturned(seen, MINUTE_MS)]).toEqual([disputed, returned]);
  });

  it("a return is forgotten after ten minutes, a fork after an hour", () => {
    const [returned, forked] = [sequence("m a 1, m a 2, m a 1", 0), sequence("!m a 1")];
    expect([10 * MINUTE_MS, 10 * MINUTE_MS + 1].map((ms) => isDisputed(returned, ms))).toEqual([true, false]);
    expect([HOUR_MS, HOUR_MS + 1].map((ms) => isDisputed(forked, ms))).toEqual([true, false]);
  });

  it("a sender waits again after a turn and after a fork, and not after its own report", () => {
    const waiting = { ...sequence("m a 1"), waitingSinceMs: 0 };
    const left = ["m a 1", "m a 2", "!m a 1"].map((text) => sequence(text, 0, waiting).waitingSinceMs);
    expect(left).toEqual([0, undefined, undefined]);
  });
});

describe("a row", () => {
  const normal = sequence("m a 1");
  const cloned = sequence("m a 1, m b 2, m a 1, m b 2", 0);
  const two = sequence("m a 1, m a 2, m a 1, m a 2", 0);

  it.each<[string, SeenSenders | undefined, SeenSenders, number, boolean]>([
    ["the first sender", undefined, normal, 0, true],
    ["another one", normal, sequence("m b 2", 0, normal), 0, true],
    ["the beginning", normal, cloned, 0, true],
    ["the end", cloned, currentSenders(cloned, 2 * HOUR_MS), 2 * HOUR_MS, true],
    ["a turn within a minute", cloned, sequence("m a 1", 0, cloned, MINUTE_MS - 1), MINUTE_MS - 1, false],
    ["a turn after a minute", cloned, sequence("m a 1", 0, cloned, MINUTE_MS), MINUTE_MS, true],
    ["a process that takes over", two, sequence("m a 2", 0, two, 2 * MINUTE_MS), 2 * MINUTE_MS, true],
    ["the first of two shims, within a minute", two, sequence("m a 1", 0, two, 1000), 1000, false],
  ])("is written: %s", (_, stored, seen, nowMs, expected) => {
    expect(isWorthStoring(stored, seen, nowMs)).toBe(expected);
  });
});
