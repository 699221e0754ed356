// Tests how npm run mutation treats sources, Stryker's results and its command line. Runs no mutant.
import type { MutantStatus } from "@stryker-mutator/api/core";
import { describe, expect, it } from "vitest";
import { type Candidate, candidatesOf, readSources, rangeOf } from "./candidates.ts";
import { equivalents, isEquivalent, staleOf } from "./equivalents.ts";
import { optionsOf } from "./options.ts";
import { reportOf } from "./report.ts";
import { type Outcome, verdictsOf } from "./run.ts";
import { sampleOf } from "./sample.ts";

const mutantsOf = (source: string) => candidatesOf(new Map([["worker/a.ts", source]]));
const changesIn = async (source: string) =>
  (await mutantsOf(source)).map(({ original, replacement }) => `${original} → ${replacement}`);

describe("a source with", () => {
  it.each([
    [
      "a bound",
      "export const f = (a: number) => a < 3;",
      ["a < 3 → a <= 3", "a < 3 → a >= 3", "a < 3 → true"],
    ],
    ["a condition", "export const f = (a: unknown) => { if (a) g(); };", ["a → true", "a → false"]],
    ["a call", "export function f() {\n  g(1);\n  h();\n}", ["g(1); → ;", "h(); → ;"]],
    ["a fallback", "export const f = (a?: string) => a ?? '';", ["a ?? '' → a && ''"]],
    ["a way that may end", "export const f = (a?: { b: 1 }) => a?.b;", ["a?.b → a.b"]],
    ["a sum", "export const f = (a: number) => a + 1;", ["a + 1 → a - 1"]],
    ["an anchor", "export const f = /^a/;", ["/^a/ → /a/"]],
  ])("%s → mutants", async (_, source, expected) => {
    expect(await changesIn(source)).toEqual(expect.arrayContaining(expected));
  });

  it.each([
    ["a text", "export const f = 'words';"],
    ["a log", "log('words', a < 3);"],
    ["a log of an object's", "context.log(a < 3);\nconsole.error({ a: b && c });"],
    ["a log of a machine's", "machineLog(name)('words', a < 3);"],
    ["types", "export interface F { a: true }"],
  ])("nothing but %s → none", async (_, source) => {
    expect(await changesIn(source)).toEqual([]);
  });

  it("a mutant of several lines → its place and its text are the source's", async () => {
    const [mutant] = await mutantsOf("const a = 1;\n  export const f = () => a <\n    2;");
    expect(mutant).toMatchObject({ file: "worker/a.ts", line: 2, lineText: "export const f = () => a <" });
    expect(rangeOf(mutant!)).toBe("worker/a.ts:2:19-3:5");
    expect((await mutantsOf("const f = a <\n    2;"))[0]!.original).toBe("a <\n    2");
  });
});

describe("a sample", () => {
  const source = (more = "") =>
    `${more}export const f = (a: number, b: number) => (a < 1 && b < 2) || a > b;`;
  const drawn = async (seed: number, size = 4, text = source()) =>
    sampleOf(await mutantsOf(text), { seed, size }).map(
      ({ original, replacement }) => original + replacement,
    );

  it("with one seed → the same, in the order of the source, also after lines were added", async () => {
    const all = await drawn(1, Infinity);
    const some = await drawn(1);
    expect(some).toHaveLength(4);
    expect(all.filter((each) => some.includes(each))).toEqual(some);
    expect(await drawn(1, 4, source("// a comment\n\n"))).toEqual(some);
  });

  it("with another seed → others", async () => {
    expect(await drawn(2)).not.toEqual(await drawn(1));
  });

  it("of more than exist → all", async () => {
    expect(await drawn(1, 1000)).toHaveLength((await mutantsOf(source())).length);
  });
});

