// Tests that the folder of static files contains the current page after a build, and nothing of an earlier one.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { headersFile } from "../../../../../../infra/page/build/headers.ts";
import { buildPage, firstLoadBytes, writePage } from "../../../../../../infra/page/build/build.ts";
import { sources, temporary } from "../sources.ts";

it("an older page is there → it is removed, and files that are not the page's stay", async () => {
  const target = temporary();
  mkdirSync(join(target, "page"));
  writeFileSync(join(target, "page/old-ABCDEFGH.js"), "");
  writeFileSync(join(target, "openapi.json"), "{}");
  const { isSmallEnough } = await writePage(sources(), target);
  expect(isSmallEnough).toBe(true);
  expect(readdirSync(target).toSorted()).toEqual(["_headers", "index.html", "openapi.json", "page"]);
  expect(readdirSync(join(target, "page")).filter((name) => name.startsWith("old"))).toEqual([]);
  expect(readFileSync(join(target, "_headers"), "utf8")).toBe(headersFile());
});

it("the same page again → no file is written, so that the server always finds each", async () => {
  const [source, target] = [sources(), temporary()];
  const inodes = () =>
    ["index.html", "_headers", ...readdirSync(join(target, "page")).map((name) => `page/${name}`)]
      .toSorted()
      .map((path) => [path, statSync(join(target, path)).ino]);
  await writePage(source, target);
  const before = inodes();
  await writePage(source, target);
  expect(inodes()).toEqual(before);
});

it("its first load: at the limit → written; a byte over it → not written, and the largest parts are named", async () => {
  const source = sources();
  const bytes = firstLoadBytes(await buildPage(source));
  const [at, over] = [temporary(), temporary()];
  expect(await writePage(source, at, bytes)).toMatchObject({ isSmallEnough: true });
  expect(existsSync(join(at, "index.html"))).toBe(true);
  const refused = await writePage(source, over, bytes - 1);
  expect(refused).toEqual({
    isSmallEnough: false,
    text: expect.stringMatching(/\n {2}page\/main-/) as string,
  });
  expect(readdirSync(over)).toEqual([]);
});
