// Checks that test/ and test/process/ mirror the source by name: the path of a source file leads to its tests, and
// back.
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { root } from "./markdown.ts";

/** The tests that no single source file corresponds to, each with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "test/infra/local/apiserver/contract.test.ts": "what an apiserver promises; a real one has to pass it too",
  "test/node-shim/config/kubelet-verdicts.test.ts": "which configurations the shim and a kubelet both accept",
  "test/worker/tick/changing-node.test.ts": "whole ticks: the budgets of several files together",
  "test/worker/tick/deleted.test.ts": "whole ticks: registration and register-again together",
  "test/worker/kube/empty-fields.test.ts": "all that the client sends, beside a recording of Go's JSON",
};

describe("each test stands at the path of what it tests", () => {
  const tests = globSync("test/{,process/}{shared,worker,node-shim,infra}/**/*.test.ts", { cwd: root });
  const known = tests.filter((path) => !(path in EXCEPTIONS));

  it("of a file (or one of several in a folder of its name), of a folder, or of a folder as a whole", () => {
    expect(known.length).toBeGreaterThan(100);
    expect(known.filter((path) => !isMirrored(path))).toEqual([]);
  });

  it("each exception is there, and is one", () => {
    const stale = Object.keys(EXCEPTIONS).filter((path) => !tests.includes(path) || isMirrored(path));
    expect(stale).toEqual([]);
  });

  test.each([
    ["test/shared/setters/ready.test.ts", true],
    ["test/shared/setters.test.ts", true],
    ["test/infra/rbac/rbac.test.ts", true],
    ["test/shared/setters/ready/restarts.test.ts", true],
    ["test/shared/setters/steady/restarts.test.ts", false],
    ["test/process/node-shim/cli/cli.test.ts", true],
    ["test/process/node-shim/cli/steady.test.ts", false],
    ["test/shared/setters/steady.test.ts", false],
    ["test/shared/setter/setter.test.ts", false],
  ])("%s → %s", (path, mirrored) => {
    expect(isMirrored(path)).toBe(mirrored);
  });
});

function isMirrored(path: string): boolean {
  const source = path.replace(/^test\/(process\/)?/, "").replace(/\.test\.ts$/, "");
  const [name, folder] = source.split("/").toReversed();
  const isOfWholeFolder = name === folder && existsSync(join(root, source, ".."));
  const ofFile = ["ts", "tsx", "mjs"].some((ending) =>
    [source, dirname(source)].some((path) => existsSync(join(root, `${path}.${ending}`))),
  );
  return ofFile || existsSync(join(root, source)) || isOfWholeFolder;
}

describe("each setter has its table of situations", () => {
  /** Matches functions that make one or all setters, and `validateNodeIP`, which decides without being a setter. */
  const SETTER =
    /^export function \w+(<[^>]*>)?\([^]*?\): Setter(\[\])? \{$|^export function validateNodeIP\(/m;
  const files = globSync("shared/setters/*.ts", { cwd: root });
  const setters = files.filter((file) => SETTER.test(firstSignatures(file)));

  it("they are found", () => {
    expect(setters).toEqual(
      expect.arrayContaining(["ready", "pipeline", "custom"].map((name) => `shared/setters/${name}.ts`)),
    );
    expect(setters.length).toBeGreaterThan(20);
  });

  test.each(setters)("%s", (file) => {
    const table = `test/${file.replace(/\.ts$/, ".test.ts")}`;
    expect(existsSync(join(root, table)), `${table} is missing`).toBe(true);
    expect(readFileSync(join(root, table), "utf8")).toMatch(/\btest\.each\b|\bit\.each\b|pipeline/);
  });
});

/**
 * Returns the signature of each exported function without its body, so that no match can include several functions.
 */
function firstSignatures(file: string): string {
  const text = readFileSync(join(root, file), "utf8");
  return [...text.matchAll(/^export function [^]*?\{$/gm)].map(([signature]) => signature).join("\n\n");
}
