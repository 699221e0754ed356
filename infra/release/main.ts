// Changes the changelog for a release (npm version), and prints the release's notes and Homebrew's formula (the release
// workflow).
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { timestamp } from "../../node-shim/base/clock.ts";
import { faultOf } from "../../node-shim/base/fault.ts";
import { type Result } from "../../shared/result.ts";
import { ROOT } from "../deb/programs.ts";
import { notesOf, released } from "./changelog.ts";

const CHANGELOG = join(ROOT, "CHANGELOG.md");

/** Returns the version in package.json, which npm version has already changed. */
function projectVersion(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  return version;
}

function valueOf<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.error);
  return result.value;
}

function release(): void {
  const date = timestamp().slice(0, 10);
  writeFileSync(CHANGELOG, valueOf(released(readFileSync(CHANGELOG, "utf8"), projectVersion(), date)));
}

function notes(tag: string): void {
  const version = projectVersion();
  if (tag !== `v${version}`)
    throw new Error(`the tag is ${tag}, and package.json's version ${version}: npm version makes both`);
  process.stdout.write(valueOf(notesOf(readFileSync(CHANGELOG, "utf8"), version)));
}

/** The checksum in the formula of the sources. */
const NO_SUM = "0".repeat(64);

function formula(sums: string): void {
  const name = `rollcall-cli-${projectVersion()}.tgz`;
  const sum = readFileSync(sums, "utf8")
    .split("\n")
    .find((line) => line.endsWith(`  ${name}`))
    ?.slice(0, NO_SUM.length);
  if (sum === undefined) throw new Error(`${sums} has no checksum of ${name}: npm run packages makes both`);
  process.stdout.write(readFileSync(join(ROOT, "infra/homebrew/rollcall.rb"), "utf8").replace(NO_SUM, sum));
}

const program = new Command("node infra/release/main.ts")
  .description("Change and read the changelog for a release (docs/releasing.md).")
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2));
program
  .command("changelog")
  .description("Move the unreleased changes to package.json's version, with today's date.")
  .action(release);
program
  .command("notes <tag>")
  .description(
    "Print the changelog's section of the tag's version. Fails if package.json has another version.",
  )
  .action(notes);
program
  .command("formula [sums]")
  .description("Print Homebrew's formula with the command line's checksum in SHA256SUMS.")
  .action((sums = join(ROOT, "dist/SHA256SUMS")) => formula(sums));

try {
  await program.parseAsync();
} catch (error) {
  console.error(`release: ${faultOf(error)}`);
  process.exitCode = 1;
}
