// Tests the syntax of a filter's terms.
import { describe, expect, it } from "vitest";
import {
  isWordOfState,
  parseConditions,
  parseOperatorSelector,
  parseSearchWords,
  parseTime,
  parseVersions,
  parseWords,
} from "../../../shared/fleet/search-filter.ts";
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
    ["Ready=true", "Ready", "True", false],
    ["Ready=UNKNOWN", "Ready", "Unknown", false],
  ])("%j", (text, type, status, isNegated) => {
    expect(parseConditions(text)).toEqual({ ok: true, value: [{ type, status, isNegated }] });
  });

  it.each(["", "!", "Ready=", "Ready=yes", "!Ready=True", "Ready,,Disk", "a b", times("Ready", terms + 1)])(
    "%j → refused",
    (text) => {
      expect(parseConditions(text).ok).toBe(false);
    },
  );
});

describe("an operator's selector", () => {
  it.each([
    ["site=berlin", ["site in berlin"]],
    ["site!=berlin,!gpu", ["site notin berlin", "gpu absent "]],
    ["a in (1,2,3,4,5,6,7,8,9,10,11,12)", ["a in 1 10 11 12 2 3 4 5 6 7 8 9"]],
    ["a,b,c,d", ["a exists ", "b exists ", "c exists ", "d exists "]],
  ])("%j → these requirements, and a Node of rollcall", (text, expected) => {
    const parsed = parseOperatorSelector(text);
    const terms = parsed.ok ? parsed.value : [];
    const texts = terms.map(({ key, operator, values }) => `${key} ${operator} ${values.join(" ")}`);
    expect(texts).toEqual([...expected, "rollcall.dev/machine exists "]);
  });

  it.each([
    ["", "a requirement"],
    ["  ", "a requirement"],
    ["a b", "expected"],
    ["a,b,c,d,e", "4 requirements"],
    ["a in (1,2,3,4,5,6,7,8,9,10,11,12,13)", "12 values"],
    ["site=berlin,kubernetes.io/arch=arm64", "the machine itself reports"],
    ["kubernetes.io/os!=linux", "the machine itself reports"],
    ["beta.kubernetes.io/arch", "the machine itself reports"],
    ["!rollcall.dev/os", "the machine itself reports"],
    ["rollcall.dev/arch=arm64", "the machine itself reports"],
  ])("%j → refused: %s", (text, why) => {
    expect(parseOperatorSelector(text)).toMatchObject({
      ok: false,
      error: expect.stringContaining(why) as string,
    });
  });
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
    expect(parseWords("two shims, Cloned,two shims", PHASES)).toEqual({
      ok: true,
      value: ["two shims", "cloned"],
    });
  });
  it.each(["", "cloned,", "clones"])("%j → refused, with the known words", (text) => {
    expect(parseWords(text, PHASES)).toMatchObject({
      ok: false,
      error: expect.stringContaining("two shims"),
    });
  });
});

describe("words of a search", () => {
  const word = (text: string) => ({ text, isPattern: false });
  const pattern = (text: string) => ({ text, isPattern: true });
  it.each([
    ["", []],
    ['""', []],
    ["Not  READY", [word("not"), word("ready")]],
    ['edge "is Full"', [word("edge"), word("is full")]],
    ['edge "is full', [word("edge"), word("is full")]],
    ["edge-1*", [pattern("edge-1*")]],
    ["*.berlin 10.0.*", [pattern("*.berlin"), pattern("10.0.*")]],
    ['"edge-1*"', [word("edge-1*")]],
    ["[a]*", [word("[a]*")]],
  ])("%j", (text, words) => {
    expect(parseSearchWords(text)).toEqual({ ok: true, value: words });
  });

  it.each([
    ["not-ready", "not", true],
    ["not-ready", "not ready", true],
    ["not-ready", "ready", true],
    ["ready", "not", false],
    ["silent", "not reporting", true],
    ["silent", "report", true],
    ["cluster-unreachable", "cluster unreach", true],
    ["blocked", "reporting", false],
  ])("a machine that is %s, searched with %j → %s", (state, text, isFound) => {
    expect(isWordOfState(state, text)).toBe(isFound);
  });
});

describe("times", () => {
  it.each(["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000Z", "2026-01-31T13:00+01:00"])("%s", (text) => {
    expect(parseTime(text)).toEqual({ ok: true, value: Date.UTC(2026, 0, 31, 12) });
  });
  it.each(["", "2026-01-31", "2026-02-30T12:00:00Z", "2026-13-01T12:00:00Z", "2026-01-31T25:00:00Z", "noon"])(
    "%j → refused",
    (text) => {
      expect(parseTime(text).ok).toBe(false);
    },
  );
});
