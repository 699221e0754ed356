// Backs up and restores the etcd of the breakable server.
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ServerInTurn } from "./servers.ts";

export interface Storage {
  /** Copies etcd's data for `restore`. */
  backUp: () => void;
  /** Makes this number of writes to a key that no client reads, so that etcd's revision rises. */
  age: (writes: number) => Promise<void>;
  /** Stops kube-apiserver and etcd, and starts both with the data of the backup. */
  restore: () => Promise<void>;
}

export function storageOf(server: ServerInTurn): Storage {
  const { dir, etcdUrl, pids } = server;
  const [data, backup] = [join(dir, "etcd"), join(dir, "backup")];
  const etcd = async (path: string, body: object) => {
    const answer = await fetch(`${etcdUrl}/v3/kv/${path}`, { method: "POST", body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`etcd answered ${answer.status} ${await answer.text()}`);
  };
  const key = Buffer.from("/nobodys").toString("base64");
  return {
    backUp() {
      // etcd is paused during the copy: the backup has the files that a killed etcd would leave.
      process.kill(pids.etcd, "SIGSTOP");
      cpSync(data, backup, { recursive: true });
      process.kill(pids.etcd, "SIGCONT");
    },
    async age(writes) {
      await Promise.all(Array.from({ length: writes }, () => etcd("put", { key, value: key })));
    },
    restore: () =>
      server.restart(() => {
        rmSync(data, { recursive: true });
        cpSync(backup, data, { recursive: true });
      }),
  };
}
