// Runs the commands of a page as a reader would. The commands are read from the page, so that the page and its test
// cannot differ.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { type CodeBlock, parsePage, root } from "./markdown.ts";

const SHELLS = new Set(["sh", "bash", "console"]);
/** The names of programs that begin a command in a page. */
const PROGRAMS =
  "apt|apt-get|cat|cloudflared|curl|docker|dpkg|e2e.test|export|gh|git|gpg|helm|install|journalctl|kubectl|node|node-shim|npm|npx|promtool|rollcall|sh|source|sudo|systemctl|terraform|wrangler";
/** Matches the beginning of a block of commands without a language: a prompt, or variables and a program. */
const COMMAND = new RegExp(`^(\\$ |([A-Z_]+=\\S+ )*(${PROGRAMS}) )`);

/** Matches drawings, which may also begin with a program's name. */
const PICTURE = /[─═│║►▼]/;

export const isCommands = ({ language, text }: CodeBlock): boolean =>
  SHELLS.has(language) || (language === "" && COMMAND.test(text.trimStart()) && !PICTURE.test(text));

/** Returns the blocks of commands between this heading and the next one. */
export function commandsBelow(path: string, heading: string): string[] {
  const text = readFileSync(join(root, path), "utf8");
  const { blocks } = parsePage(path, text);
  const isCode = (line: number) =>
    blocks.some((block) => line >= block.line && line < block.line + block.text.trimEnd().split("\n").length);
  const headings = text.split("\n").flatMap((words, index) => {
    const [, title] = /^#{1,6} (.+)$/.exec(words) ?? [];
    return title === undefined || isCode(index + 1) ? [] : [{ title, line: index + 1 }];
  });
  const at = headings.findIndex(({ title }) => title === heading);
  const from = headings[at]?.line;
  if (from === undefined) throw new Error(`${path} has no heading "${heading}"`);
  const to = headings[at + 1]?.line ?? Infinity;
  return blocks
    .filter((block) => isCommands(block) && block.line > from && block.line < to)
    .map((block) => block.text);
}

/**
 * Replaces the example values of a page by the test's values. Throws if the block lacks one of the example values.
 */
export function withOwn(block: string, own: Readonly<Record<string, string>>): string {
  let text = block;
  for (const [madeUp, ours] of Object.entries(own)) {
    if (!block.includes(madeUp)) throw new Error(`the block has no ${madeUp}:\n${block}`);
    text = text.replaceAll(madeUp, ours);
  }
  return text;
}

export interface Reader {
  /** The working directory of the reader. */
  cwd: string;
  env?: Readonly<Record<string, string | undefined>>;
  /** The folder that `programsOf` has made; it is the first folder in PATH. */
  programs?: string;
}

/** Makes a folder with these programs: each is one line of sh, which gets the arguments as `"$@"`. */
export function programsOf(folder: string, programs: Readonly<Record<string, string>>): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, line] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

/** The programs of this source tree, by the names that an installation gives them. */
export const OWN_PROGRAMS = {
  rollcall: `exec '${process.execPath}' '${join(root, "infra/operator/dist/rollcall.cjs")}' "$@"`,
  "node-shim": `exec '${process.execPath}' '${join(root, "node-shim/bin/node-shim.cjs")}' "$@"`,
};

/**
 * Runs a block of commands; returns stdout and stderr. Rejects with the output if a command fails; no later command
 * runs.
 */
export function runCommands(
  block: string,
  { cwd, env = {}, programs }: Reader,
): Promise<{ stdout: string; stderr: string }> {
  const path = [programs, dirname(process.execPath), process.env["PATH"]].filter(Boolean).join(delimiter);
  const child = spawn("bash", ["--norc", "-euo", "pipefail", "-c", block], {
    cwd,
    env: { ...process.env, BASH_ENV: undefined, ...env, PATH: path },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (chunk: Buffer) => (text[name] += chunk.toString()));
  return new Promise((done, failed) => {
    child.once("error", failed);
    child.once("close", (code) =>
      code === 0 ? done(text) : failed(new Error(`${code}: ${block}\n${text.stdout}\n${text.stderr}`)),
    );
  });
}
