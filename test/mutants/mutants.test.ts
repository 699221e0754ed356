// The table of mutants is sound: each text stands in its source, each actor of the threat model has a defence that is
// shown, each test has the name that is looked for. Whether those tests fail is for npm run mutants.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { mutated } from "./mutant.ts";
import { mutants } from "./mutants.ts";
import { outcomeOf } from "./run.ts";

const read = (file: string) => readFileSync(resolve(import.meta.dirname, "../..", file), "utf8");

it.each(mutants)("$defence: its text stands once in $file", (mutant) => {
  const source = read(mutant.file);
  expect(mutated(source, mutant)).not.toBe(source);
});

it("no two have one name", () => {
  expect(new Set(mutants.map(({ defence }) => defence)).size).toBe(mutants.length);
});

it("each actor of the threat model is stopped by something that a test guards", () => {
  const [, table = ""] = read("docs/threat-model.md").split("## Who, and what stops them");
  const rows = table.split("\n## ")[0]!.matchAll(/^\| ([^|]+?) +\|/gm);
  const actors = [...rows]
    .map(([, actor]) => actor)
    .filter((actor) => actor !== "actor" && !/^-+$/.test(actor!));
  expect(actors.length).toBeGreaterThan(10);
  expect(new Set(mutants.map(({ actor }) => actor))).toEqual(new Set(actors));
});

describe("a text", () => {
  const mutant = { ...mutants[0]!, text: "b", replacement: "x" };

  it.each(["a", "abcb"])("that stands another number of times than once in %s → refused", (source) => {
    expect(() => mutated(source, mutant)).toThrow(/times/);
  });
});

describe("the tests of a mutant", () => {
  const results = (...statuses: string[]) => ({
    testResults: [{ assertionResults: statuses.map((status) => ({ fullName: "a report late", status })) }],
  });

  it.each([
    ["one fails", results("passed", "failed"), "fails"],
    ["all pass", results("passed", "skipped"), "survives"],
    ["none ran", results("skipped"), "no test"],
    ["none could be loaded", results(), "broken"],
  ])("of which %s", (_, found, outcome) => {
    expect(outcomeOf(found, "late")).toBe(outcome);
  });
});
