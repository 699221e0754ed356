// Finds the installed service of a package or of install-service, with the service's flags and environment.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../base/fault.ts";
import { withTrustedFile } from "../base/ownership.ts";
import { environmentIn, runArguments, serviceOf, UNIT_NAME } from "./unit.ts";

export interface InstalledService {
  /** The paths of the files that configure the service. The first is the unit. */
  files: string[];
  /** The flags of the service's `node-shim run`. */
  flags: string[];
  environment: ReadonlyMap<string, string>;
}

/** The folders with units. As in systemd, the first folder that has a file wins. */
const FOLDERS = [
  "etc/systemd/system",
  "run/systemd/system",
  "usr/local/lib/systemd/system",
  "usr/lib/systemd/system",
  "lib/systemd/system",
];

/** Reads the installed service; null if none runs `node-shim run`. Throws, with the remedy, if reading is forbidden. */
export function installedService(root: string): InstalledService | null {
  const unit = FOLDERS.map((folder) => join(root, folder, UNIT_NAME)).flatMap((path) => fileAt(path) ?? []);
  if (unit[0] === undefined) return null;
  const units = [unit[0], ...dropIns(root)];
  const { execStart, environment: set, environmentFiles } = serviceOf(units.map(({ text }) => text));
  const files = environmentFiles.flatMap((path) => trustedFileAt(join(root, path)) ?? []);
  const environment = new Map([...set, ...files.flatMap(({ text }) => environmentIn(text))]);
  const flags = runArguments(execStart, environment);
  if (flags === undefined) return null;
  return { files: [...units, ...files].map(({ path }) => path), flags, environment };
}

interface TextFile {
  path: string;
  text: string;
}

/** Reads the unit's drop-ins, from `systemctl edit` and from administrators, sorted by name. */
function dropIns(root: string): TextFile[] {
  const byName = new Map<string, string>();
  for (const folder of FOLDERS) {
    const path = join(root, folder, `${UNIT_NAME}.d`);
    for (const name of namesIn(path))
      if (name.endsWith(".conf") && !byName.has(name)) byName.set(name, join(path, name));
  }
  const sorted = [...byName].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sorted.flatMap(([, path]) => fileAt(path) ?? []);
}

function namesIn(folder: string): string[] {
  return orNull(() => readdirSync(folder), folder) ?? [];
}

function fileAt(path: string): TextFile | null {
  const text = orNull(() => readFileSync(path, "utf8"), path);
  return text === null ? null : { path, text };
}

/** Reads a file that the unit names. Throws if another user can have written the file. */
function trustedFileAt(path: string): TextFile | null {
  const text = orNull(() => withTrustedFile(path, (descriptor) => readFileSync(descriptor, "utf8")), path);
  if (text?.ok === false) throw new Error(`${path}, which the service reads, is not trusted: ${text.error}`);
  return text && { path, text: text.value };
}

/** Returns the result of `read`; null if its file or folder is missing. */
function orNull<T>(read: () => T, path: string): T | null {
  try {
    return read();
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    if (code === "EACCES" || code === "EPERM")
      throw new Error(`this user may not read ${path}, which the service reads: use sudo`, {
        cause: error,
      });
    throw new Error(`${path}, which the service reads, cannot be read (${code})`, { cause: error });
  }
}

const ENVIRONMENT_FILE = "etc/rollcall/node-shim.env";
/** The environment variables that the connection to the Worker depends on. */
const VARIABLES = ["HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"];

/** Names, in one line, the variables that this shell has and the service lacks, without values; null if none. */
export function missingVariables(root: string, environment: NodeJS.ProcessEnv): string | null {
  const set = variableNames(join(root, ENVIRONMENT_FILE));
  const missing = VARIABLES.flatMap((name) => {
    const here = [name, name.toLowerCase()].find((spelling) => environment[spelling]);
    return here === undefined || set.has(name) ? [] : [here];
  });
  if (missing.length === 0) return null;
  return `the service does not have ${missing.join(", ")} of this shell: write it into /${ENVIRONMENT_FILE} (mode 0600), then systemctl restart ${UNIT_NAME}`;
}

/** Names, in one line, the `flags` that the service of a package lacks, and where to add them; null if it has all. */
export function missingFlags(root: string, flags: readonly string[]): string | null {
  const has = installedService(root)?.flags ?? [];
  const missing = flags.filter((flag) => {
    const [name = "", value = ""] = flag.split(/=(.*)/s);
    return !has.includes(flag) && !has.some((word, at) => word === name && has[at + 1] === value);
  });
  if (missing.length === 0) return null;
  return `the service does not have ${missing.join(" ")}: add it to NODE_SHIM_FLAGS= in /${ENVIRONMENT_FILE}, then systemctl restart ${UNIT_NAME}`;
}

/** Returns the names of the variables that an environment file sets, in upper case. */
function variableNames(path: string): Set<string> {
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch {
    // A missing or unreadable file counts as a file without variables.
  }
  return new Set(environmentIn(text).map(([name]) => name.toUpperCase()));
}
