// Compares the version in package.json with its copies.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import project from "../../package.json" with { type: "json" };
import { RELEASES } from "../../node-shim/config/known-gates.ts";
import { COMPARED_MINORS, kubeletVersion } from "../../shared/from-report/kubelet-version.ts";
import { root } from "./markdown.ts";
import { versionedFiles, withVersion } from "./versions.ts";

test.each(versionedFiles)("%s → has package.json's version", (path) => {
  const text = readFileSync(join(root, path), "utf8");
  expect(text).toContain(project.version);
  expect(text, "`npm run generate` writes it anew").toBe(withVersion(path));
});

test("the kubelet's version of a Node → names it", () => {
  expect(kubeletVersion(36)).toBe(`v1.36.0-rollcall-v${project.version}`);
});

test("the releases that a Node may report → those whose feature gates the shim knows", () => {
  const { oldest, newest } = COMPARED_MINORS;
  expect([RELEASES.at(0), RELEASES.at(-1)]).toEqual([`1.${oldest}`, `1.${newest}`]);
});
