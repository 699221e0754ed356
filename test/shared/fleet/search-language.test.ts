import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_SEARCH, readSearch as read, SEARCH_EXAMPLES } from "../../../shared/fleet/search-language.ts";
import { FILTER_LIMITS } from "../../../shared/protocol/limits.ts";

const NOW_MS = Date.parse("2026-11-23T06:00:00Z");
const readSearch = (text: string) => read(text, NOW_MS);

describe("what is typed → the parameters of GET /v1/machines", () => {
  it.each<[string, Record<string, string>]>([
    ["", {}],
    ["   ", {}],
    ["berlin", { text: "berlin" }],
    ["edge-7", { text: "edge-7" }],
    ["in the rack", { text: "in the rack" }],
    ["edge   berlin", { text: "edge berlin" }],
    ['"two  spaces"', { text: '"two  spaces"' }],
    ['"zone=eu"', { text: '"zone=eu"' }],
    ['not "is full', { text: 'not "is full' }],
    ['edge ""', { text: "edge" }],
    ["edge-1*", { text: "edge-1*" }],
    ["2001:db8::1", { text: "2001:db8::1" }],
    ["beef::1", { text: "beef::1" }],
    ["registry.local:5000", { text: "registry.local:5000" }],
    ["containerd://2.1", { text: "containerd://2.1" }],
    ['"foo:bar"', { text: '"foo:bar"' }],
    ["zone=eu", { selector: "zone=eu" }],
    ["zone==eu", { selector: "zone==eu" }],
    ["zone = eu", { selector: "zone = eu" }],
    ["zone=", { selector: "zone=" }],
    ["zone= eu", { selector: "zone=", text: "eu" }],
    ["zone=eu,tier!=edge", { selector: "zone=eu,tier!=edge" }],
    ["zone=eu, tier!=edge", { selector: "zone=eu, tier!=edge" }],
    ["zone=eu,", { selector: "zone=eu" }],
    ["zone=eu tier!=edge", { selector: "zone=eu,tier!=edge" }],
    ["zone=eu,gpu", { selector: "zone=eu,gpu" }],
    ["zone in (a,b)", { selector: "zone in (a,b)" }],
    ["zone in (a, b) berlin", { selector: "zone in (a, b)", text: "berlin" }],
    ["zone notin (a),!gpu", { selector: "zone notin (a),!gpu" }],
    ["zone in(a)", { selector: "zone in(a)" }],
    ["!gpu", { selector: "!gpu" }],
    ["slots>4", { selector: "slots>4" }],
    ["example.com/slot=1", { selector: "example.com/slot=1" }],
    ["state:silent", { state: "silent" }],
    ["state:silent,blocked berlin", { state: "silent,blocked", text: "berlin" }],
    ["version:<0.2.0", { version: "<0.2.0" }],
    ["version:>=0.1.0 version:!=0.1.3", { version: ">=0.1.0,!=0.1.3" }],
    ["condition:MemoryPressure", { condition: "MemoryPressure" }],
    ["condition:!Ready condition:DiskPressure=False", { condition: "!Ready,DiskPressure=False" }],
    ["address:10.0.0.0/8", { address: "10.0.0.0/8" }],
    ["address:2001:db8::/32", { address: "2001:db8::/32" }],
    ['phase:"two shims"', { phase: "two shims" }],
    ['phase:cloned,"two shims" x', { phase: "cloned,two shims", text: "x" }],
    ["beside:edge-7", { beside: "edge-7" }],
    ["token:abc unused:true", { token: "abc", unused: "true" }],
    ["since:2026-11-23T04:00:00Z", { since: "2026-11-23T04:00:00Z" }],
    ["since:2h", { since: "2026-11-23T04:00:00.000Z" }],
    ["until:1d6h", { until: "2026-11-22T00:00:00.000Z" }],
    ["State:Silent,NOT-READY", { state: "Silent,NOT-READY" }],
    ["condition:memorypressure=true", { condition: "memorypressure=true" }],
    [
      "berlin state:silent site=b version:0.1.0",
      { text: "berlin", state: "silent", selector: "site=b", version: "0.1.0" },
    ],
  ])("%s", (text, parameters) => {
    const read = readSearch(text);
    expect(read.ok && read.value.parameters).toEqual(parameters);
  });

  it.each(Object.entries(SEARCH_EXAMPLES))("the example of %s", (parameter, example) => {
    const read = readSearch(example);
    expect(read.ok && Object.keys(read.value.parameters)).toEqual([parameter]);
  });
});

