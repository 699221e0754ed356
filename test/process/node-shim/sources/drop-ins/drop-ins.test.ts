// Tests drop-ins that are real programs. test/process/node-shim/base/child.test.ts and
// test/node-shim/sources/drop-ins test all other ends of a program and their results.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runChild } from "../../../../../node-shim/base/child.ts";
import { dropInFolder } from "../../../../../node-shim/sources/drop-ins/drop-ins.ts";
import { type TemporaryFolder, temporaryFolder } from "../../../../node-shim/base/temporary-folder.ts";

let temporary: TemporaryFolder;
beforeEach(() => {
  temporary = temporaryFolder();
});
afterEach(() => temporary.remove());

it("in a folder with a relative path: a program → its output; without its interpreter → the error", async () => {
  const folder = join(temporary.path, "facts.d");
  mkdirSync(folder, { mode: 0o755 });
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  };
  write("10-rack", `#!/bin/sh\necho '{"labels":{"example.com/rack":"b7"}}'\n`);
  write("20-bad", "#!/no/such\n");
  const read = dropInFolder({
    folder: relative(process.cwd(), folder),
    run: runChild,
    deadlineMs: 60_000,
    uid: process.getuid?.() ?? 0,
    nowMs: () => 0,
    wallMs: () => 0,
  });
  expect((await read(true)).dropIns).toMatchObject({
    labels: { "example.com/rack": "b7" },
    failures: [{ name: "20-bad", error: expect.stringContaining("ENOENT") as string }],
  });
});
