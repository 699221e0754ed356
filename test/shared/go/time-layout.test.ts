// Tests times in Go's layouts, as time.Parse of Go 1.26 parses them.
import { expect, test } from "vitest";
import { timeLayout } from "../../../shared/go/time-layout.ts";

const DOCKER = "2006-01-02T15:04:05.999999999-07:00";
const time = { year: 0, month: 1, day: 1, hour: 0, minute: 0, second: 0, millisecond: 0 };
const APRIL = { ...time, month: 4, day: 2, hour: 13, minute: 4, second: 5 };

test.each([
  ["Jan _2 15:04:05", "Apr  2 13:04:05", APRIL],
  ["Jan _2 15:04:05", "apr 12 13:04:05", { ...APRIL, day: 12 }],
  ["Jan _2 15:04:05", "Apr  2 13:04:05.25", { ...APRIL, millisecond: 250 }],
  ["Jan _2 15:04:05", "Xxx  2 13:04:05", null],
  ["Jan _2 15:04:05", "Apr  2 24:04:05", null],
  ["Jan _2 15:04:05", "Apr  2 13:04:05 more", null],
  [DOCKER, "2017-04-02T13:04:05.153141371-08:00", { ...APRIL, year: 2017, millisecond: 153, offset: -480 }],
  [DOCKER, "2017-04-02T13:04:05+05:30", { ...APRIL, year: 2017, offset: 330 }],
  [DOCKER, "2017-13-02T13:04:05+05:30", null],
  ["2006-01-02T15:04:05Z07:00", "2017-04-02T13:04:05Z", { ...APRIL, year: 2017, offset: 0 }],
  ["Mon Jan 2 15:04:05 MST 2006", "Sun Apr 2 13:04:05 CET 2017", { ...APRIL, year: 2017 }],
  ["Monday, 02-January-06 03:04:05PM", "Sunday, 02-April-17 01:04:05PM", { ...APRIL, year: 2017 }],
  ["01/02/06 15:04", "04/02/99 13:04", { ...APRIL, year: 1999, second: 0 }],
  ["[2006.01.02] 3 PM", "[2017.04.02] 12 AM", { ...time, year: 2017, month: 4, day: 2 }],
])("%s: %s → %j", (layout, text, expected) => expect(timeLayout(layout)(text)).toEqual(expected));
