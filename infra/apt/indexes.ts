// What apt reads of a repository: Packages, one for each architecture, and Release with their sums. Pure: texts from texts.
// https://wiki.debian.org/DebianRepository/Format

/** An installable file of the pool. */
export interface PooledPackage {
  /** The paragraph that dpkg-deb prints of it. */
  control: string;
  name: string;
  version: string;
  architecture: string;
  /** From the repository's root. */
  file: string;
  bytes: number;
  sha256: string;
}

export interface IndexFile {
  /** From the suite's folder: main/binary-amd64/Packages. */
  path: string;
  bytes: number;
  sha256: string;
}

/** amd64 and arm64 have packages of their own; the others take those of architecture all, and the machine's nodejs. */
export const ARCHITECTURES = ["amd64", "arm64", "armhf", "i386", "ppc64el", "riscv64", "s390x"] as const;

/** `stable` has releases alone, `testing` candidates as well. */
export const SUITES = ["stable", "testing"] as const;

export function packagesOf(
  suite: (typeof SUITES)[number],
  pool: readonly PooledPackage[],
): readonly PooledPackage[] {
  return suite === "stable" ? pool.filter(({ version }) => !version.includes("~")) : pool;
}

/**
 * Packages of one architecture. Of two packages with one name and version apt takes the one that is listed first: the
 * one for all architectures is listed where there is none for this one.
 */
export function packagesIndex(pool: readonly PooledPackage[], architecture: string): string {
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

export interface ReleaseContents {
  suite: string;
  date: Date;
  indexes: readonly IndexFile[];
}

/**
 * The file that is signed. By-Hash: a client that has read one Release finds the indexes that this one names, also while
 * the next is being uploaded.
 */
export function releaseFile({ suite, date, indexes }: ReleaseContents): string {
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
