// Starts a Worker in workerd for one test file, and runs the operator's command line against it.
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { polledChanges } from "../infra/operator/polled-changes.ts";
import type { WorkerSettings } from "../../infra/local/workerd.ts";
import { runCommandLine } from "../../infra/operator/program.ts";
import { ROOT } from "./local-cluster.ts";
import { localWorker, randomSecret, sha256 } from "./local-worker.ts";
import { thisRun } from "./run-record.ts";

type Environment = Record<string, string | undefined>;

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}
export type Rollcall = (args: string[], environment?: Environment) => Promise<Ended>;

/** The address and the admin secret of a Worker, and the command line for it. */
export interface WorkerAccess {
  url: string;
  adminSecret: string;
  /**
   * Runs `npm run rollcall -- ARGS`. The environment names this Worker and its admin secret, unless the caller
   * passes others.
   */
  rollcall: Rollcall;
  /** Does the same as `rollcall` in a process of its own, which takes many times as long. */
  rollcallProcess: Rollcall;
}

export interface OwnWorker extends WorkerAccess {
  /**
   * Ends the Worker and starts it again. `killed` kills it, as a crash does. `meanwhile` gets the folder of the
   * stored objects while no Worker runs.
   */
  startAgain: (how: "deployed" | "killed", meanwhile?: (objects: string) => void) => Promise<void>;
  /**
   * Ends the Worker and starts another one, from the file `entry`, on the same stored objects. `startAgain` brings
   * the first Worker back.
   */
  startOther: (entry: string, meanwhile?: (objects: string) => void) => Promise<void>;
  /** Ends the Worker, deletes the storage of all objects, and starts it again. */
  loseAll: () => Promise<void>;
  stop: () => Promise<void>;
}

/** The apiserver that the Worker writes to. If a test gives none, no server listens at the Worker's KUBE_URL. */
export interface OwnCluster {
  kubeUrl: string;
  kubeCa: string | undefined;
  kubeToken: string;
}
const NO_CLUSTER: OwnCluster = {
  kubeUrl: "http://127.0.0.1:9",
  kubeCa: undefined,
  kubeToken: "a-token-of-no-cluster",
};

const OBJECTS = "worker/objects";

interface OwnChoice extends Pick<WorkerSettings, "entry" | "variables"> {
  /** Further origins that the Worker accepts: those of proxies in front of the Worker. */
  origins?: readonly string[];
}

/**
 * Starts a Worker whose files are all in `folder`. The last argument sets another entry module, other variables or
 * more origins.
 */
export async function startOwnWorker(
  folder: string,
  cluster: OwnCluster = NO_CLUSTER,
  { entry, variables, origins = [] }: OwnChoice = {},
): Promise<OwnWorker> {
  const adminSecret = randomSecret();
  const { url, deploy, kill, stop } = await localWorker(folder);
  const settings = {
    ...cluster,
    ...(entry !== undefined && { entry }),
    variables: { ORIGINS: [url, ...origins].join(" "), ...variables },
    macKeys: `1:${randomSecret()}`,
    adminSecretSha256: sha256(adminSecret),
  };
  await deploy(settings);
  return {
    ...workerAt(url, adminSecret),
    async startAgain(how, meanwhile) {
      if (how === "killed") await kill();
      await deploy(settings, () => meanwhile?.(join(folder, OBJECTS)));
    },
    startOther: (other, meanwhile) =>
      deploy({ ...settings, entry: other }, () => meanwhile?.(join(folder, OBJECTS))),
    loseAll: () => deploy(settings, () => rmSync(join(folder, OBJECTS), { recursive: true })),
    stop,
  };
}

/** Returns access to the Worker at this URL. */
export function workerAt(url: string, adminSecret: string): WorkerAccess {
  const command =
    (run: typeof inOwnProcess): Rollcall =>
    async (args, environment = {}) => {
      const set = { ROLLCALL_URL: url, ROLLCALL_ADMIN_SECRET: adminSecret, ...environment };
      const ended = await run(args, set);
      // These commands print a new join token or an operator's secret to stdout, so the log gets only stderr.
      const printed =
        args.includes("create") || args.includes("add") ? ended.stderr : ended.stdout + ended.stderr;
      thisRun().log(`rollcall ${args.join(" ")}`.slice(0, 100), printed);
      return ended;
    };
  return { url, adminSecret, rollcall: command(inThisProcess), rollcallProcess: command(inOwnProcess) };
}

/** Runs the operator's command line in this process, without a terminal. */
export async function inThisProcess(args: string[], environment: Environment): Promise<Ended> {
  const ended: Ended = { code: 0, stdout: "", stderr: "" };
  const played = {
    env: environment,
    stdout: { write: (text: string) => (ended.stdout += text) },
    stderr: { write: (text: string) => (ended.stderr += text) },
    set exitCode(code: number) {
      ended.code = code;
    },
  };
  const ask = () => Promise.reject(new Error("nobody can be asked"));
  await runCommandLine(args, {
    process: played,
    terminal: { isInteractive: false, ask },
    now: Date.now,
    pause,
    changesOf: () => polledChanges(pause),
  });
  return ended;
}

function inOwnProcess(args: string[], environment: Environment): Promise<Ended> {
  const child = spawn(process.execPath, ["infra/operator/main.ts", ...args], {
    cwd: ROOT,
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (chunk: Buffer) => (text[name] += chunk.toString()));
  return new Promise((done) => child.once("close", (code) => done({ code, ...text })));
}