describe("what cannot be read → the term, and what was expected", () => {
  const many = Array.from({ length: FILTER_LIMITS.terms + 1 }, (_, at) => `k${at}=v`).join(" ");
  it.each([
    ["zone in (a", "zone in (a", "it ends too soon, expected: ',' or ')'"],
    ["zone in (a,b berlin", "zone in (a,b berlin", "expected"],
    ["zone=a=b", "zone=a=b", "expected"],
    ["zone=eu state:sleepy", "state:sleepy", "expected one or more of ready, not-ready, silent"],
    ["state:", "state:", "expected a value, as in state:silent,blocked"],
    ["version:<new", "version:<new", "expected a version: 0.1.0"],
    ["address:10.0.0.0/33", "address:10.0.0.0/33", "expected an IP address, or a range"],
    ["condition:!Ready=True", "condition:!Ready=True", "expected a condition"],
    ["unused:maybe", "unused:maybe", "expected true or false"],
    ["since:yesterday", "since:yesterday", "expected a time"],
    ["since:99999999999999d", "since:99999999999999d", "expected a time"],
    ["since:2026-02-30T00:00:00Z", "since:2026-02-30T00:00:00Z", "expected a time"],
    ["foo:bar", "foo:bar", "no field has the name foo; the fields are state:, phase:, condition:"],
    ["edge stat:silent", "stat:silent", "no field has the name stat; did you mean state:?"],
    ["phsae:cloned", "phsae:cloned", "did you mean phase:?"],
    ["versoin:1", "versoin:1", "did you mean version:?"],
    ["adress:10.0.0.1", "adress:10.0.0.1", "did you mean address:?"],
    ["name:edge-1", "name:edge-1", "did you mean a name without a field, as in edge-*?"],
    ["label:site=b", "label:site=b", "did you mean site=berlin,tier!=edge?"],
    [
      `${"x".repeat(FILTER_LIMITS.patternLength)}*`,
      `${"x".repeat(FILTER_LIMITS.patternLength)}*`,
      "expected at most 50",
    ],
    ["w ".repeat(FILTER_LIMITS.terms + 1), "w ".repeat(FILTER_LIMITS.terms + 1).trim(), "more than 12 words"],
    ["state:silent state:ready", "state:ready", "there is one state: already"],
    ["x".repeat(FILTER_LIMITS.textLength + 1), "x".repeat(FILTER_LIMITS.textLength + 1), "it is too long"],
    [many, many.replaceAll(" ", ","), `more than ${FILTER_LIMITS.terms} requirements`],
  ])("%s", (text, term, expected) => {
    const read = readSearch(text);
    expect(read).toMatchObject({ ok: false, error: { term } });
    expect(!read.ok && read.error.expected).toContain(expected);
  });
});

it("at the limit → is read", () => {
  expect(readSearch("x".repeat(FILTER_LIMITS.textLength)).ok).toBe(true);
  const terms = Array.from({ length: FILTER_LIMITS.terms }, (_, at) => `k${at}=v`);
  expect(readSearch(terms.join(" ")).ok).toBe(true);
  expect(readSearch("w ".repeat(FILTER_LIMITS.terms)).ok).toBe(true);
  expect(readSearch(`${"x".repeat(FILTER_LIMITS.patternLength - 1)}*`).ok).toBe(true);
});

it.each([
  ["state:silent", false],
  ["since:2026-11-23T04:00:00Z", false],
  ["berlin since:2h", true],
])("%s → has a time before now: %s", (text, isRelative) => {
  expect(readSearch(text)).toMatchObject({ ok: true, value: { isRelative } });
});

it("whatever is typed → is read or refused, and never thrown at", () => {
  const piece = fc.constantFrom(
    "a",
    "zone",
    "=",
    "!",
    "!=",
    "in",
    "(",
    ")",
    ",",
    " ",
    '"',
    ":",
    "state:",
    "since:",
    "9d",
    "*",
    "<",
    "version:",
    "\t",
    "é",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
      const read = readSearch(pieces.join(""));
      expect(read.ok || read.error.expected !== "").toBe(true);
    }),
  );
});

it.each([
  ["at its limit", 0, true],
  ["just over it", 1, false],
])("a text %s is read: %s", (_, more, isRead) => {
  // Each word could begin a selector that continues to the end of the text, which is the slowest case.
  const text = "a, ".repeat(MAX_SEARCH).slice(0, MAX_SEARCH + more);
  const read = readSearch(text);
  expect(!read.ok && read.error.expected.includes("characters")).toBe(!isRead);
});
