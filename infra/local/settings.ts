// What a start is given (flags, folders, running parts), and what it leaves in the state folder for the next one: ports and
// the Worker's secrets, which are random.
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
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

/** The lock of a start in progress, and what it is made from; see node-shim/identity/lock.ts. */
const isLock = (name: string) => name === "lock" || name.startsWith("lock.");
/** `npm run deploy` writes generated files into the default folder as well (infra/deploy/wrangler-configuration.ts). They stay. */
const DEPLOYMENTS = "deploy";
/** All that a start writes into the folder; --fresh removes it. */
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

/** Reads the (locked) folder's state, or begins a new one. `fresh` empties the folder first, if it is one of ours. */
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
  if (!parsed.success) throw new Error(`${path} is damaged: begin anew with --fresh`);
  return parsed.data;
}

/** Removes only what a start has written: another program's folder may have a state.json as well. */
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export interface StartFlags {
  state: string;
  fresh?: boolean;
  kubeconfig?: string;
  /** Changes a cluster of the user's own without asking. */
  yes?: boolean;
  /** Removes from that cluster what a start has put there, and starts nothing. */
  remove?: boolean;
  config?: string;
  nodes: number;
  /** The shim's --transport, of this machine and of the simulated ones. */
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
