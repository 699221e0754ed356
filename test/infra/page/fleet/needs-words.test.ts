import { describe, expect, it } from "vitest";
import type { FeedMachine } from "../../../../shared/fleet/feed-view.ts";
import { type MachineGroup, needsList } from "../../../../infra/page/fleet/needs-list.ts";
import {
  clockText,
  counted,
  digestOf,
  outageCount,
  pendingText,
  skewText,
  whyOf,
} from "../../../../infra/page/fleet/needs-words.ts";
import { feedMachine, pendingMachine } from "./feed-machines.ts";

describe("why a machine needs somebody", () => {
  it.each<[string, MachineGroup, Partial<FeedMachine>, string | RegExp]>([
    [
      "as the Worker says",
      "not-ready",
      { state: "not-ready", why: "node is shutting down" },
      "node is shutting down",
    ],
    [
      "else the condition that is wrong",
      "not-ready",
      { state: "not-ready", conditions: { MemoryPressure: "True", Ready: "Unknown" } },
      "Ready is Unknown",
    ],
    ["else what its state means", "silent", { state: "silent" }, /^it does not report/],
    ["blocked by a Worker that does not say why", "blocked", { state: "blocked" }, "its state is blocked"],
    ["a state of a newer Worker", "not-ready", { state: "on-fire" }, "its state is on-fire"],
    [
      "all of its conditions that are wrong",
      "conditions",
      { conditions: { Ready: "True", RaidDegraded: "True", DiskPressure: "True" } },
      "DiskPressure is True, RaidDegraded is True",
    ],
    ["its clock", "skewed", { skewMs: 200_000, why: "another reason" }, "its clock is 3m ahead"],
  ])("%s", (_, group, change, text) => {
    expect(whyOf(group, feedMachine("edge-1", change))).toMatch(text);
  });

  it.each([
    [200_000, "its clock is 3m ahead"],
    [-14_400_000, "its clock is 4h behind"],
  ])("a clock that is %d ms ahead: %s", (skewMs, text) => {
    expect(skewText(skewMs)).toBe(text);
  });
});

describe("numbers and times in words", () => {
  it.each([
    [1, "1 machine"],
    [0, "0 machines"],
    [1204, "1,204 machines"],
  ])("%d", (count, text) => {
    expect(counted(count, "machine")).toBe(text);
  });

  it.each([
    [{ silent: 12, machines: 12 }, "12 machines"],
    [{ silent: 2, machines: 40 }, "2 of 40 machines"],
  ])("of an outage: %j", (counts, text) => {
    const outage = { id: 1, network: "", startedAt: "", endedAt: null, names: [], was: "", ...counts };
    expect(outageCount(outage)).toBe(text);
  });

  it.each([
    ["today", "2026-11-23T14:03:59Z", "14:03"],
    ["yesterday, an hour ago", "2026-11-22T23:30:00Z", "Nov 22, 23:30"],
    ["midnight is 00", "2026-11-23T00:05:00Z", "00:05"],
  ])("the time of the day: %s", (_, at, text) => {
    expect(clockText(Date.parse(at), Date.parse("2026-11-23T23:59:00Z"), "UTC")).toBe(text);
  });

  it("of another zone it is another day", () => {
    const [at, now] = [Date.parse("2026-11-22T23:30:00Z"), Date.parse("2026-11-23T10:00:00Z")];
    expect(clockText(at, now, "Asia/Tokyo")).toBe("08:30");
  });
});

describe("other words", () => {
  it.each([
    ["free by now", null, /free by now/],
    ["of a machine that has reported", true, /has reported with another key/],
    ["of one that never has", false, /never reported/],
  ])("who waits asks for a name that is %s", (_, hasReported, text) => {
    const {
      name: _name,
      token: _token,
      askedAt: _at,
      expiresAt: _until,
      pinned: _pinned,
      ...shown
    } = pendingMachine("edge-1");
    const pinned = hasReported === null ? null : { ...shown, pinnedAt: "", hasReported };
    expect(pendingText(pendingMachine("edge-1", { pinned }))).toMatch(text);
  });
});

describe("a closed group in one line", () => {
  const digest = (machines: FeedMachine[], pending: string[] = []) => {
    const [group] = needsList({
      machines,
      outages: [],
      pending: pending.map((name) => pendingMachine(name)),
    });
    return group && digestOf(group);
  };
  const notReady = (why: string, index: number) => feedMachine(`m-${index}`, { state: "not-ready", why });
  it.each([
    ["one reason", ["the disk is full"], "the disk is full"],
    ["the most frequent reason first", ["a", "b", "b"], "b (2) · a"],
    ["three reasons", ["a", "b", "c"], "a · b · c"],
    ["more than three", ["a", "b", "c", "d"], "a · b · c · …"],
    ["more machines than a group lists", Array.from({ length: 11 }, () => "a"), "a (10) · …"],
  ])("%s", (_, reasons, text) => {
    expect(digest(reasons.map(notReady))).toBe(text);
  });

  it("blocked machines → their phases; machines that wait → their names", () => {
    expect(digest([feedMachine("a", { state: "blocked", phase: "cloned", why: "two report" })])).toBe(
      "cloned",
    );
    expect(digest([], ["edge-1", "edge-2"])).toBe("edge-1 · edge-2");
  });

  it("an unwritten cluster → each phase with its reason, and how many machines", () => {
    const away = { state: "cluster-unreachable", phase: "apiserver refuses", why: "the token has expired" };
    expect(digest([feedMachine("a", away), feedMachine("b", away)])).toBe(
      "apiserver refuses: the token has expired (2)",
    );
  });
});
