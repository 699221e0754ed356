// Gives access to the recorded machines of fixtures/, unchanged or with changed files.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

export type Machine = "vm" | "numa-server" | "arm-board" | "ipv6-only";

/** Returns the root folder of a recorded machine. */
export function rootOf(machine: Machine): string {
  return join(import.meta.dirname, "fixtures", machine);
}

/** Copies a recorded machine for one test, with other contents of some files. null removes a file or folder. */
export function rootWith(machine: Machine, changes: Record<string, string | null>): string {
  const root = mkdtempSync(join(tmpdir(), "rollcall-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  cpSync(rootOf(machine), root, { recursive: true });
  for (const [path, text] of Object.entries(changes)) {
    rmSync(join(root, path), { recursive: true, force: true });
    if (text === null) continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}
