// Compares the version in package.json with its copies.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import project from "../../package.json" with { type: "json" };
import { KUBELET_VERSION } from "../../shared/from-report/reported-status.ts";
import { root } from "./markdown.ts";
import { versionedFiles, withVersion } from "./versions.ts";

test.each(versionedFiles)("%s → has package.json's version", (path) => {
  const text = readFileSync(join(root, path), "utf8");
  expect(text).toContain(project.version);
  expect(text, "`npm run generate` writes it anew").toBe(withVersion(path));
});

test("the kubelet's version of a Node → names it", () => {
  expect(KUBELET_VERSION).toBe(`v1.36.0-rollcall-v${project.version}`);
});
