// package.json's version, in the files that need one of their own: npm wants it in node-shim/package.json, the programs
// have it as a constant. Writes nothing: generate.ts does.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import project from "../../package.json" with { type: "json" };
import { root } from "./markdown.ts";

const VERSION_IN: Readonly<Record<string, RegExp>> = {
  "node-shim/package.json": /(?<=^  "version": ")[^"]*/m,
  "infra/operator/package.json": /(?<=^  "version": ")[^"]*/m,
  "shared/version.ts": /(?<=VERSION = ")[^"]*/,
  "infra/install/install.sh": /(?<=^VERSION=")[^"]*/m,
};

export const versionedFiles: readonly string[] = Object.keys(VERSION_IN);

/** The file as it should be. */
export function withVersion(path: string): string {
  return readFileSync(join(root, path), "utf8").replace(VERSION_IN[path] ?? /$^/, project.version);
}
