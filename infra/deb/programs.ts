// Runs the programs that make packages. A failed program becomes an error of one line.
import { execFile, execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { faultOf } from "../../node-shim/base/fault.ts";

export const ROOT = resolve(import.meta.dirname, "../..");

/** Runs a program and returns its stdout. */
export function output(program: string, args: string[]): string {
  try {
    return execFileSync(program, args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    throw faultFrom(program, args, error);
  }
}

/** Runs a program without blocking this process, so that several programs can compress at once. */
export async function run(
  program: string,
  args: string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<void> {
  try {
    await promisify(execFile)(program, args, { cwd: ROOT, env: { ...process.env, ...environment } });
  } catch (error) {
    throw faultFrom(program, args, error);
  }
}

function faultFrom(program: string, args: string[], error: unknown): Error {
  const { stderr = "", code } = error as { stderr?: string; code?: string | number };
  if (code === "ENOENT") return new Error(`${program} is missing: install it`, { cause: error });
  const said = stderr.trim().split("\n").at(-1) || faultOf(error);
  return new Error(`${program} ${args[0]}: ${said}`, { cause: error });
}
