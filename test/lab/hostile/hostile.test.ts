// Tests that a seed determines the requests of npm run hostile, and that the verdict finds offences.
// test/process/lab runs the command.
import { describe, expect, it } from "vitest";
import type { Hostile } from "./generator.ts";
import { runHostile } from "./run.ts";
import { isClean, memoryOf, offenceOf, type Verdict, verdictText } from "./verdict.ts";

const MIB = 2 ** 20;
const lastLine = (text: string) => text.trimEnd().split("\n").at(-1);

it("two runs with one seed, on Workers of their own → the same requests", async () => {
  const digest = async () => (await runHostile({ requests: 20, seed: 1, from: 0 }, () => undefined)).digest;
  expect(await digest()).toBe(await digest());
});

describe("a verdict", () => {
  const clean: Verdict = {
    plan: { requests: 1, seed: 3, from: 4 },
    sent: 1,
    discarded: 0,
    kinds: new Map([["replay", new Map([["401", 1]])]]),
    offences: [],
    disturbances: [],
    rows: 0,
    refusals: 40,
    ranMs: 60_000,
    asked: 0,
    registryAsked: 9,
    objectsMade: 0,
    residentBytes: [100 * MIB],
    digest: "",
  };
  const request: Hostile = { index: 4, kind: "replay", method: "GET", path: "/", headers: {}, body: "" };

  it.each<[string, Parameters<typeof offenceOf>[1], string | null]>([
    ["400", { status: 400 }, null],
    ["499", { status: 499 }, null],
    ["200", { status: 200 }, "accepted"],
    ["a redirection", { status: 302 }, "accepted"],
    ["500", { status: 500 }, "5xx"],
    ["nothing", { error: "reset" }, "no answer"],
  ])("a request with the answer %s", (_, answered, what) => {
    expect(offenceOf(request, answered)?.what ?? null).toBe(what);
  });

  it("without an effect → clean", () => {
    expect([isClean(clean), lastLine(verdictText(clean))]).toEqual([true, "accepted 0, 5xx 0, rows 0"]);
  });

  it.each<[string, Partial<Verdict>, string]>([
    [
      "a request was accepted",
      { offences: [offenceOf(request, { status: 200 })!] },
      "accepted: npm run hostile -- --seed 3 --from 4 --requests 1\n  200 to replay: GET / {}",
    ],
    [
      "rows were written",
      { rows: 2, disturbances: [{ from: 4, to: 9, rows: 2, asks: 0 }] },
      "rows 2, apiserver asked 0: npm run hostile -- --seed 3 --from 4 --requests 5",
    ],
    ["an object was made", { objectsMade: 1 }, "objects made 1"],
    ["the apiserver got a request", { asked: 1 }, "apiserver asked 1"],
    [
      "the registry got a request because of an invented token",
      { plan: { ...clean.plan, of: "tokens" }, registryAsked: 1 },
      "registry asked 1",
    ],
    [
      "the log of refusals has more entries than its limit for two minutes",
      { refusals: 41 },
      "refusals logged 41",
    ],
    [
      "memory grows",
      { residentBytes: Array.from({ length: 100 }, (_, at) => (100 + at * 10) * MIB) },
      "which is not flat",
    ],
  ])("%s → not clean, and what to check", (_, more, text) => {
    expect(isClean({ ...clean, ...more })).toBe(false);
    expect(verdictText({ ...clean, ...more })).toContain(text);
  });

  it("with a heap that fills and stays → flat", () => {
    const residentBytes = [...Array.from({ length: 20 }, (_, at) => 100 + at * 10), ...Array(100).fill(300)];
    expect(memoryOf(residentBytes.map((mebibytes: number) => mebibytes * MIB)).isFlat).toBe(true);
  });
});
