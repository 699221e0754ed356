// Tests the formula for Homebrew: its syntax with ruby, and the copy that a release makes. Homebrew itself is not run.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import project from "../../../../package.json" with { type: "json" };
import { ROOT, temporaryFolder } from "../../../e2e/local-cluster.ts";

const FORMULA = join(ROOT, "infra/homebrew/rollcall.rb");
const noRuby =
  spawnSync("ruby", ["--version"]).error === undefined ? "" : " (skipped: ruby is not installed)";
const SUM = "0123456789abcdef".repeat(4);

test.skipIf(noRuby !== "")(`ruby parses the formula without a warning${noRuby}`, () => {
  const { status, stdout, stderr } = spawnSync("ruby", ["-wc", FORMULA], { encoding: "utf8" });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "Syntax OK\n", stderr: "" });
});

describe("the formula of a release", () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());
  const formulaWith = (sums: string) => {
    const file = join(folder.path, "SHA256SUMS");
    writeFileSync(file, sums);
    return spawnSync(process.execPath, ["infra/release/main.ts", "formula", file], {
      cwd: ROOT,
      encoding: "utf8",
    });
  };

  it("has the address and the checksum of the release's package for npm", () => {
    const { stdout, stderr } = formulaWith(
      `${"f".repeat(64)}  rollcall-node-shim-${project.version}.tgz\n${SUM}  rollcall-cli-${project.version}.tgz\n`,
    );
    expect(stderr).toBe("");
    expect(stdout.replace(SUM, "0".repeat(64))).toBe(readFileSync(FORMULA, "utf8"));
    expect(stdout).toContain(`  sha256 "${SUM}"\n`);
    expect(stdout).toContain(`/@rollcall/cli/-/cli-${project.version}.tgz"\n`);
  });

  it("without the package's checksum → an error", () => {
    expect(formulaWith(`${SUM}  rollcall-cli-0.0.1.tgz\n`)).toMatchObject({
      status: 1,
      stdout: "",
      stderr: expect.stringMatching(/^release: .* has no checksum of rollcall-cli-/) as string,
    });
  });
});
