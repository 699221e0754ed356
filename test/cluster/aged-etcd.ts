// Gives etcd a history before the apiserver starts: the first revisions are compacted, as in a real cluster.
// Contains no test.
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import {
  type Command,
  prepareRealApiserver,
  type RealApiserverOptions,
} from "../../infra/local/real-apiserver.ts";
import { startProgram, stopProgram } from "../infra/local/started-apiserver.ts";

const READY_WITHIN_MS = 90_000;
const POLL_MS = 50;

/** Returns the URL where etcd listens, such as http://127.0.0.1:2379. */
export function clientUrlOf({ args }: Command): string {
  const flag = "--listen-client-urls=";
  return args.find((arg) => arg.startsWith(flag))?.slice(flag.length) ?? "";
}

/**
 * Starts etcd, writes a few revisions, compacts them, and stops etcd. `started` receives the etcd process, which
 * has ended when the promise resolves.
 */
export async function ageEtcd(
  options: RealApiserverOptions,
  started: (etcd: ChildProcess) => void,
): Promise<void> {
  const { commands } = await prepareRealApiserver(options);
  const etcd = startProgram(commands.etcd, join(options.dir, "etcd.log"));
  started(etcd);
  const url = clientUrlOf(commands.etcd);
  const post = async (path: string, body: object) => {
    const response = await fetch(`${url}/v3/kv/${path}`, { method: "POST", body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`etcd ${path}: ${await response.text()}`);
  };
  const put = () => post("put", { key: btoa("earlier"), value: btoa("x") });
  try {
    await onceItAnswers(put);
    await put();
    await post("compaction", { revision: "3", physical: true });
  } finally {
    await stopProgram(etcd);
  }
}

async function onceItAnswers(ask: () => Promise<void>): Promise<void> {
  for (const deadline = performance.now() + READY_WITHIN_MS; ;) {
    try {
      return await ask();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await wait(POLL_MS);
  }
}
