// Folders import one way, and no two files import each other in a circle: what `npm run layers` refuses, by a tree that
// breaks each rule once.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../../..");
const CONFIG = ".oxlintrc.layers.json";
const OXLINT = join(ROOT, "node_modules/.bin/oxlint");

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

/** The rules that each file of a tree breaks. One run for many cases: starting it is what costs. */
function brokenRules(files: Record<string, string>): Map<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-layers-"));
  folders.push(folder);
  copyFileSync(join(ROOT, CONFIG), join(folder, CONFIG));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const args = ["--config", CONFIG, "--deny-warnings", "--format=json"];
  const { stdout, status } = spawnSync(OXLINT, args, { cwd: folder, encoding: "utf8" });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string; filename: string }[] };
  expect(status === 0).toBe(diagnostics.length === 0);
  return new Map(diagnostics.map(({ code, filename }) => [filename, code]));
}

/** A file of `from` that imports one of `to`, each folders. */
function importing(from: string, to: string, name: string): Record<string, string> {
  const path = relative(from, join(to, `${name}-imported.ts`));
  return {
    [join(from, `${name}.ts`)]:
      `import { b } from "${path.startsWith(".") ? path : `./${path}`}";\n\nexport const a = b;\n`,
    [join(to, `${name}-imported.ts`)]: "export const b = 1;\n",
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
    expect([...brokenRules(files).values()]).toEqual([CYCLE, CYCLE]);
  });
});

const UPWARDS: [from: string, to: string][] = [
  ["worker/tick", "worker/machine"],
  ["worker/tick", "worker/registry"],
  ["worker/machine", "worker/http"],
  ["worker/machine", "worker/gateway"],
  ["worker/gateway", "worker/http"],
  ["worker/gateway", "worker/tick"],
  ["worker/storage", "worker/tick"],
  ["worker/kube", "worker/storage"],
  ["worker/identity", "worker/kube"],
  ["worker/http", "node-shim/base"],
  ["worker", "infra/local"],
  ["worker/http", "test/worker"],
  ["node-shim/sources/kernel", "node-shim/machine"],
  ["node-shim/base", "node-shim/config"],
  ["node-shim/worker-link", "node-shim/loop"],
  ["node-shim/identity", "node-shim/worker-link"],
  ["node-shim/commands", "worker/http"],
  ["shared/kubernetes", "shared/setters"],
  ["shared/setters", "shared/from-report"],
  ["shared/protocol", "shared/node"],
  ["shared/protocol", "shared/deployment"],
  ["shared/from-report", "shared/quiet"],
  ["shared/node", "worker/tick"],
  ["infra/operator", "test/worker"],
  ["infra/operator", "worker/http"],
  ["infra/local/apiserver", "worker/kube"],
  ["worker/page/base", "worker/page/parts"],
  ["worker/page/live", "worker/page/parts"],
  ["worker/page/parts", "worker/page/fleet"],
  ["worker/page/tokens", "worker/page/frame"],
  ["worker/page/fleet", "worker/storage"],
];

const DOWNWARDS: [from: string, to: string][] = [
  ["worker/http", "worker/machine"],
  ["worker/http", "worker/gateway"],
  ["worker/gateway", "worker/machine"],
  ["worker/machine", "worker/tick"],
  ["worker/tick", "worker/storage"],
  ["worker/tick", "worker/kube"],
  ["node-shim/loop", "node-shim/worker-link"],
  ["node-shim/machine", "shared/from-report"],
  ["shared/from-report", "shared/setters"],
  ["shared/quiet", "shared/from-report"],
  ["infra/local", "infra/local/apiserver"],
  ["test/worker", "worker/tick"],
  ["worker/page/tokens", "worker/page/parts"],
  ["worker/page/fleet", "shared/fleet"],
];

it("an import from above → refused, from below → taken, of hono outside of http/ → refused", () => {
  const hono = 'import { Hono } from "hono";\n\nexport const app = new Hono();\n';
  const broken = brokenRules(
    Object.assign(
      { "worker/machine/hono.ts": hono, "worker/http/hono.ts": hono },
      ...UPWARDS.map(([from, to], index) => importing(from, to, `up-${index}`)),
      ...DOWNWARDS.map(([from, to], index) => importing(from, to, `down-${index}`)),
    ) as Record<string, string>,
  );
  const refused = UPWARDS.map(([from], index) => [join(from, `up-${index}.ts`), LAYER]);
  expect(Object.fromEntries(broken)).toEqual(
    Object.fromEntries([...refused, ["worker/machine/hono.ts", LAYER]]),
  );
});
