import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Benchmark } from "./benchmark.ts";
import { benchmarks } from "./benchmarks.ts";
import { runBenchmarks } from "./run.ts";

const within: Benchmark = {
  name: "within",
  what: "one within its budget",
  unit: "µs",
  against: "node JSON",
  budget: 0.5,
  measure: () => Promise.resolve([{ ours: 10, yardstick: 40 }]),
};
const over: Benchmark = {
  ...within,
  name: "over",
  what: "one over it",
  measure: () => Promise.resolve([{ ours: 40, yardstick: 40 }]),
};
const broken: Benchmark = {
  ...within,
  name: "broken",
  what: "one that fails",
  measure: () => Promise.reject(new Error("no such tool")),
};

async function run(
  args: string[],
  some: Benchmark[] = [within, over],
  isTTY = false,
): Promise<{ code: number; out: string; err: string }> {
  const said = { out: "", err: "" };
  const code = await runBenchmarks(some, args, {
    out: { write: (text) => (said.out += text) },
    err: { write: (text) => (said.err += text), isTTY },
  });
  return { code, ...said };
}

test("no names → all of them, and 1 because a budget is missed", async () => {
  const { code, out, err } = await run([]);
  expect({ code, err }).toEqual({ code: 1, err: "" });
  expect(out).toMatch(/one within its budget.* ok\n/);
  expect(out).toMatch(/one over it.* MISSED\n/);
});

test("all within their budgets, or not judged → 0", async () => {
  const unjudged: Benchmark = { ...within, name: "start", measure: () => Promise.resolve([{ ours: 1e9 }]) };
  const { code, out } = await run([], [within, unjudged]);
  expect(code).toBe(0);
  expect(out).toContain("not judged");
});

test("names → only these", async () => {
  const { out } = await run(["over"]);
  expect(out).toContain("one over it");
  expect(out).not.toContain("one within its budget");
});

test("the start of names, up to a dash → all of these", async () => {
  const some = [within, { ...over, name: "over-all" }, { ...over, name: "over-night", what: "another" }];
  const { out } = await run(["over"], some);
  expect(out).toContain("one over it");
  expect(out).toContain("another");
  expect(out).not.toContain("one within its budget");
  expect((await run(["ove"], some)).code).toBe(2);
});

test("--help → 0, the usage and the names, and nothing is measured", async () => {
  const { code, out, err } = await run(["--help"], [broken]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/^usage: npm run bench -- [^]*\n {2}broken {2}one that fails\n$/);
});

describe("wrong arguments → 2, the fault, the names, and nothing is measured", () => {
  test.each([
    ["an unknown name", ["over", "nonsense"], "there is no benchmark nonsense"],
    ["an unknown option", ["--jason", "x"], "--jason"],
    ["no file after --json", ["--json"], "--json"],
  ])("%s", async (_, args, wrong) => {
    const { code, out, err } = await run(args, [broken, over]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(wrong);
    expect(err).toMatch(/ {2}broken {2}one that fails\n {2}over {4}one over it\n$/);
  });
});

test("a failed measurement → 1, and the others run", async () => {
  const { code, out, err } = await run([], [broken, over]);
  expect({ code, err }).toEqual({ code: 1, err: "bench: broken: no such tool\n" });
  expect(out).toContain("one over it");
  expect(out).not.toContain("one that fails");
});

test("a missing requirement of this computer → a line, and no failure", async () => {
  const some = ["one", "other"].map((name) => ({ ...broken, name, what: name, lacks: "no browser here" }));
  const { code, out, err } = await run([], [...some, within]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toContain("one within its budget");
  expect(out).toMatch(/\nnot measured: one, other: no browser here\n$/);
});

test("details → after the table, and once", async () => {
  const details = () => "found: much\n";
  const some = ["one", "other"].map((name) => ({ ...within, name, what: name, details }));
  expect((await run([], some)).out).toMatch(/ ok\nfound: much\n$/);
  expect((await run([], [{ ...broken, details }])).out).not.toContain("found");
});

test("on a terminal → names the running one, and removes that line", async () => {
  const { err } = await run([], [within, over], true);
  expect(err).toBe("\r\u001B[K1/2 within\r\u001B[K2/2 over\r\u001B[K");
});

test("a long one shows its progress, only on a terminal", async () => {
  const long: Benchmark = {
    ...within,
    measure: (progress) => {
      progress("half done");
      return Promise.resolve([{ ours: 1 }]);
    },
  };
  expect((await run([], [long], true)).err).toContain("1/1 within: half done");
  expect((await run([], [long])).err).toBe("");
});

test("--json FILE → the same numbers in a file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-bench-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "results.json");
  await run(["over", "--json", file]);
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject([
    { name: "over", unit: "µs", budget: 0.5, verdict: "MISSED", ours: { median: 40 }, ratio: { median: 1 } },
  ]);
});

test("--json FILE that cannot be written → 1, and still the table", async () => {
  const { code, out, err } = await run(["over", "--json", join(tmpdir(), "no-such-folder-of-rollcall", "x")]);
  expect(code).toBe(1);
  expect(out).toContain("one over it");
  expect(err).toMatch(/^bench: ENOENT/);
});

test("every benchmark has a name and a wording of its own", () => {
  expect(new Set(benchmarks.map(({ name }) => name)).size).toBe(benchmarks.length);
  expect(new Set(benchmarks.map(({ what }) => what)).size).toBe(benchmarks.length);
});
