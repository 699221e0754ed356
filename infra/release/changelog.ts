// Changes the changelog for a release, and reads the notes of a release from it.
import { failure, type Result, success } from "../../shared/result.ts";

const UNRELEASED = "## [Unreleased]\n";
/** Matches the end of a section: the next section, or the links at the end of the file. */
const NEXT = /^(?:## |\[[^\]]+\]: )/m;

/** Moves the unreleased changes to a section of the version, below a new empty section. */
export function released(changelog: string, version: string, date: string): Result<string> {
  const at = changelog.indexOf(UNRELEASED);
  if (at < 0) return failure("CHANGELOG.md has no section [Unreleased]");
  if (section(changelog, version) !== null) return failure(`CHANGELOG.md has ${version} already`);
  const rest = changelog.slice(at + UNRELEASED.length);
  if (textUntilNext(rest) === "")
    return failure(
      "CHANGELOG.md has nothing under [Unreleased]: write what changes for those who run rollcall",
    );
  return success(`${changelog.slice(0, at)}${UNRELEASED}\n## [${version}] - ${date}\n${rest}`);
}

/** Returns the notes of a release, or an error if the changelog does not have it. */
export function notesOf(changelog: string, version: string): Result<string> {
  const text = section(changelog, version);
  if (text === null) return failure(`CHANGELOG.md has no section [${version}]: npm version makes it`);
  return success(`${text}\n`);
}

function section(changelog: string, version: string): string | null {
  const head = `## [${version}]`;
  const at = changelog.startsWith(head) ? 0 : changelog.indexOf(`\n${head}`) + 1;
  if (at === 0 && !changelog.startsWith(head)) return null;
  const line = changelog.indexOf("\n", at);
  return line < 0 ? "" : textUntilNext(changelog.slice(line + 1));
}

function textUntilNext(text: string): string {
  const end = NEXT.exec(text)?.index ?? text.length;
  return text.slice(0, end).trim();
}
