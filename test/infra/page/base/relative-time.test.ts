import { describe, expect, it } from "vitest";
import {
  absolute,
  minutesDuration,
  relative,
  shortDuration,
  zoneName,
} from "../../../../infra/page/base/relative-time.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("a duration, in seconds below a minute and in minutes from there on", () => {
  it.each([
    [-5 * SECOND, "0s"],
    [999, "0s"],
    [42 * SECOND, "42s"],
    [MINUTE - 1, "59s"],
    [MINUTE, "1m"],
    [2 * MINUTE - 1, "1m"],
    [5 * MINUTE + 10 * SECOND, "5m"],
    [10 * MINUTE, "10m"],
    [3 * HOUR - 1, "179m"],
    [3 * HOUR, "3h"],
    [3 * HOUR + 20 * MINUTE, "3h20m"],
    [8 * HOUR, "8h"],
    [2 * DAY - 1, "47h"],
    [2 * DAY + 4 * HOUR, "2d4h"],
    [8 * DAY, "8d"],
    [400 * DAY, "400d"],
  ])("%d ms → %s", (ms, text) => {
    expect(shortDuration(ms)).toBe(text);
  });
});

describe("a duration of which the seconds are not known", () => {
  it.each([
    [-SECOND, "<1m"],
    [MINUTE - 1, "<1m"],
    [MINUTE, "1m"],
    [119 * SECOND, "1m"],
    [3 * HOUR - 1, "179m"],
    [3 * HOUR + 20 * MINUTE, "3h20m"],
  ])("%d ms → %s", (ms, text) => {
    expect(minutesDuration(ms)).toBe(text);
  });
});

describe("how long ago", () => {
  it.each([
    [0, "0s ago"],
    [-5 * MINUTE, "5m ago"],
    [SECOND, "0s ago"],
    [5 * MINUTE, "in 5m"],
  ])("now %d ms → %s", (ms, text) => {
    expect(relative(1_000_000_000 + ms, 1_000_000_000)).toBe(text);
  });
});

it.each([
  ["UTC", () => 0, "UTC", "2026-11-22 13:03:09"],
  ["an hour ahead", () => 60, "UTC+1", "2026-11-22 14:03:09"],
  ["three and a half hours behind", () => -210, "UTC-3:30", "2026-11-22 09:33:09"],
])("when exactly, in the zone %s → one form of dates", (_, offset, name, text) => {
  const atMs = Date.parse("2026-11-22T13:03:09.500Z");
  expect(absolute(atMs, offset)).toBe(text);
  expect(zoneName(atMs, offset)).toBe(name);
});
