// Finds the versions of Node on which the shim's bundle is tested.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Returns this process's node, and the first node on PATH that belongs to no npm package, each with its version. */
export function nodes(): [version: string, program: string][] {
  const own = (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "" && !folder.includes("node_modules"))
    .map((folder) => join(folder, "node"))
    .find((program) => existsSync(program));
  const versions = new Map([[process.version, process.execPath]]);
  if (own) {
    const version = execFileSync(own, ["--version"], { encoding: "utf8" }).trim();
    if (!versions.has(version)) versions.set(version, own);
  }
  return [...versions];
}
