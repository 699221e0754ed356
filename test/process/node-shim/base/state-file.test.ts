// Tests a pipe that no process writes to, in the place of each file of the state folder. Node.js cannot make a
// pipe; mkfifo does.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { whenAnswering } from "../../../../node-shim/base/state-file.ts";
import { loadNextKey, loadOrMakeKey, storedEnrolment } from "../../../../node-shim/identity/identity.ts";
import { lockFolder } from "../../../../node-shim/identity/lock.ts";
import { readRecord } from "../../../../node-shim/sources/devices/manager.ts";
import { type TemporaryFolder, temporaryFolder } from "../../../node-shim/base/temporary-folder.ts";

let folder: TemporaryFolder;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

test("a pipe → refused at once", async () => {
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
  // The wait for the folder itself waits for no writer.
  await whenAnswering(state, () => undefined);
  for (const [file, use] of Object.entries(uses))
    await expect(async () => use(), file).rejects.toThrow(`${file} is not a file`);
});
