// Tests which conditions a new process of the shim restores.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, test } from "vitest";
import { problemStore } from "../../../../node-shim/sources/problems/problem-store.ts";
import { temporaryFolder } from "../../base/temporary-folder.ts";

let temporary: { path: string; remove: () => void };
beforeEach(() => (temporary = temporaryFolder()));
afterEach(() => temporary.remove());

const CONDITION = {
  status: "True",
  reason: "DockerHung",
  message: "docker:7",
  agedMs: 1000,
  mark: "a.1",
  subjects: { sda: { reason: "DockerHung", message: "docker:7" } },
} as const;
const MONITORS = { "/etc/npd/kernel.json": { throughMs: 5, conditions: { KernelDeadlock: CONDITION } } };

function storeOf(bootID: string, wallMs: number, path = temporary.path) {
  let resolve: (message: string) => void = () => {};
  const warned = new Promise<string>((done) => (resolve = done));
  return { ...problemStore(path, bootID, () => wallMs, resolve), warned };
}

/** Writes, and waits until the file has it. */
async function stored(bootID: string, wallMs: number): Promise<void> {
  storeOf(bootID, wallMs).write(MONITORS);
  await expect.poll(() => storeOf(bootID, wallMs).read().size).toBe(1);
}

it("a later process of the same boot → the same conditions, older by the time between", async () => {
  await stored("boot-1", 10_000);
  expect(Object.fromEntries(storeOf("boot-1", 12_000).read())).toEqual({
    "/etc/npd/kernel.json": { throughMs: 5, conditions: { KernelDeadlock: { ...CONDITION, agedMs: 3000 } } },
  });
});

it("the next boot → none", async () => {
  await stored("boot-1", 10_000);
  expect(storeOf("boot-2", 12_000).read().size).toBe(0);
});

test.each(["", "{", "{}"])("a file with %j → none", (text) => {
  writeFileSync(join(temporary.path, "problems.json"), text, { mode: 0o600 });
  expect(storeOf("boot-1", 0).read().size).toBe(0);
});

it("a folder that is missing → a warning", async () => {
  const { write, warned } = storeOf("boot-1", 0, join(temporary.path, "none"));
  write(MONITORS);
  expect(await warned).toContain("cannot be written (ENOENT)");
});
