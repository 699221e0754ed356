// A real apiserver's storage that has had a life before: what it was then is compacted. No test of its own.
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import {
  prepareRealApiserver,
  type RealApiserverOptions,
  startProgram,
  stopProgram,
} from "../../infra/local/real-apiserver.ts";

const READY_WITHIN_MS = 90_000;
const POLL_MS = 50;

/** Writes a few revisions into etcd and compacts them. */
export async function ageEtcd(options: RealApiserverOptions): Promise<void> {
  const { commands } = await prepareRealApiserver(options);
  const etcd = startProgram(commands.etcd, join(options.dir, "etcd.log"));
  const flag = "--listen-client-urls=";
  const url = commands.etcd.args.find((arg) => arg.startsWith(flag))?.slice(flag.length);
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
