import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMicroTime, formatSeconds, parseMicroTime } from "../../../shared/kubernetes/micro-time.ts";

describe("times with microseconds", () => {
  it.each([
    { situation: "whole seconds", text: "2026-03-14T15:09:26Z", formatted: "2026-03-14T15:09:26.000000Z" },
    {
      situation: "microseconds",
      text: "2026-03-14T15:09:26.594205Z",
      formatted: "2026-03-14T15:09:26.594205Z",
    },
    {
      situation: "nanoseconds are cut off",
      text: "2026-03-14T15:09:26.594205977Z",
      formatted: "2026-03-14T15:09:26.594205Z",
    },
    {
      situation: "another time zone",
      text: "2026-03-14T16:09:26.5+01:00",
      formatted: "2026-03-14T15:09:26.500000Z",
    },
    {
      situation: "one second before 1970",
      text: "1969-12-31T23:59:59.000001Z",
      formatted: "1969-12-31T23:59:59.000001Z",
    },
  ])("$situation: $text → $formatted", ({ text, formatted }) => {
    expect(formatMicroTime(parseMicroTime(text))).toBe(formatted);
  });

  it("reads what it writes, to the microsecond", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 9e15 }), (micros) => {
        expect(parseMicroTime(formatMicroTime(micros))).toBe(micros);
      }),
    );
  });

  it("cuts a time of whole seconds, and does not round it", () => {
    expect(formatSeconds(parseMicroTime("2026-03-14T15:09:26.999999Z"))).toBe("2026-03-14T15:09:26Z");
  });

  it("null for a text that is no time", () => {
    expect(parseMicroTime("yesterday")).toBeNaN();
  });
});
