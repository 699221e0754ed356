// Reads an operator's secret from a file, a command or cloudflared, and never prints it. Also handles private files.
import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "../../../node-shim/base/fault.ts";
import { failure, type Result, success } from "../../../shared/result.ts";

/** The environment of the programs to run, typically this process's own. */
export interface CommandEnvironment {
  PATH?: string | undefined;
}

/** The time limit of a command: long enough to unlock a password manager, or to log in with a browser. */
const COMMAND_WITHIN_MS = 120_000;

/** Returns the text, or an error if the text cannot be a bearer token. `where` names its source in the error. */
export function secretText(text: string, where: string): Result<string> {
  if (/^[\w.~+/=-]+$/.test(text)) return success(text);
  return failure(`${where} holds no secret: one word is expected, of letters, digits and -._~+/=`);
}

export function secretInFile(path: string): Result<string> {
  const text = readPrivate(path, "the secret's file");
  if (!text.ok) return text;
  if (text.value === null) return failure(`the secret's file ${path} cannot be read (ENOENT)`);
  return secretText(text.value.trim(), `the secret's file ${path}`);
}

export function printedSecret(commandLine: string, environment: CommandEnvironment): Result<string> {
  const where = `the secret's command \`${commandLine}\``;
  const printed = output("/bin/sh", ["-c", commandLine], environment, where);
  return printed.ok ? secretText(printed.value, where) : printed;
}

/** Returns the token of the person who is logged in to Cloudflare Access. */
export function accessToken(origin: string, environment: CommandEnvironment): Result<string> {
  const args = ["access", "token", `--app=${origin}`];
  const printed = output("cloudflared", args, environment, "cloudflared");
  if (!printed.ok) return printed;
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(printed.value)) return printed;
  return failure(`cloudflared has no token for ${origin}: cloudflared access login ${origin}`);
}

/** Runs a program and returns its stdout. The program may ask the terminal for a password. */
function output(
  program: string,
  args: string[],
  environment: CommandEnvironment,
  where: string,
): Result<string> {
  const { error, status, stdout } = spawnSync(program, args, {
    // oxlint-disable-next-line typescript/no-misused-spread -- an environment is a plain object
    env: { ...environment },
    encoding: "utf8",
    stdio: ["inherit", "pipe", "inherit"],
    timeout: COMMAND_WITHIN_MS,
    maxBuffer: 65_536,
  });
  if (error && codeOf(error) === "ENOENT") return failure(`${where} is missing: install it`);
  if (error) return failure(`${where} could not be run (${codeOf(error)})`);
  return status === 0
    ? success(stdout.trim())
    : failure(`${where} has failed (exit code ${status ?? "none"})`);
}

const OTHERS = 0o077;

/** Returns a file's text, or null if it does not exist. Returns an error with a remedy if others can read it. */
export function readPrivate(path: string, what: string): Result<string | null> {
  try {
    const found = statSync(path);
    // Only regular files are checked: no other process can read a pipe, as of <(pass show rollcall).
    if (found.isFile() && (found.mode & OTHERS) !== 0)
      return failure(`${what} ${path} can be read by others: chmod 600 ${path}`);
    return success(readFileSync(path, "utf8"));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return success(null);
    return failure(`${what} ${path} cannot be read (${codeOf(error)})`);
  }
}

/** Writes a file atomically: a reader sees either the former text or the new text. */
export function writePrivate(path: string, text: string): Result<null> {
  return written(path, text, (beside) => {
    renameSync(beside, path);
    return null;
  });
}

/** Writes a new file. Returns false, and changes nothing, if the file exists. */
export function writeNewPrivate(path: string, text: string): Result<boolean> {
  return written(path, text, (beside) => isLinked(beside, path));
}

/** Links a file to a new name. Returns false if the name exists: unlike a rename, a link replaces no file. */
function isLinked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function written<T>(path: string, text: string, place: (beside: string) => T): Result<T> {
  const beside = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(beside, text, { mode: 0o600, flag: "wx" });
    try {
      return success(place(beside));
    } finally {
      rmSync(beside, { force: true });
    }
  } catch (error) {
    return failure(`${path} cannot be written (${codeOf(error)})`);
  }
}
