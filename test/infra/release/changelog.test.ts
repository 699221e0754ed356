// Tests the changelog after a release, and the part that a release quotes.
import { describe, expect, it } from "vitest";
import { notesOf, released } from "../../../infra/release/changelog.ts";

const HEAD = "# Changelog\n\nWords.\n\n";
const OLD = "## [0.1.0] - 2026-01-01\n\n### Added\n\n- All.\n";
const CHANGED = "## [Unreleased]\n\n### Fixed\n\n- A fault.\n\n";

describe("released", () => {
  it("what is unreleased → the version's, and a new section above", () => {
    expect(released(HEAD + CHANGED + OLD, "0.1.1", "2026-02-01")).toEqual({
      ok: true,
      value: `${HEAD}## [Unreleased]\n\n## [0.1.1] - 2026-02-01\n\n### Fixed\n\n- A fault.\n\n${OLD}`,
    });
  });

  it.each([
    ["nothing unreleased", `${HEAD}## [Unreleased]\n\n${OLD}`, "0.1.1", "nothing under [Unreleased]"],
    ["no such section", HEAD + OLD, "0.1.1", "no section [Unreleased]"],
    ["a version that is there", HEAD + CHANGED + OLD, "0.1.0", "has 0.1.0 already"],
  ])("%s → refused", (_, changelog, version, error) => {
    expect(released(changelog, version, "2026-02-01")).toEqual({
      ok: false,
      error: expect.stringContaining(error) as string,
    });
  });
});

describe("notesOf", () => {
  const links = "\n[0.1.0]: https://example.com/v0.1.0\n";
  it.each([
    ["the last section", HEAD + CHANGED + OLD, "0.1.0"],
    ["before links", HEAD + CHANGED + OLD + links, "0.1.0"],
    ["before another one", HEAD + OLD + OLD.replace("0.1.0", "0.0.1"), "0.1.0"],
  ])("%s → its text", (_, changelog, version) => {
    expect(notesOf(changelog, version)).toEqual({ ok: true, value: "### Added\n\n- All.\n" });
  });

  it("a version that it does not have → refused", () => {
    expect(notesOf(HEAD + CHANGED + OLD, "0.1")).toMatchObject({ ok: false });
  });
});
