// The one alarm of an object: set where none rings in time, since each time costs a row.
import { expect, it } from "vitest";
import { LazyAlarm } from "../../../worker/storage/lazy-alarm.ts";

function alarmOf(before: number | null) {
  const stored = { at: before, reads: 0 };
  const sets: number[] = [];
  const alarm = new LazyAlarm({
    getAlarm: () => {
      stored.reads++;
      return Promise.resolve(stored.at);
    },
    setAlarm: (at) => {
      stored.at = Number(at);
      sets.push(stored.at);
      return Promise.resolve();
    },
  });
  return { alarm, stored, sets };
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

it("one that has rung → the next one is set, whoever knows how late it may be", async () => {
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
