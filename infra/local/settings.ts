// The settings of a start (flags, folders, running parts), and the state that it stores for the next one: ports and the
// Worker's random secrets.
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
  /** `id:base64url`: signs the machines' kids. */
  macKeys: z.string(),
});
type State = z.infer<typeof stateFile>;

const FILE = "state.json";

/** The lock of a running start, and its temporary files (node-shim/identity/lock.ts). */
const isLock = (name: string) => name === "lock" || name.startsWith("lock.");
/** The folder of `npm run deploy` in the default state folder (infra/deploy/wrangler-configuration.ts). It stays. */
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

/** Reads the state of the locked folder, or makes a new one. `fresh`: empties the folder first. */
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

/** Removes only files of a start: another program's folder may have a state.json too. */
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

/** The operator's secret, made at the first start. */
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
  /** Changes the user's own cluster without asking. */
  yes?: boolean;
  /** Removes the objects of earlier starts from that cluster, and starts nothing. */
  remove?: boolean;
  config?: string;
  nodes: number;
  /** --transport for the shim of this machine and for the simulated ones. */
  transport?: string;
  apiserverPort?: number;
  workerPort?: number;
}

export interface Place {
  /** The project's root. */
  root: string;
  /** The state folder. */
  folder: string;
  flags: StartFlags;
  state: State;
  parts: Parts;
  /** Prints a line about the progress. */
  progress: (message: string) => void;
  /** Asks the user; throws if the answer is no, or there is no terminal. */
  confirm: (consequence: string) => Promise<void>;
}
