// Run by npm version and the release workflow: moves the changelog to a release, and prints the release's notes.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { timestamp } from "../../node-shim/base/clock.ts";
import { faultOf } from "../../node-shim/base/fault.ts";
import { type Result } from "../../shared/result.ts";
import { ROOT } from "../deb/programs.ts";
import { notesOf, released } from "./changelog.ts";

const CHANGELOG = join(ROOT, "CHANGELOG.md");

/** package.json's, which npm version has changed by now. */
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

const program = new Command("node infra/release/main.ts")
  .description("The changelog's part of a release: docs/releasing.md has the whole.")
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2));
program
  .command("changelog")
  .description("Make what is unreleased package.json's version, as of today.")
  .action(release);
program
  .command("notes <tag>")
  .description("Print what the changelog says of the tag's version; fail where package.json has another one.")
  .action(notes);

try {
  await program.parseAsync();
} catch (error) {
  console.error(`release: ${faultOf(error)}`);
  process.exitCode = 1;
}
