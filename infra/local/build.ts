// Builds the shim's bundle for npm start. Without write access, npm start uses the checkout's bundle.
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { codeOf } from "../../node-shim/base/fault.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const DIST = join(ROOT, "node-shim/dist");
const isBuilt = existsSync(join(DIST, "node-shim.cjs"));

/** Returns null if the bundle's folder is writable, otherwise the reason. */
function whyNotWritable(): string | null {
  try {
    accessSync(existsSync(DIST) ? DIST : join(ROOT, "node-shim"), constants.W_OK);
    return null;
  } catch (error) {
    return codeOf(error);
  }
}

function build(): string | null {
  const { status, stderr } = spawnSync(process.execPath, ["--run", "build"], { cwd: ROOT, encoding: "utf8" });
  if (status === 0) return null;
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  return (
    lines.find((line) => /error|cannot|no space|denied/i.test(line)) ??
    lines[0] ??
    "no reason given"
  ).trim();
}

const notWritable = whyNotWritable();
if (notWritable !== null && isBuilt) {
  console.log(`${DIST} cannot be written (${notWritable}): the shim runs as it was built last`);
} else {
  const fault = notWritable === null ? build() : `${DIST} cannot be written (${notWritable})`;
  if (fault !== null) {
    console.error(`npm start: the shim cannot be built: ${fault}`);
    process.exitCode = 1;
  }
}
