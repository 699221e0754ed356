// Tests a pipe without a writer, in the place of a volume's file. Node.js cannot make a pipe; mkfifo does.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { volumeScanner } from "../../../../../node-shim/sources/kernel/volumes.ts";
import { temporaryFolder } from "../../../../node-shim/base/temporary-folder.ts";

test("a pipe → left out at once", async () => {
  const folder = temporaryFolder();
  onTestFinished(folder.remove);
  const path = join(folder.path, "plugins/kubernetes.io/csi/d/pipe/vol_data.json");
  mkdirSync(dirname(path), { recursive: true });
  execFileSync("mkfifo", [path]);
  const said: string[] = [];
  const scan = volumeScanner(folder.path, (_, message) => void said.push(message), 60_000);
  expect(await scan()).toEqual({ synced: true, inUse: [] });
  expect(said).toEqual([expect.stringMatching(/left out: it is not a file$/)]);
});
