// Tests an object's one alarm. Setting it costs a row, so it is set only if it would otherwise ring too late.
import { describe, expect, it } from "vitest";
import { LATE_MS, LazyAlarm } from "../../../worker/storage/lazy-alarm.ts";

function alarmOf(before: number | null, nowMs = 0) {
  const stored = { at: before, reads: 0 };
  const sets: number[] = [];
  const clock = { nowMs };
  const storage = {
    getAlarm: () => {
      stored.reads++;
      return Promise.resolve(stored.at);
    },
    setAlarm: (at: number | Date) => {
      stored.at = Number(at);
      sets.push(stored.at);
      return Promise.resolve();
    },
  };
  return { alarm: new LazyAlarm(storage, () => clock.nowMs), stored, sets, clock };
}

it.each([
  ["none is set", null, [100]],
  ["one is set for later", 101, [100]],
  ["one is set for then", 100, []],
  ["one is set for earlier", 99, []],
])("%s → set where it has to be, after one look", async (_, before, set) => {
  const { alarm, stored, sets } = alarmOf(before);
  await alarm.atLatest(100);
  await alarm.atLatest(100);
  await alarm.atLatest(101);
  expect(sets).toEqual(set);
  expect(stored.reads).toBe(1);
});

it.each([
  ["none is set", null, [100]],
  ["one is set for later", 101, []],
  ["one is set for much later: whoever set it knew why", 3_600_000, []],
  ["one is set for earlier", 99, []],
])("%s → set where there is none, whatever its time", async (_, before, set) => {
  const { alarm, sets } = alarmOf(before);
  await alarm.unlessSet(100);
  await alarm.unlessSet(50);
  expect(sets).toEqual(set);
});

it("one for much later has rung → the next one is set", async () => {
  const { alarm, stored, sets } = alarmOf(3_600_000);
  await alarm.unlessSet(100);
  stored.at = null;
  alarm.rang();
  await alarm.unlessSet(100);
  expect(sets).toEqual([100]);
});

it("one that has rung → the next one is set", async () => {
  const { alarm, stored, sets } = alarmOf(50);
  await alarm.atLatest(100);
  stored.at = null;
  alarm.rang();
  await alarm.atLatest(100);
  expect(sets).toEqual([100]);
});

it.each<[situation: string, before: number | null, set: (alarm: LazyAlarm) => Promise<void>[], at: number]>([
  ["none is set", null, (alarm) => [alarm.atLatest(100), alarm.atLatest(300)], 100],
  ["none is set", null, (alarm) => [alarm.atLatest(300), alarm.atLatest(100)], 100],
  ["one is set for later", 500, (alarm) => [alarm.atLatest(100), alarm.atLatest(300)], 100],
  [
    "none is set, and whoever comes second needs any",
    null,
    (alarm) => [alarm.atLatest(300), alarm.unlessSet(100)],
    300,
  ],
])("%s, two at once → neither undoes what the other has set", async (_, before, set, at) => {
  const { alarm, stored } = alarmOf(before);
  await Promise.all(set(alarm));
  expect(stored.at).toBe(at);
});

it("a time that has passed, or the present → the next one", async () => {
  for (const at of [0, 4999, 5000]) {
    const { alarm, sets } = alarmOf(null, 5000);
    await alarm.atLatest(at);
    expect(sets).toEqual([5001]);
  }
});

describe("one that is still set", () => {
  const NOW_MS = 1_000_000;
  it.each<[situation: string, before: number, sets: number[]]>([
    ["late, as it may be", NOW_MS - LATE_MS, []],
    ["later: it is lost", NOW_MS - LATE_MS - 1, [NOW_MS + 1]],
  ])("%s → set anew where it is lost, also after an eviction", async (_, before, expected) => {
    const { alarm, sets } = alarmOf(before, NOW_MS);
    await alarm.unlessSet(NOW_MS + 1);
    await alarm.atLatest(NOW_MS + 2);
    expect(sets).toEqual(expected);
    const known = alarmOf(null, before - 1);
    await known.alarm.atLatest(before);
    known.clock.nowMs = NOW_MS;
    await known.alarm.atLatest(NOW_MS + 5000);
    expect(known.sets.slice(1)).toEqual(expected.map(() => NOW_MS + 5000));
  });
});
