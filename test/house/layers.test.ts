// Folders import one way, and no two files import each other in a circle: what `npm run layers` refuses, by a tree that
// breaks each rule once.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const CONFIG = ".oxlintrc.layers.json";
const OXLINT = join(ROOT, "node_modules/.bin/oxlint");

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

/** The rules that a tree of these files breaks. */
function brokenRules(files: Record<string, string>): string[] {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-layers-"));
  folders.push(folder);
  copyFileSync(join(ROOT, CONFIG), join(folder, CONFIG));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const args = ["--config", CONFIG, "--deny-warnings", "--format=json"];
  const { stdout, status } = spawnSync(OXLINT, args, { cwd: folder, encoding: "utf8" });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string }[] };
  expect(status === 0).toBe(diagnostics.length === 0);
  return [...new Set(diagnostics.map(({ code }) => code))];
}

/** A file at `from` that imports one at `to`. */
function importing(from: string, to: string): Record<string, string> {
  const path = relative(dirname(from), to);
  return {
    [from]: `import { b } from "${path.startsWith(".") ? path : `./${path}`}";\n\nexport const a = b;\n`,
    [to]: "export const b = 1;\n",
  };
}

const CYCLE = "import(no-cycle)";
const LAYER = "eslint(no-restricted-imports)";

describe("a circle", () => {
  it.each([
    ["of values", "import { b }", "export const a = () => b;"],
    ["of types alone", "import type { B }", "export type A = B | null;"],
  ])("%s → refused", (_, what, rest) => {
    const files = {
      "worker/tick/a.ts": `${what} from "./b.ts";\n\n${rest}\n`,
      "worker/tick/b.ts": `${what.replace(/b/, "a").replace(/B/, "A")} from "./a.ts";\n\n${rest.replaceAll(/\b([abAB])\b/g, (name) => ({ a: "b", b: "a", A: "B", B: "A" })[name]!)}\n`,
    };
    expect(brokenRules(files)).toEqual([CYCLE]);
  });
});

describe("an import", () => {
  it.each([
    ["worker/tick/a.ts", "worker/machine/b.ts"],
    ["worker/tick/a.ts", "worker/registry/b.ts"],
    ["worker/machine/a.ts", "worker/http/b.ts"],
    ["worker/storage/a.ts", "worker/tick/b.ts"],
    ["worker/kube/a.ts", "worker/storage/b.ts"],
    ["worker/identity/a.ts", "worker/kube/b.ts"],
    ["worker/http/a.ts", "node-shim/base/b.ts"],
    ["worker/index.ts", "infra/local/b.ts"],
    ["worker/http/a.ts", "test/worker/b.ts"],
    ["node-shim/sources/kernel/a.ts", "node-shim/machine/b.ts"],
    ["node-shim/base/a.ts", "node-shim/config/b.ts"],
    ["node-shim/worker-link/a.ts", "node-shim/loop/b.ts"],
    ["node-shim/identity/a.ts", "node-shim/worker-link/b.ts"],
    ["node-shim/commands/a.ts", "worker/http/b.ts"],
    ["shared/kubernetes/a.ts", "shared/setters/b.ts"],
    ["shared/setters/a.ts", "shared/from-report/b.ts"],
    ["shared/protocol/a.ts", "shared/node/b.ts"],
    ["shared/node/a.ts", "worker/tick/b.ts"],
    ["infra/operator/a.ts", "test/worker/b.ts"],
    ["infra/local/apiserver/a.ts", "worker/kube/b.ts"],
  ])("of %s from above, %s → refused", (from, to) => {
    expect(brokenRules(importing(from, to))).toEqual([LAYER]);
  });

  it.each([
    ["worker/http/a.ts", "worker/machine/b.ts"],
    ["worker/machine/a.ts", "worker/tick/b.ts"],
    ["worker/tick/a.ts", "worker/storage/b.ts"],
    ["worker/tick/a.ts", "worker/kube/b.ts"],
    ["node-shim/loop/a.ts", "node-shim/worker-link/b.ts"],
    ["node-shim/machine/a.ts", "shared/from-report/b.ts"],
    ["shared/from-report/a.ts", "shared/setters/b.ts"],
    ["infra/local/a.ts", "infra/local/apiserver/b.ts"],
    ["test/worker/a.ts", "worker/tick/b.ts"],
  ])("of %s from below, %s → taken", (from, to) => {
    expect(brokenRules(importing(from, to))).toEqual([]);
  });

  it("of hono outside of http/ → refused", () => {
    const text = 'import { Hono } from "hono";\n\nexport const app = new Hono();\n';
    expect(brokenRules({ "worker/machine/a.ts": text })).toEqual([LAYER]);
    expect(brokenRules({ "worker/http/a.ts": text })).toEqual([]);
  });
});
