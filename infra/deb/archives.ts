// Packs folders into .deb, .tar.gz and npm packages. The same folder gives the same bytes on each machine.
import { mkdirSync, mkdtempSync, renameSync } from "node:fs";
import { join } from "node:path";
import { PACKAGE } from "../../node-shim/service/package.ts";
import { VERSION } from "../../shared/version.ts";
import type { Build } from "./contents.ts";
import type { Architecture } from "./control.ts";
import { fillFolder, fillTree } from "./tree.ts";
import { output, ROOT, run } from "./programs.ts";
import type { Runtime } from "./runtime.ts";

export interface Destination {
  /** The folder where the packages are written. */
  out: string;
  /** A folder for intermediate files. */
  work: string;
  /** The time of every packed file, in seconds since 1970: SOURCE_DATE_EPOCH. */
  epochSeconds: number;
}

export const npmTarballName = (name: string = PACKAGE) => `${name}-${VERSION}.tgz`;
export const debName = (architecture: Architecture) => `${PACKAGE}_${VERSION}_${architecture}.deb`;
export const folderName = (architecture: Architecture) => `${PACKAGE}_${VERSION}_${architecture}`;

/** Packs a folder for npm and returns the tarball's path. Also unpacks the tarball for the other packages. */
export function packNpm({ out, work }: Destination, folder = "node-shim", name: string = PACKAGE): string {
  const made = output("npm", ["pack", "--silent", `./${folder}`, "--pack-destination", out]);
  const tarball = join(out, npmTarballName(name));
  renameSync(join(out, made.trim().split("\n").at(-1) ?? ""), tarball);
  output("tar", ["-xzf", tarball, "-C", work]);
  return tarball;
}

export async function packDeb(to: Destination, runtime?: Runtime): Promise<string> {
  const build = buildIn(to, "tree", runtime);
  fillTree(build);
  return makeDeb(to, build.tree, debName(runtime?.architecture ?? "all"));
}

export async function makeDeb(
  { out, epochSeconds }: Destination,
  tree: string,
  name: string,
): Promise<string> {
  // Older releases of dpkg do not support zstd. With several threads, xz's output depends on the number of cores.
  const flags = ["--root-owner-group", "-Zxz", "--threads-max=1", "--build", tree];
  return whole(join(out, name), (path) =>
    run("dpkg-deb", [...flags, path], { SOURCE_DATE_EPOCH: String(epochSeconds) }),
  );
}

/** Makes an archive under another name first: after an interruption, no archive is there that looks whole. */
async function whole(path: string, make: (path: string) => Promise<unknown>): Promise<string> {
  await make(`${path}.part`);
  renameSync(`${path}.part`, path);
  return path;
}

export async function packFolder(to: Destination, runtime: Runtime): Promise<string> {
  const name = folderName(runtime.architecture);
  const build = buildIn(to, name, runtime);
  fillFolder(build);
  const owner = ["--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"];
  const flags = [...owner, `--mtime=@${to.epochSeconds}`, "--use-compress-program=gzip -9n"];
  return whole(join(to.out, `${name}.tar.gz`), (path) =>
    run("tar", ["-cf", path, ...flags, "-C", join(build.tree, ".."), name]),
  );
}

function buildIn({ work, epochSeconds }: Destination, name: string, runtime: Runtime | undefined): Build {
  const tree = join(mkdtempSync(join(work, "build-")), name);
  mkdirSync(tree);
  const npmPackage = join(work, "package");
  return { tree, npmPackage, root: ROOT, version: VERSION, epochSeconds, ...(runtime && { runtime }) };
}
