// Tests the build of small pages: file names, the size of the first load, and equal bytes in each build.
import { resolve } from "node:path";
import { build } from "esbuild";
import { describe, expect, it, test } from "vitest";
import { buildPage } from "../../../../../infra/page/build/build.ts";
import { sources } from "./sources.ts";

const ROOT = resolve(import.meta.dirname, "../../../../..");
const textOf = (contents: Uint8Array) => Buffer.from(contents).toString();

describe("a page", () => {
  it("→ files with their hash in their names, which index.html names", async () => {
    const files = await buildPage(sources());
    const first = new Map(
      files.map(({ path, isFirstLoad }) => [path.replace(/-\w{8}\./, "-HASH."), isFirstLoad]),
    );
    expect(Object.fromEntries(first)).toEqual({
      "index.html": true,
      "page/chunk-HASH.js": true,
      "page/icon-HASH.svg": false,
      "page/later-HASH.js": false,
      "page/main-HASH.js": true,
      "page/page-HASH.css": true,
    });
    const index = textOf(files.find(({ path }) => path === "index.html")!.contents);
    const named = files
      .map(({ path }) => path)
      .filter((path) => path !== "index.html" && !path.includes("later"));
    for (const path of named) expect(index).toContain(`"/${path}"`);
    expect(index).not.toMatch(/\{\{|later/);
    expect(index).toMatch(/<link rel="modulepreload" href="\/page\/chunk-/);
  });

  it("whose components have styles → they are in the first load", async () => {
    const source = sources({
      "main.tsx": 'import "./table.css";',
      "table.css": "table { margin: 0 }",
    });
    const files = await buildPage(source);
    const styles = files.filter(({ path }) => path.endsWith(".css"));
    expect(styles.map(({ isFirstLoad }) => isFirstLoad)).toEqual([true, true]);
    const index = textOf(files.find(({ path }) => path === "index.html")!.contents);
    for (const { path } of styles) expect(index).toContain(`<link rel="stylesheet" href="/${path}" />`);
  });

  it("built in another folder → the same bytes; another text → another name", async () => {
    const [one, other] = [await buildPage(sources()), await buildPage(sources())];
    expect(other).toEqual(one);
    const changed = await buildPage(sources({ "page.css": "body { color: white; }", "icon.svg": "<svg />" }));
    const names = new Set(one.map(({ path }) => path));
    const fresh = changed.map(({ path }) => path).filter((path) => !names.has(path));
    expect(fresh).toEqual([expect.stringContaining("icon-"), expect.stringContaining("page-")]);
  });

  test.each([
    ["without a script", { "main.tsx": "export const" }, /main\.tsx/],
    [
      "without a placeholder",
      { "index.html": "{{style}}{{preloads}}" },
      /index\.html needs \{\{script\}\} once/,
    ],
    [
      "with two placeholders",
      { "index.html": "{{style}}{{style}}{{preloads}}{{script}}" },
      /\{\{style\}\} once/,
    ],
  ])("%s → is not built", async (_, change, fault) => {
    await expect(buildPage(sources(change))).rejects.toThrow(fault);
  });
});

it("the Worker's bundle contains nothing of the page, so a deployment without page users pays nothing for it", async () => {
  const { metafile } = await build({
    entryPoints: [resolve(ROOT, "worker/index.ts")],
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*"],
    logLevel: "silent",
  });
  const inputs = Object.keys(metafile.inputs);
  expect(inputs).toContain("worker/http/responses.ts");
  expect(inputs.filter((path) => /^worker\/page\/|^infra\/|preact|uplot/i.test(path))).toEqual([]);
});
