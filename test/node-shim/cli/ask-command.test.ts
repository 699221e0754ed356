// Tests `node-shim ask`: which questions are on, the text of an answer and of its end, the exit codes.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { commandLine } from "./command-line.ts";

let folder: string;
let ask: (...args: string[]) => ReturnType<typeof commandLine>;
beforeEach(() => {
  const { path, remove } = temporaryFolder();
  onTestFinished(remove);
  folder = path;
  mkdirSync(join(folder, "state"), { mode: 0o700 });
  writeFileSync(join(folder, "app.log"), "one\ntoken=hunter2\n");
  ask = (...args) => commandLine(["ask", "--state", join(folder, "state"), ...args]);
});
const file = () => `path=${join(folder, "app.log")}`;
const ON = () => ["--questions", "files", "--question-files", folder];

test("--list, or no question → which are on, with bounds and parameters", async () => {
  const { code, stdout } = await ask("--list", "--questions", "files");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^off {3}30 s {2}1024 KiB {2}logs unit=NAME.*\n {4}the newest lines/m);
  expect(stdout).toMatch(/^on {4}30 s {2}1024 KiB {2}files path=\/PATH/m);
  expect((await ask()).stdout).not.toMatch(/^on/m);
});

test("a question that is on → the answer, 0", async () => {
  expect(await ask(...ON(), "files", file(), "lines=5")).toEqual({
    code: 0,
    stdout: "one\ntoken=[redacted]\n",
    stderr: "",
  });
});

test.each([
  [
    "is off by default",
    () => ["files", file()],
    "files is off: --questions names the questions that this machine answers",
  ],
  ["does not exist", () => ["shell", "command=id"], "name: Invalid input"],
  ["has a parameter without a value", () => [...ON(), "files", "path"], '"path" is not NAME=VALUE'],
  [
    "has a wrong parameter",
    () => [...ON(), "files", "path=a"],
    "path: not an absolute path without . and ..",
  ],
  [
    "fails",
    () => [...ON(), "files", "path=/etc/passwd"],
    "files: /etc/passwd is not below a path of --question-files",
  ],
])("a question that %s → one line, 1", async (_, args, line) => {
  expect(await ask(...args())).toEqual({ code: 1, stdout: "", stderr: `node-shim: ${line}\n` });
});

test.each([
  [["--questions", "all"], '--questions: "all" is no question'],
  [["--question-files", "var/log"], '--question-files: "var/log" is not an absolute path'],
])("the flags %j → a fault that names the flag, 1", async (flags, line) => {
  expect(await ask(...flags)).toMatchObject({ code: 1, stderr: expect.stringContaining(line) });
});
