// Finds the service that is installed here, of a package or of install-service, and with what it runs. Changes nothing.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../base/fault.ts";
import { environmentIn, runArguments, serviceOf, UNIT_NAME } from "./unit.ts";

export interface InstalledService {
  /** The files that say how it runs, first the unit's. */
  files: string[];
  /** The flags of its `run`. */
  flags: string[];
  /** What its environment adds to that of any service. */
  environment: ReadonlyMap<string, string>;
}

/** The first that has a file of a name decides, as for systemd. */
const FOLDERS = [
  "etc/systemd/system",
  "run/systemd/system",
  "usr/local/lib/systemd/system",
  "usr/lib/systemd/system",
  "lib/systemd/system",
];

/** null: there is none that runs `node-shim run`. Throws with what to do where this user may not read its files. */
export function installedService(root: string): InstalledService | null {
  const unit = FOLDERS.map((folder) => join(root, folder, UNIT_NAME)).flatMap((path) => fileAt(path) ?? []);
  if (unit[0] === undefined) return null;
  const units = [unit[0], ...dropIns(root)];
  const { execStart, environment: set, environmentFiles } = serviceOf(units.map(({ text }) => text));
  const files = environmentFiles.flatMap((path) => fileAt(join(root, path)) ?? []);
  const environment = new Map([...set, ...files.flatMap(({ text }) => environmentIn(text))]);
  const flags = runArguments(execStart, environment);
  if (flags === undefined) return null;
  return { files: [...units, ...files].map(({ path }) => path), flags, environment };
}

interface TextFile {
  path: string;
  text: string;
}

/** What `systemctl edit` and administrators have added, by name. */
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

/** null: not there. */
function orNull<T>(read: () => T, path: string): T | null {
  try {
    return read();
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    if (code === "EACCES" || code === "EPERM")
      throw new Error(`${path}, which the service reads, is not this user's to read: use sudo`, {
        cause: error,
      });
    throw new Error(`${path}, which the service reads, cannot be read (${code})`, { cause: error });
  }
}

// The service's environment file, beside the variables of the shell that installs the service: systemd passes none on.

const ENVIRONMENT_FILE = "etc/rollcall/node-shim.env";
/** What decides whether the Worker can be reached. */
const VARIABLES = ["HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"];

/** What to do for the service to have what this shell has, in one line; null: it has. No value is shown. */
export function missingVariables(root: string, environment: NodeJS.ProcessEnv): string | null {
  const set = variableNames(join(root, ENVIRONMENT_FILE));
  const missing = VARIABLES.flatMap((name) => {
    const here = [name, name.toLowerCase()].find((spelling) => environment[spelling]);
    return here === undefined || set.has(name) ? [] : [here];
  });
  if (missing.length === 0) return null;
  return `the service does not have ${missing.join(", ")} of this shell: write it into /${ENVIRONMENT_FILE} (mode 0600), then systemctl restart ${UNIT_NAME}`;
}

/** In upper case. */
function variableNames(path: string): Set<string> {
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch {
    // There is none, or it is not this user's to read.
  }
  return new Set(environmentIn(text).map(([name]) => name.toUpperCase()));
}
