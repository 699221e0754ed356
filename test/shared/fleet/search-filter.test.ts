// Tests the syntax of a filter's terms.
import { describe, expect, it } from "vitest";
import { parseConditions, parseVersions, parseWords } from "../../../shared/fleet/search-filter.ts";
import { PHASES } from "../../../shared/protocol/answers.ts";
import { FILTER_LIMITS } from "../../../shared/protocol/limits.ts";

const { terms } = FILTER_LIMITS;
const times = (text: string, count: number) => Array.from({ length: count }, () => text).join();

describe("conditions", () => {
  it.each([
    ["Ready", "Ready", "True", false],
    ["!Ready", "Ready", "True", true],
    ["Ready=False", "Ready", "False", false],
    [" Ready!=Unknown ", "Ready", "Unknown", true],
    ["example.com/Disk", "example.com/Disk", "True", false],
  ])("%j", (text, type, status, isNegated) => {
    expect(parseConditions(text)).toEqual({ ok: true, value: [{ type, status, isNegated }] });
  });

  it.each(["", "!", "Ready=", "Ready=true", "!Ready=True", "Ready,,Disk", "a b", times("Ready", terms + 1)])(
    "%j → refused",
    (text) => {
      expect(parseConditions(text).ok).toBe(false);
    },
  );
});

describe("versions", () => {
  it.each([
    ["0.1.0", "=", "0.1.0"],
    ["==dev", "=", "dev"],
    ["!=0.1.0", "!=", "0.1.0"],
    ["< 0.1", "<", "0.1"],
    [">=v0.1.0-rc.1", ">=", "v0.1.0-rc.1"],
  ])("%j", (text, operator, version) => {
    expect(parseVersions(text)).toEqual({ ok: true, value: [{ operator, version }] });
  });

  it("several have to hold together", () => {
    expect(parseVersions(">=0.1.0,<0.2.0")).toMatchObject({ value: [{ operator: ">=" }, { operator: "<" }] });
  });

  it.each(["", "<", "<dev", "=<0.1.0", "0.1.0,", times("0.1.0", terms + 1)])("%j → refused", (text) => {
    expect(parseVersions(text).ok).toBe(false);
  });
});

describe("words", () => {
  it("each known word, once", () => {
    expect(parseWords("two shims, cloned,two shims", PHASES)).toEqual({
      ok: true,
      value: ["two shims", "cloned"],
    });
  });
  it.each(["", "cloned,", "Cloned"])("%j → refused, with the known words", (text) => {
    expect(parseWords(text, PHASES)).toMatchObject({
      ok: false,
      error: expect.stringContaining("two shims"),
    });
  });
});
