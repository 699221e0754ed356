// Tests npm version in a copy of the project: one commit, a tag, and one version everywhere.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { ROOT, temporaryFolder } from "../e2e/local-cluster.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());

const PATH = [dirname(process.execPath), join(ROOT, "node_modules/.bin"), process.env["PATH"]].join(
  delimiter,
);
const env = {
  ...process.env,
  PATH,
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "Test",
  GIT_AUTHOR_EMAIL: "test@example.com",
  GIT_COMMITTER_NAME: "Test",
  GIT_COMMITTER_EMAIL: "test@example.com",
};
const project = join(folder.path, "project");
const git = (...args: string[]) => execFileSync("git", args, { cwd: project, env, encoding: "utf8" }).trim();

function copyProject(): void {
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  for (const file of files.trim().split("\n")) {
    if (!existsSync(join(ROOT, file)) || file.startsWith("test/vectors/")) continue;
    mkdirSync(dirname(join(project, file)), { recursive: true });
    cpSync(join(ROOT, file), join(project, file));
  }
  symlinkSync(join(ROOT, "node_modules"), join(project, "node_modules"));
  git("init", "-q", "-b", "main");
  git("add", "-A", "--", ".", ":!node_modules");
  git("commit", "-q", "-m", "all");
}

it("npm version → the changelog's section, every version, a commit and a tag; its notes are the section", () => {
  copyProject();
  const npm = spawnSync("npm", ["version", "7.8.9-rc.1"], { cwd: project, env, encoding: "utf8" });
  expect(npm.status, npm.stderr).toBe(0);
  expect(git("tag")).toBe("v7.8.9-rc.1");
  expect(git("log", "-1", "--format=%s")).toBe("7.8.9-rc.1");
  const changed = git("show", "--name-only", "--format=").split("\n").sort();
  expect(changed).toEqual([
    "CHANGELOG.md",
    "infra/ansible/node_shim/defaults/main.yml",
    "infra/chart/Chart.yaml",
    "infra/homebrew/rollcall.rb",
    "infra/install/install.sh",
    "infra/operator/package.json",
    "node-shim/package.json",
    "package-lock.json",
    "package.json",
    "shared/version.ts",
  ]);
  const read = (path: string) => readFileSync(join(project, path), "utf8");
  for (const path of changed) expect(read(path), path).toContain("7.8.9-rc.1");
  const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, { version?: string }> };
  expect([lock.packages[""]?.version, lock.packages["node-shim"]?.version]).toEqual([
    "7.8.9-rc.1",
    "7.8.9-rc.1",
  ]);
  const notes = (tag: string) =>
    spawnSync("node", ["infra/release/main.ts", "notes", tag], { cwd: project, env, encoding: "utf8" });
  expect(notes("v7.8.9-rc.1").stdout).toMatch(/^\S/);
  const other = notes("v7.8.9");
  expect([other.status, other.stderr]).toEqual([
    1,
    "release: the tag is v7.8.9, and package.json's version 7.8.9-rc.1: npm version makes both\n",
  ]);
});
