// The etcd of the breakable server, which a test can back up and restore.
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ServerInTurn } from "./servers.ts";

export interface Storage {
  /** Copies its data for `restore`. */
  backUp: () => void;
  /** Makes this number of writes that concern no client. */
  age: (writes: number) => Promise<void>;
  /** Starts both programs again with the backup. */
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
      // Files that a killed etcd would leave.
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
