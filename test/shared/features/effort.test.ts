// Tests that each part of evaluating rules counts its steps, so that an evaluation ends in time.
import { describe, expect, it } from "vitest";
import { Effort } from "../../../shared/features/effort.ts";
import { type FeatureTerm, type MatchExpression, matchTerms } from "../../../shared/features/match.ts";
import { evaluateRules } from "../../../shared/features/rules.ts";
import { expand } from "../../../shared/features/template.ts";

const FEATURE = "pci.device";
const TOO_LONG = /the rules take too long on this machine/;
const devices = (count: number, value: string) => ({
  instances: Array.from({ length: count }, () => new Map([["k", value]])),
});
const term = (expression: MatchExpression): FeatureTerm => ({
  feature: FEATURE,
  matchExpressions: { k: expression },
});

describe("matching 1000 devices → a fault once the steps are spent", () => {
  it.each<[situation: string, terms: FeatureTerm[], value: string, steps: number]>([
    ["an expression that does not match", [term({ op: "DoesNotExist" })], "a", 1000],
    ["a list of 50 values", [term({ op: "In", value: Array.from({ length: 50 }, () => "b") })], "a", 50_000],
    ["versions", [term({ op: "Lt", value: ["1"], type: "version" })], "2", 100_000],
    [
      "an expression with 10 steps for each letter",
      [term({ op: "InRegexp", value: ["(a?){5}b"] })],
      "aaaaaaaa",
      80_000,
    ],
    ["matched elements", [term({ op: "Exists" })], "a", 50_000],
    ["a term of an unknown feature", [{ feature: "x.y" }], "a", 10],
  ])("%s", (_, terms, value, steps) => {
    const match = (most: number) =>
      matchTerms(
        terms,
        (name) => (name === FEATURE ? devices(1000, value) : undefined),
        new Map(),
        new Effort(most),
      );
    expect(() => match(steps)).toThrow(TOO_LONG);
    expect(() => match(steps * 10)).not.toThrow();
  });
});

describe("a template → a fault once the steps are spent", () => {
  const matched = new Map([["pci", new Map([["device", devices(1000, "a").instances]])]]);
  it.each<[situation: string, template: string, steps: number]>([
    ["its source", `${" ".repeat(1000)}a=b`, 10_000],
    ["actions without a text", "a=b{{ range .pci.device }}{{ if false }}{{ end }}{{ end }}", 10_000],
    ["text", `a={{ range .pci.device }}${"x".repeat(60)}{{ end }}`, 300_000],
    ["lines", "{{ range .pci.device }}a=b\n{{ end }}", 500_000],
    ["long arguments", `a={{ range .pci.device }}{{ len "${"x".repeat(90)}" }}{{ end }}`, 90_000],
    ["elements of a range without a body", `a=b${"{{ range .pci.device }}{{ end }}".repeat(10)}`, 50_000],
    ["attributes", "a=b{{ range .pci.device }}{{ range . }}{{ end }}{{ end }}", 60_000],
  ])("%s", (_, template, steps) => {
    expect(() => expand(template, matched, new Effort(steps))).toThrow(TOO_LONG);
    expect(() => expand(template, matched, new Effort(steps * 10))).not.toThrow();
  });
});

it("rules that explode → they fail, and so do the rules after them", () => {
  const set = {
    attributes: new Map(Array.from({ length: 96 }, (_, index) => [`k${index}`, "a".repeat(256)])),
  };
  const names = Object.fromEntries(
    [...set.attributes.keys()].map((name) => [name, { op: "InRegexp", value: ["(?:a?){0,600}b", "a"] }]),
  );
  const rules = Array.from({ length: 3 }, (_, index) => ({
    name: `r${index}`,
    matchFeatures: [{ feature: "cpu.model", matchExpressions: names }],
  }));
  const last = { name: "last", matchFeatures: [{ feature: "cpu.model", matchName: { op: "Exists" } }] };
  const { failed, matched } = evaluateRules([...rules, last], new Map([["cpu.model", set]]));
  expect({ failed: failed.at(-1), matched }).toEqual({
    failed: { rule: "last", fault: expect.stringMatching(TOO_LONG) },
    matched: expect.not.arrayContaining(["last"]),
  });
});
