// Makes the copies of package.json's version: package managers need one in their files, and programs need a constant.
// generate.ts writes the copies.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import project from "../../package.json" with { type: "json" };
import { root } from "./markdown.ts";

const VERSION_IN: Readonly<Record<string, RegExp>> = {
  "node-shim/package.json": /(?<=^  "version": ")[^"]*/m,
  "infra/operator/package.json": /(?<=^  "version": ")[^"]*/m,
  "shared/version.ts": /(?<=VERSION = ")[^"]*/,
  "infra/install/install.sh": /(?<=^VERSION=")[^"]*/m,
  "infra/ansible/node_shim/defaults/main.yml": /(?<=^node_shim_version: ")[^"]*/m,
  "infra/chart/Chart.yaml": /(?<=^(?:version|appVersion): ")[^"]*/gm,
  "infra/homebrew/rollcall.rb": /(?<=\/cli-).*(?=\.tgz"$)/m,
};

export const versionedFiles: readonly string[] = Object.keys(VERSION_IN);

/** Returns the file's text with the present version. */
export function withVersion(path: string): string {
  return readFileSync(join(root, path), "utf8").replace(VERSION_IN[path] ?? /$^/, project.version);
}
