// Starts a real etcd and kube-apiserver, and waits until they are ready.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, monotonicMs, pause } from "../../../node-shim/base/clock.ts";
import {
  type Command,
  isReady,
  type PreparedApiserver,
  prepareRealApiserver,
  type RealApiserverOptions,
} from "../../../infra/local/real-apiserver.ts";

export interface RealApiserver extends Pick<PreparedApiserver, "url" | "caFile" | "commands"> {
  /** The bearer token of a member of system:masters. */
  adminToken: string;
  pids: { etcd: number; kubeApiserver: number };
  /** Stops kube-apiserver, then etcd. The folder stays. */
  stop: () => Promise<void>;
}

const stopTimeoutMs = 5_000;
const pollIntervalMs = 100;
const readyTimeoutMs = 90_000;

/** Starts a program. Its output is appended to the log file. */
export function startProgram(command: Pick<Command, "program" | "args">, logFile: string): ChildProcess {
  const log = openSync(logFile, "a");
  const child = spawn(command.program, command.args, { stdio: ["ignore", log, log] });
  closeSync(log);
  return child;
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Stops a process with SIGTERM, and with SIGKILL if it still runs a few seconds later. */
export async function stopProgram(child: ChildProcess): Promise<void> {
  if (hasEnded(child) || child.pid === undefined) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const cancel = after(stopTimeoutMs, () => child.kill("SIGKILL"));
  await ended;
  cancel();
}

async function waitUntilReady(url: string, children: ChildProcess[], timeoutMs: number): Promise<void> {
  const deadline = monotonicMs() + timeoutMs;
  while (!(await isReady(url))) {
    if (children.some(hasEnded)) throw new Error("etcd or kube-apiserver ended before it was ready");
    if (monotonicMs() > deadline) throw new Error(`kube-apiserver is not ready after ${timeoutMs} ms`);
    await pause(pollIntervalMs);
  }
}

/**
 * Starts etcd and kube-apiserver, and returns once /readyz answers ok. If a process ends early or the time is over,
 * stops both processes and throws. Their output is in `dir`/etcd.log and `dir`/kube-apiserver.log.
 */
export async function startRealApiserver(options: RealApiserverOptions): Promise<RealApiserver> {
  const { url, caFile, tokenFile, commands } = await prepareRealApiserver(options);
  const etcd = startProgram(commands.etcd, join(options.dir, "etcd.log"));
  const kubeApiserver = startProgram(commands.kubeApiserver, join(options.dir, "kube-apiserver.log"));
  const failures: Error[] = [];
  for (const child of [etcd, kubeApiserver]) child.on("error", (error) => failures.push(error));
  const stop = async () => {
    await stopProgram(kubeApiserver);
    await stopProgram(etcd);
  };
  try {
    await waitUntilReady(url, [etcd, kubeApiserver], readyTimeoutMs);
    if (etcd.pid === undefined || kubeApiserver.pid === undefined)
      throw new Error("a process that answers has a pid");
  } catch (error) {
    await stop();
    throw new Error(`${failures[0]?.message ?? String(error)}; see the logs in ${options.dir}`, {
      cause: error,
    });
  }
  return {
    url,
    caFile,
    adminToken: readFileSync(tokenFile, "utf8").trim(),
    pids: { etcd: etcd.pid, kubeApiserver: kubeApiserver.pid },
    commands,
    stop,
  };
}
