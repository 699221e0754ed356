// Tests questions about files: which paths are read, and how much of a large file.
import { appendFileSync, linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, test } from "vitest";
import { files } from "../../../node-shim/questions/files.ts";
import { QUESTION_LIMITS } from "../../../shared/protocol/limits.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { collected, played } from "./asking.ts";

let folder: string;
const at = (...names: string[]) => join(folder, ...names);
const read = (path: string, over: object = {}) =>
  collected(
    files({ path, lines: 2, ...over }, played({}, { files: [at("logs")], stateFolder: at("logs", "state") })),
  );

beforeEach(() => {
  const { path, remove } = temporaryFolder();
  onTestFinished(remove);
  folder = path;
  for (const name of ["logs", "logs/deep", "logs/state", "secret"]) mkdirSync(at(name));
  writeFileSync(at("logs", "app.log"), "one\ntwo\n\nfour\n");
  writeFileSync(at("logs", "open.log"), "one\ntwo");
  writeFileSync(at("logs", "empty.log"), "");
  writeFileSync(at("logs", "state", "key.json"), "{}");
  writeFileSync(at("secret", "shadow"), "root:x");
  writeFileSync(at("logs-of-others"), "x");
});

test.each([
  ["the end of a file", "app.log", {}, ["", "four"]],
  ["the whole file", "app.log", { lines: 9 }, ["one", "two", "", "four"]],
  ["lines with a text", "app.log", { grep: "o" }, ["two", "four"]],
  ["a last line without its end", "open.log", {}, ["one", "two"]],
  ["an empty file", "empty.log", {}, []],
])("%s", async (_, name, over, lines) => {
  expect(await read(at("logs", name), over)).toEqual(lines);
});

test("a folder → its names, with size and time", async () => {
  const lines = await read(at("logs"));
  expect(lines.map((line) => line.slice(25))).toEqual([
    expect.stringMatching(/^ +14 app\.log$/),
    expect.stringMatching(/ deep\/$/),
    expect.stringMatching(/^ +0 empty\.log$/),
    expect.stringMatching(/^ +7 open\.log$/),
    expect.stringMatching(/ state\/$/),
  ]);
});

describe("is refused:", () => {
  test.each([
    ["a path outside of the list", () => at("secret", "shadow"), "is not below a path of --question-files"],
    ["a path that begins like the list's", () => at("logs-of-others"), "is not below a path of"],
    ["a link", () => at("logs", "link"), "link is a link"],
    ["a link on the way", () => at("logs", "way", "shadow"), "way is a link"],
    ["a link to the root of /proc", () => at("logs", "root", "etc", "passwd"), "root is a link"],
    ["another name of a file", () => at("logs", "hard"), "has other names"],
    ["the state folder", () => at("logs", "state", "key.json"), "the shim's state folder is secret"],
    ["a missing file", () => at("logs", "none"), "cannot be read (ENOENT)"],
    ["a file as a folder", () => at("logs", "app.log", "x"), "cannot be read (ENOTDIR)"],
  ])("%s", async (_, path, fault) => {
    symlinkSync(at("secret", "shadow"), at("logs", "link"));
    symlinkSync(at("secret"), at("logs", "way"));
    symlinkSync("/proc/self/root", at("logs", "root"));
    linkSync(at("secret", "shadow"), at("logs", "hard"));
    await expect(read(path())).rejects.toThrow(fault);
  });

  it("/proc/self/root itself, also if the list has /proc", async () => {
    const asking = played({}, { files: ["/proc"] });
    const lines = collected(files({ path: "/proc/self/root/etc/passwd", lines: 1 }, asking));
    await expect(lines).rejects.toThrow("self is a link");
  });
});

it("a log of 100 GB → its last lines, from its last block", async () => {
  const path = at("logs", "large.log");
  writeFileSync(path, "");
  truncateSync(path, 100e9);
  appendFileSync(path, "\nlast but one\nlast\n");
  expect(await read(path)).toEqual(["last but one", "last"]);
});

it("lines across blocks → whole; a line of several blocks → its beginning", async () => {
  const lines = Array.from({ length: 5000 }, (_, line) => `${line} `.padEnd(40, "x"));
  writeFileSync(at("logs", "many.log"), `${lines.join("\n")}\n`);
  expect(await read(at("logs", "many.log"), { lines: 5000 })).toEqual(lines);
  writeFileSync(at("logs", "long.log"), `one\n${"a b ".repeat(100_000)}\nend\n`);
  const beginning = "a b ".repeat(QUESTION_LIMITS.lineLength / 4);
  expect(await read(at("logs", "long.log"), { lines: 9 })).toEqual(["one", beginning, "end"]);
});

it("a long line that a block divides within a secret → no part of the secret", async () => {
  const rest = " x".repeat(64 * 1024 - 3);
  for (let shift = 0; shift < 16; shift++) {
    writeFileSync(
      at("logs", "long.log"),
      `${"a ".repeat(50_000)}password=hunter2${rest}${"\n".repeat(shift + 1)}`,
    );
    expect((await read(at("logs", "long.log"), { lines: 99 })).join("\n")).not.toMatch(/hun|ter2/);
  }
});

it("a line of more than 256 MiB → is cut", async () => {
  const path = at("logs", "large.log");
  writeFileSync(path, "");
  truncateSync(path, QUESTION_LIMITS.scannedBytes + 1);
  const asking = played({}, { files: [at("logs")] });
  expect(await collected(files({ path, lines: 1 }, asking))).toEqual([]);
  expect(asking.wasCut()).toBe(true);
});
