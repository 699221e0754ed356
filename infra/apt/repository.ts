// Writes a signed apt repository into a folder that any web server can serve. Published versions stay and do not change, so
// that machines can install each of them. Format: https://wiki.debian.org/DebianRepository/Format
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { output } from "../deb/programs.ts";
import { replaceFile } from "../page/build/replace-file.ts";
import { inlineSigned, type KeyText, publicKeyOf, signingKey } from "./signing.ts";

/** The name of the file with the public key, at the repository's root. */
export const KEY_FILE = "rollcall-archive.asc";

/** Returns the control file of a package. */
type ControlOf = (deb: string) => string;
const controlOfDeb: ControlOf = (deb) => output("dpkg-deb", ["-f", deb]);

interface Publication {
  /** The repository's folder. Packages that its pool already has stay there. */
  folder: string;
  /** The packages to add. */
  debs: readonly string[];
  key: KeyText;
  /** The date of the repository. apt refuses a repository that is older than the version it read last. */
  date: Date;
}

/** Adds packages to the repository. Writes the signed files last: until then clients read the former version. */
export async function publish(
  { folder, debs, key, date }: Publication,
  controlOf: ControlOf = controlOfDeb,
): Promise<void> {
  const signer = await signingKey(key, date);
  const added = debs.map((deb) => [deb, poolFile(deb, controlOf)] as const);
  for (const [deb, file] of added) refuseOther(deb, join(folder, file));
  for (const [deb, file] of added) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    copyFileSync(deb, join(folder, file));
  }
  const pool = poolOf(folder, controlOf);
  const signed = SUITES.map(async (suite) => {
    const indexes = writeIndexes(join(folder, "dists", suite), packagesOf(suite, pool));
    const text = await inlineSigned(releaseFile({ suite, date, indexes }), signer, date);
    return [join(folder, "dists", suite, "InRelease"), text] as const;
  });
  const all = await Promise.all(signed);
  replaceFile(join(folder, KEY_FILE), Buffer.from(publicKeyOf(signer)));
  for (const [file, text] of all) replaceFile(file, Buffer.from(text));
}

/** Reads name, version and architecture from a package, whose file name may differ from them. */
function fieldsOf(deb: string, controlOf: ControlOf) {
  const control = controlOf(deb);
  const field = (name: string) => {
    const value = new RegExp(`^${name}: (\\S+)$`, "m").exec(control)?.[1];
    if (value === undefined) throw new Error(`${deb} has no ${name}: it is not a package of ours`);
    return value;
  };
  return { control, name: field("Package"), version: field("Version"), architecture: field("Architecture") };
}

function poolFile(deb: string, controlOf: ControlOf): string {
  const { name, version, architecture } = fieldsOf(deb, controlOf);
  return `pool/main/${name}/${name}_${version}_${architecture}.deb`;
}

/** Throws if the pool has this package and version with other contents, which machines and caches would keep. */
function refuseOther(deb: string, pooled: string): void {
  if (!existsSync(pooled) || readFileSync(pooled).equals(readFileSync(deb))) return;
  throw new Error(
    `${basename(pooled)} is published with other contents: give this one another version (npm version), or remove the published file if no machine has installed it`,
  );
}

function poolOf(folder: string, controlOf: ControlOf): PooledPackage[] {
  return readdirSync(join(folder, "pool"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".deb"))
    .sort()
    .map((path) => {
      const file = `pool/${path}`;
      return { ...fieldsOf(join(folder, file), controlOf), file, ...sumOf(readFileSync(join(folder, file))) };
    });
}

function writeIndexes(suite: string, pool: readonly PooledPackage[]): IndexFile[] {
  return ARCHITECTURES.flatMap((architecture) => {
    const folder = `main/binary-${architecture}`;
    const plain = Buffer.from(packagesIndex(pool, architecture));
    return [
      writeIndex(suite, folder, "Packages", plain),
      writeIndex(suite, folder, "Packages.gz", gzipSync(plain, { level: 9 })),
    ];
  });
}

function writeIndex(suite: string, folder: string, name: string, contents: Buffer): IndexFile {
  const sums = sumOf(contents);
  const byHash = join(suite, folder, "by-hash/SHA256");
  mkdirSync(byHash, { recursive: true });
  replaceFile(join(byHash, sums.sha256), contents);
  replaceFile(join(suite, folder, name), contents);
  return { path: `${folder}/${name}`, ...sums };
}

interface Sum {
  bytes: number;
  sha256: string;
}

function sumOf(contents: Buffer): Sum {
  return { bytes: contents.length, sha256: createHash("sha256").update(contents).digest("hex") };
}

/** A package file in the pool that apt can install. */
interface PooledPackage extends ReturnType<typeof fieldsOf>, Sum {
  /** The path of the package file, from the repository's root. */
  file: string;
}

interface IndexFile extends Sum {
  /** The path of the index, from the suite's folder: main/binary-amd64/Packages. */
  path: string;
}

/** The architectures with an index. All but amd64 and arm64 use the package of architecture `all`. */
const ARCHITECTURES = ["amd64", "arm64", "armhf", "i386", "ppc64el", "riscv64", "s390x"] as const;

/** The suites. `stable` has releases only; `testing` also has release candidates. */
const SUITES = ["stable", "testing"] as const;

function packagesOf(
  suite: (typeof SUITES)[number],
  pool: readonly PooledPackage[],
): readonly PooledPackage[] {
  return suite === "stable" ? pool.filter(({ version }) => !version.includes("~")) : pool;
}

/**
 * Returns the package index of one architecture. apt uses the first of two packages with one name and version.
 * Therefore a package for all architectures is listed only if this architecture has no package of that version.
 */
function packagesIndex(pool: readonly PooledPackage[], architecture: string): string {
  const own = pool.filter((each) => each.architecture === architecture);
  const isOwn = (it: PooledPackage) =>
    own.some(({ name, version }) => name === it.name && version === it.version);
  const forAll = pool.filter((each) => each.architecture === "all" && !isOwn(each));
  return [...own, ...forAll]
    .sort((a, b) => (a.file < b.file ? -1 : 1))
    .map(
      ({ control, file, bytes, sha256 }) =>
        `${control.trimEnd()}\nFilename: ${file}\nSize: ${bytes}\nSHA256: ${sha256}\n`,
    )
    .join("\n");
}

interface ReleaseContents {
  suite: string;
  date: Date;
  indexes: readonly IndexFile[];
}

/** Returns the text of a Release file. Acquire-By-Hash lets clients of the previous Release find its indexes. */
function releaseFile({ suite, date, indexes }: ReleaseContents): string {
  const sums = indexes.map(({ sha256, bytes, path }) => ` ${sha256} ${bytes} ${path}\n`).join("");
  return `Origin: rollcall
Label: rollcall
Suite: ${suite}
Codename: ${suite}
Date: ${date.toUTCString().replace("GMT", "UTC")}
Architectures: ${ARCHITECTURES.join(" ")}
Components: main
No-Support-for-Architecture-all: Packages
Acquire-By-Hash: yes
Description: rollcall's shim and command line
SHA256:
${sums}`;
}