describe("equivalent mutants", () => {
  const equivalent = (candidate: Candidate) => ({ ...candidate, reason: "no one can tell" });

  it("found by their line's text → they and no others", async () => {
    const [first, second] = await mutantsOf("export const f = a < 3;");
    const moved = await mutantsOf("// a comment\nexport const f = a < 3;");
    const known = [equivalent(first!)];
    expect(moved.map((candidate) => isEquivalent(candidate, known)).filter(Boolean)).toHaveLength(1);
    expect(isEquivalent(second!, known)).toBe(false);
    expect(staleOf(moved, known)).toEqual([]);
  });

  it("whose source has changed → named", async () => {
    const [first] = await mutantsOf("export const f = a < 3;");
    const known = [equivalent(first!)];
    expect(staleOf(await mutantsOf("export const f = a < 4;"), known)).toEqual(known);
  });

  it("of the table → all are mutants of their sources, each with a reason", async () => {
    const files = [...new Set(equivalents.map(({ file }) => file))];
    expect(staleOf(await candidatesOf(readSources(files)))).toEqual([]);
    expect(equivalents.filter(({ reason }) => reason.length < 10)).toEqual([]);
  });
});

describe("Stryker's answers", () => {
  const answer = ({ file, line, original, replacement }: Candidate, status: MutantStatus) => ({
    id: "1",
    fileName: file,
    mutatorName: "any",
    replacement,
    status,
    location: { start: { line, column: 18 }, end: { line, column: 18 + original.length } },
  });

  it.each([
    ["Killed", "killed"],
    ["Timeout", "timed out"],
    ["Survived", "survived"],
    ["NoCoverage", "no test"],
    ["Ignored", "static"],
    ["RuntimeError", "broken"],
  ] satisfies [MutantStatus, Outcome][])("%s → %s", async (status, outcome) => {
    const [candidate] = await mutantsOf("export const f = a < 3;");
    expect(verdictsOf([candidate!], [answer(candidate!, status)])).toEqual([{ candidate, outcome }]);
  });

  it("no result for a mutant that had to run → a fault", async () => {
    const [candidate] = await mutantsOf("export const f = a < 3;");
    expect(() => verdictsOf([candidate!], [])).toThrow(/worker\/a\.ts/);
  });
});

it("a report → survivors and unreached ones line by line, then the score of each folder and of all", () => {
  const verdict = (folder: string, outcome: Outcome) => ({
    candidate: {
      file: `${folder}/a.ts`,
      line: 7,
      lineText: "if (a < 3) {",
      original: "a\n  < 3",
      replacement: "true",
      key: "",
    },
    outcome,
  });
  const text = reportOf([
    ...(["killed", "timed out", "killed", "survived"] as const).map((outcome) =>
      verdict("worker/b", outcome),
    ),
    ...(["no test", "static", "broken", "equivalent"] as const).map((outcome) =>
      verdict("worker/cd", outcome),
    ),
  ]);
  expect(text.split("\n")).toEqual([
    "worker/b/a.ts:7  survived: a < 3 → true",
    "worker/cd/a.ts:7  no test: a < 3 → true",
    "worker/b    75.0 %  3 killed, 1 survived, 0 not counted",
    "worker/cd    0.0 %  0 killed, 1 survived, 3 not counted",
    "all         60.0 %  3 killed, 2 survived, 3 not counted",
    "",
  ]);
});

describe("the command line", () => {
  it.each([
    [[], { sample: Infinity, seed: 1, threshold: 90 }],
    [
      ["--folder", "shared/node/", "--folder", "worker/env.ts"],
      { folders: ["shared/node", "worker/env.ts"] },
    ],
    [["--sample", "400", "--seed", "7", "--threshold", "100"], { sample: 400, seed: 7, threshold: 100 }],
    [["--json", "out.json"], { json: "out.json" }],
  ])("%j → its options", (args, expected) => {
    expect(optionsOf(args)).toMatchObject({ ok: true, value: expected });
  });

  it.each([
    [["--help"], "help"],
    [["-h"], "help"],
  ])("%j → %s", (args, expected) => {
    expect(optionsOf(args)).toEqual({ ok: true, value: expected });
  });

  it.each([
    [["--sample", "0"], "--sample 0"],
    [["--sample", "many"], "--sample many"],
    [["--seed", "1.5"], "--seed 1.5"],
    [["--threshold", "101"], "at most 100"],
    [["--folders", "worker"], "--folders"],
    [["worker"], "worker"],
  ])("%j → refused", (args, message) => {
    expect(optionsOf(args)).toMatchObject({ ok: false, error: expect.stringContaining(message) as string });
  });
});
