// Compares the exit codes in the pages' tables and in the commands' help with the code.
import { globSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { EXIT_CODES } from "../../infra/operator/fault.ts";
import { STATUS_CODES } from "../../node-shim/cli/check-commands.ts";
import { DIAGNOSES, EXIT } from "../../node-shim/status/diagnoses.ts";
import { pages, root, tableRows } from "./markdown.ts";

const pageOf = (wanted: string) => pages().find(({ path }) => path === wanted)!;
const sorted = (codes: Iterable<number>) => [...new Set(codes)].sort((a, b) => a - b);
const firstCells = (path: string, heading: string) =>
  tableRows(pageOf(path), heading).flatMap(([cell = ""]) => cell.split(", ").map(Number));

it("docs/shim.md has each exit code of node-shim, and no other", () => {
  const usage = 2;
  const signals = [constants.signals.SIGTERM, constants.signals.SIGINT].map((signal) => 128 + signal);
  expect(sorted(firstCells("docs/shim.md", "exit code"))).toEqual(
    sorted([...Object.values(EXIT), usage, ...signals]),
  );
});

it("the help of `status` and `join` has each code that a diagnosis ends with", () => {
  const inHelp = [...STATUS_CODES.matchAll(/^ {2}(\d)/gm)].map(([, code]) => Number(code));
  expect(sorted(inHelp)).toEqual(sorted(Object.values(DIAGNOSES).map(({ exitCode }) => exitCode)));
});

it("docs/rollcall.md has each exit code of rollcall, and no other", () => {
  expect(sorted(firstCells("docs/rollcall.md", "code"))).toEqual(sorted(Object.values(EXIT_CODES)));
});

/**
 * Returns the numbers in a list like `0 done, 1 failed, …`. The list ends with its sentence or with the help's
 * paragraph.
 */
function codesIn(text: string): number[] {
  const listed = /Exit codes[^:]*:([^.`]*)/.exec(text)?.[1] ?? "";
  return [...listed.matchAll(/(?:^|[,;])\s*(\d)\s/g)].map(([, code]) => Number(code));
}

/**
 * The commands that deploy and remove never return these codes: they look up no name, and a removal waits for
 * nothing.
 */
const { "not-found": _, "not-yet": notYet, ...ofRemoval } = EXIT_CODES;
const ofDeployment = { ...ofRemoval, "not-yet": notYet };

it.each([
  ["docs/deploy.md", "infra/deploy/main.ts", ofDeployment],
  ["docs/removing.md", "infra/deploy/remove-main.ts", ofRemoval],
])("%s and the help of %s have the same exit codes", (page, help, codes) => {
  expect(codesIn(pageOf(page).text)).toEqual(Object.values(codes));
  expect(codesIn(readFileSync(join(root, help), "utf8"))).toEqual(Object.values(codes));
});

it("what a deployment or a removal fails with has a code that is listed", () => {
  const sources = globSync("infra/deploy/*.ts", { cwd: root }).map((path) =>
    readFileSync(join(root, path), "utf8"),
  );
  const used = (pattern: RegExp) =>
    [...sources.join("\n").matchAll(pattern)].map(([, reason = ""]) => reason);
  const reasons = new Set([...used(/\bfault\(\s*"([a-z-]+)"/g), ...used(/EXIT_CODES(?:\.|\[")([a-z-]+)/g)]);
  expect([...reasons].filter((reason) => !(reason in ofDeployment))).toEqual([]);
});
