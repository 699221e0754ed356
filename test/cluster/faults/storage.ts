// The etcd of a real apiserver, to which a test can do what befalls one: compacted, and restored from a backup.
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isReady, type RealApiserver, startProgram } from "../../../infra/local/real-apiserver.ts";
import { eventually, isRunning } from "../../e2e/local-cluster.ts";

/** The apiserver's etcd. */
export interface Storage {
  /** Older versions of objects can no longer be read, nor watched from once the apiserver has started anew. */
  compact: () => Promise<void>;
  /** Keeps what it holds, for `restore`. */
  backUp: () => Promise<void>;
  /** Moves its version ahead by so many writes that concern nobody. */
  age: (writes: number) => Promise<void>;
  /** Kills both programs; both start again on their ports, with the backup if there is to be one. */
  restart: (from: "as it is" | "backup") => Promise<void>;
  /** Ends both programs. */
  kill: () => Promise<void>;
}

/** `folder`: of the apiserver. */
export function storageOf(apiserver: RealApiserver, folder: string): Storage {
  const { commands, url } = apiserver;
  let pids = apiserver.pids;
  const data = join(folder, "etcd");
  const backup = join(folder, "backup/etcd");
  const etcdUrl = commands.etcd.args
    .find((flag) => flag.startsWith("--listen-client-urls="))
    ?.split("=")[1] as string;
  const etcd = async (path: string, body: object) => {
    const answer = await fetch(`${etcdUrl}/v3/kv/${path}`, { method: "POST", body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`etcd answered ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { header: { revision: string } };
  };
  const key = Buffer.from("/nobodys").toString("base64");
  // The apiserver first: without etcd it would not end by itself.
  const kill = async () => {
    for (const pid of [pids.kubeApiserver, pids.etcd]) process.kill(pid, "SIGKILL");
    await eventually(async () => !isRunning(pids.kubeApiserver) && !isRunning(pids.etcd));
  };
  return {
    kill,
    async compact() {
      const { header } = await etcd("range", { key });
      await etcd("compaction", { revision: header.revision, physical: true });
    },
    async backUp() {
      // What a killed etcd would leave.
      process.kill(pids.etcd, "SIGSTOP");
      cpSync(data, backup, { recursive: true });
      process.kill(pids.etcd, "SIGCONT");
    },
    async age(writes) {
      await Promise.all(Array.from({ length: writes }, () => etcd("put", { key, value: key })));
    },
    async restart(from) {
      await kill();
      if (from === "backup") {
        rmSync(data, { recursive: true });
        cpSync(backup, data, { recursive: true });
      }
      const etcdAgain = startProgram(commands.etcd, join(folder, "etcd.log"));
      const apiserverAgain = startProgram(commands.kubeApiserver, join(folder, "kube-apiserver.log"));
      pids = { etcd: etcdAgain.pid as number, kubeApiserver: apiserverAgain.pid as number };
      await eventually(() => isReady(url));
    },
  };
}
