// Tests drop-ins that are real programs. test/process/node-shim/base/child.test.ts and
// test/node-shim/sources/drop-ins test all other ends of a program and their results.
import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runChild } from "../../../../../node-shim/base/child.ts";
import { dropInFolder } from "../../../../../node-shim/sources/drop-ins/drop-ins.ts";
import { success } from "../../../../../shared/result.ts";
import { type TemporaryFolder, temporaryFolder } from "../../../../node-shim/base/temporary-folder.ts";

let temporary: TemporaryFolder;
beforeEach(() => {
  temporary = temporaryFolder();
});
afterEach(() => temporary.remove());

/** Writes an executable program into a folder. */
function write(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, name), text);
  chmodSync(join(folder, name), 0o755);
}

it("in a folder with a relative path: a program → its output; without its interpreter → the error", async () => {
  const folder = join(temporary.path, "facts.d");
  mkdirSync(folder, { mode: 0o755 });
  write(folder, "10-rack", `#!/bin/sh\necho '{"labels":{"example.com/rack":"b7"}}'\n`);
  write(folder, "20-bad", "#!/no/such\n");
  const read = dropInFolder({
    folder: relative(process.cwd(), folder),
    run: runChild,
    deadlineMs: 60_000,
    nowMs: () => 0,
    wallMs: () => 0,
  });
  expect((await read(true)).dropIns).toMatchObject({
    labels: { "example.com/rack": "b7" },
    failures: [{ name: "20-bad", error: expect.stringContaining("ENOENT") as string }],
  });
});

it("the folder is swapped for a link between the check and a program's start → the programs of the checked folder run", async () => {
  const [folder, aside, other] = ["facts.d", "aside", "other"].map((name) => join(temporary.path, name)) as [
    string,
    string,
    string,
  ];
  for (const each of [folder, other]) mkdirSync(each, { mode: 0o755 });
  const own = `cat "$(dirname "$0")/labels"`;
  write(folder, "raid", `#!/bin/sh\n${own}\n`);
  write(folder, "labels", `{"labels":{"example.com/of":"checked"}}`);
  write(other, "raid", `#!/bin/sh\necho '{"labels":{"example.com/of":"swapped"}}'\n`);
  const read = dropInFolder({
    folder,
    run: (options) => {
      if (options.program !== "raid") return Promise.resolve(success("{}"));
      renameSync(folder, aside);
      symlinkSync(other, folder);
      return runChild(options);
    },
    deadlineMs: 60_000,
    nowMs: () => 0,
    wallMs: () => 0,
  });
  expect((await read(true)).dropIns).toMatchObject({ labels: { "example.com/of": "checked" }, failures: [] });
});
