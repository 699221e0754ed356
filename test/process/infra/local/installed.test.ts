// Tests the check of an installation, in a checkout of a test with each state of node_modules.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ROOT, type TemporaryFolder, temporaryFolder } from "../../../node-shim/base/temporary-folder.ts";

let folder: TemporaryFolder;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

const CHECK = "infra/local/installed.mjs";

/** Runs a program of a checkout with these files, as npm does. Returns the exit code and the output. */
function started(files: readonly string[], nodeVersion = process.versions.node) {
  const at = (path: string) => join(folder.path, path);
  for (const path of [CHECK, ...files]) mkdirSync(join(at(path), ".."), { recursive: true });
  for (const path of files) writeFileSync(at(path), "{}");
  // Another version of Node.js is played by its number.
  const version = `Object.defineProperty(process.versions, "node", { value: "${nodeVersion}" });\n`;
  copyFileSync(join(ROOT, CHECK), at(CHECK));
  writeFileSync(at("version.mjs"), version);
  writeFileSync(at("program.ts"), "console.log('the program runs');");
  const args = ["--import", "./version.mjs", "--import", `./${CHECK}`, "program.ts"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: folder.path,
    encoding: "utf8",
  });
  return [status, stdout + stderr];
}

const RUNS = [0, "the program runs\n"];
const NOT_INSTALLED = [
  1,
  expect.stringMatching(/^rollcall: .* run `npm ci`, and wait until it has ended\n$/),
];

it.each<[situation: string, files: string[], version: string | undefined, outcome: unknown]>([
  ["no node_modules → what to run", [], undefined, NOT_INSTALLED],
  ["npm ci has not ended → the same", ["node_modules/commander/package.json"], undefined, NOT_INSTALLED],
  ["npm ci has ended → the program runs", ["node_modules/.package-lock.json"], undefined, RUNS],
  ["Node.js 24 → the program runs", ["node_modules/.package-lock.json"], "24.0.0", RUNS],
  [
    "an earlier Node.js → its version, and which to install",
    ["node_modules/.package-lock.json"],
    "23.11.1",
    [1, expect.stringMatching(/^rollcall: this is Node\.js v.*: install Node\.js 24 or newer\n$/)],
  ],
])("%s", (_, files, version, outcome) => {
  expect(started(files, version)).toEqual(outcome);
});

it("the scripts that a user starts in a fresh checkout begin with the check", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  for (const name of ["start", "rollcall", "deploy", "remove", "packages"])
    expect(scripts[name]).toMatch(new RegExp(`^node --import \\./${CHECK} `));
});
