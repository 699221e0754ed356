// Tests rollcall context: the stored contexts, and their output.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, expect, it } from "vitest";
import { temporaryFolder } from "../../../e2e/local-cluster.ts";
import { inThisProcess } from "../../../e2e/own-worker.ts";

const folders: ReturnType<typeof temporaryFolder>[] = [];
let home: string;
beforeEach(() => {
  const folder = temporaryFolder();
  folders.push(folder);
  home = folder.path;
});
afterAll(() => folders.forEach((folder) => folder.remove()));

const rollcall = (...args: string[]) => inThisProcess(args, { HOME: home, PATH: process.env["PATH"] });
const file = () => join(home, ".config/rollcall/config.json");
const url = "https://a.example.com";

it("added, used, shown, removed → a file of the operator's alone, without a secret in it", async () => {
  writeFileSync(join(home, "secret"), "top-secret", { mode: 0o600 });
  const added = await rollcall("context", "add", "a", "--url", url, "--secret-file", join(home, "secret"));
  expect(added).toEqual({ code: 0, stdout: "context a is stored\n", stderr: "" });
  await rollcall("context", "add", "b", "--url", "https://b.example.com", "--secret-command", "pass show b");
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(readFileSync(file(), "utf8")).not.toContain("top-secret");
  expect((await rollcall("context", "list")).stdout).toBe(
    `    NAME   URL                     SECRET\n*   a      ${url}   file ${join(home, "secret")}\n    b      https://b.example.com   printed by: pass show b\n`,
  );
  expect(await rollcall("context", "use", "b")).toMatchObject({ code: 0 });
  expect((await rollcall("-o", "name", "context", "show")).stdout).toBe("b\n");
  expect(await rollcall("context", "remove", "b")).toMatchObject({ code: 0 });
  expect(JSON.parse((await rollcall("context", "list", "--json")).stdout)).toMatchObject({
    contexts: [{ name: "a", url, isCurrent: false }],
  });
});

it.each<[situation: string, args: string[], message: RegExp]>([
  ["no URL", ["add", "a"], /^rollcall: which Worker\? Pass --url/],
  ["a URL in the clear", ["add", "a", "--url", "http://a.test"], /only https:/],
  ["a name with a space", ["add", "a b", "--url", url], /a context's name has letters/],
  [
    "two secrets",
    ["add", "a", "--url", url, "--secret-file", "x", "--secret-command", "y"],
    /both give the secret: pass one/,
  ],
  ["a file that is missing", ["add", "a", "--url", url, "--secret-file", "/nowhere"], /cannot be read/],
  ["one that is none, to use", ["use", "z"], /no context z/],
  ["one that is none, to remove", ["remove", "z"], /no context z/],
  ["none in use", ["show"], /there is no current context/],
])("%s → 2, one line, and nothing is written", async (_, args, says) => {
  const ended = await rollcall("context", ...args);
  expect(ended).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(says) });
  expect(ended.stderr.trimEnd()).not.toContain("\n");
  expect(() => statSync(file())).toThrow("ENOENT");
});
