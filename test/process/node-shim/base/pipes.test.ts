// Pipes in the place of files, which nobody writes to: the shim waits for none. Node.js makes no pipe: mkfifo does.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadOrMakeKey, storedEnrolment } from "../../../../node-shim/identity/identity.ts";
import { lockFolder } from "../../../../node-shim/identity/lock.ts";
import { loadNextKey } from "../../../../node-shim/identity/next-key.ts";
import { readRecord } from "../../../../node-shim/sources/devices/record.ts";
import { volumeScanner } from "../../../../node-shim/sources/kernel/volumes.ts";
import { type TemporaryFolder, temporaryFolder } from "../../../node-shim/base/temporary-folder.ts";

let folder: TemporaryFolder;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

test("for a file of the state folder → refused", async () => {
  const state = join(folder.path, "state");
  mkdirSync(state, { mode: 0o700 });
  const uses: Record<string, () => unknown> = {
    "key.json": () => loadOrMakeKey(state),
    "enrolment.json": () => storedEnrolment(state),
    "next.json": () => loadNextKey(state),
    "devices.json": () => readRecord(state, () => undefined),
    lock: () => lockFolder(state),
  };
  execFileSync(
    "mkfifo",
    Object.keys(uses).map((file) => join(state, file)),
  );
  for (const [file, use] of Object.entries(uses))
    await expect(async () => use(), file).rejects.toThrow(`${file} is not a file`);
});

test("for a volume's file → left out", async () => {
  const path = join(folder.path, "plugins/kubernetes.io/csi/d/pipe/vol_data.json");
  mkdirSync(dirname(path), { recursive: true });
  execFileSync("mkfifo", [path]);
  const said: string[] = [];
  const scan = volumeScanner(folder.path, (_, message) => void said.push(message), 60_000);
  expect(await scan()).toEqual({ synced: true, inUse: [] });
  expect(said).toEqual([expect.stringMatching(/left out: it is not a file$/)]);
});
