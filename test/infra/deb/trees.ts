// Makes the trees of the packages from a shim and a runtime of a few bytes: making the real packages takes minutes.
// docs/shim.md describes how to try the real packages.
import { mkdirSync, writeFileSync } from "node:fs";
import { arch } from "node:process";
import { join } from "node:path";
import type { Build } from "../../../infra/deb/contents.ts";
import { fillFolder, fillTree } from "../../../infra/deb/tree.ts";
import { ROOT } from "../../e2e/local-cluster.ts";

export const ARCHITECTURE = arch === "arm64" ? "arm64" : "amd64";
/** The folder in the package that contains a Node.js. */
export const HOME = "usr/lib/rollcall-node-shim";

/**
 * Makes the folders `with` and `all` with the files of the .debs. Fills `folder` itself with the files of the
 * .tar.gz.
 */
export function fillTrees(folder: string): void {
  const npmPackage = join(folder, "package");
  mkdirSync(join(npmPackage, "bin"), { recursive: true });
  mkdirSync(join(npmPackage, "dist"));
  writeFileSync(join(npmPackage, "bin/node-shim.cjs"), "");
  writeFileSync(join(npmPackage, "dist/THIRD-PARTY-NOTICES.txt"), "zod 4, MIT\n\nterms of zod\n");
  // A script stands for Node.js, and prints its arguments.
  const program = Buffer.from('#!/bin/sh\necho "$0" "$@"\n');
  const runtime = {
    architecture: ARCHITECTURE,
    version: "24.1.0",
    program,
    licence: "terms of Node.js\n",
  } as const;
  const buildOf = (name: string): Build => {
    const tree = join(folder, name);
    mkdirSync(tree);
    return { tree, npmPackage, root: ROOT, version: "1.2.3", epochSeconds: 1767225600 };
  };
  fillTree({ ...buildOf("with"), runtime });
  fillTree(buildOf("all"));
  fillFolder({ ...buildOf("folder"), runtime });
}
