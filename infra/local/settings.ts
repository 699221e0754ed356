// Defines a start's settings (flags, folders, parts), and the state for the next start: ports and the Worker's secrets.
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { parseJson } from "../../node-shim/base/state-file.ts";
import type { Parts } from "./parts.ts";

const stateFile = z.strictObject({
  rollcallState: z.literal(1),
  apiserverPort: z.optional(z.int()),
  workerPort: z.optional(z.int()),
  /** The key that signs the machines' kids, as `id:base64url`. */
  macKeys: z.string(),
});
type State = z.infer<typeof stateFile>;

const FILE = "state.json";

/** Returns true for a running start's lock file and the lock's temporary files (node-shim/identity/lock.ts). */
const isLock = (name: string) => name === "lock" || name.startsWith("lock.");
/** The folder of `npm run deploy` (infra/deploy/wrangler-configuration.ts), which --fresh does not remove. */
const DEPLOYMENTS = "deploy";
/** The files and folders that a start writes. --fresh removes them. */
const OURS = new Set([
  FILE,
  "admin-secret",
  "apiserver",
  "kube-apiserver",
  "kubeconfig",
  "logs",
  "shim",
  "simulated",
  "worker",
]);

/** Reads the state of the locked folder, or makes a new state. `fresh` empties the folder first. */
export function openState(folder: string, fresh: boolean): State {
  const path = join(folder, FILE);
  const entries = readdirSync(folder).filter((name) => !isLock(name) && name !== DEPLOYMENTS);
  if (entries.length > 0 && !existsSync(path)) {
    throw new Error(`${folder} holds other things than rollcall's state: pass another --state`);
  }
  if (fresh) empty(folder, entries);
  if (!existsSync(path)) {
    const state: State = { rollcallState: 1, macKeys: `1:${randomBytes(32).toString("base64url")}` };
    saveState(folder, state);
    return state;
  }
  const parsed = stateFile.safeParse(parseJson(readFileSync(path, "utf8")));
  if (!parsed.success) throw new Error(`${path} is damaged: start again with --fresh`);
  return parsed.data;
}

/** Empties the folder. Throws for a file that no start writes, because the folder may be another program's. */
function empty(folder: string, entries: string[]): void {
  const foreign = entries.find((name) => !OURS.has(name));
  if (foreign !== undefined) {
    throw new Error(
      `${folder} holds ${foreign}, which is not rollcall's: move it away, or pass another --state`,
    );
  }
  for (const entry of entries) rmSync(join(folder, entry), { recursive: true });
}

export function saveState(folder: string, state: State): void {
  writeFileSync(join(folder, FILE), `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
}

/** Returns the operator's secret and its hash. The first start makes the secret. */
export function adminSecret(folder: string): { secret: string; sha256: string } {
  const path = join(folder, "admin-secret");
  if (!existsSync(path)) writeFileSync(path, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600 });
  const secret = readFileSync(path, "utf8").trim();
  return { secret, sha256: createHash("sha256").update(secret).digest("base64url") };
}

export interface StartFlags {
  state: string;
  fresh?: boolean;
  kubeconfig?: string;
  /** true to change the user's own cluster without asking. */
  yes?: boolean;
  /** true to remove the objects of earlier starts from the user's cluster, and start nothing. */
  remove?: boolean;
  config?: string;
  /** The name of this machine's Node, instead of the host's name. */
  hostnameOverride?: string;
  nodes: number;
  /** The value of --transport, for the shim of this machine and for the simulated machines. */
  transport?: string;
  apiserverPort?: number;
  workerPort?: number;
}

export interface Place {
  /** The path of the project's root. */
  root: string;
  /** The path of the state folder. */
  folder: string;
  flags: StartFlags;
  state: State;
  parts: Parts;
  /** Prints a line about the progress. */
  progress: (message: string) => void;
  /** Asks the user for confirmation. Throws if the user refuses or no terminal exists. */
  confirm: (consequence: string) => Promise<void>;
}
