// Tests that a start refuses more machines than its limit of open files allows, before it starts or writes anything.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";

const PROGRAM = join(import.meta.dirname, "../../../../infra/local/start.ts");

it("500 machines with a limit of 1,024 files → refused with the possible number, nothing is written", () => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-files-"));
  const state = join(folder, "state");
  try {
    const command = `ulimit -n 1024; exec "$0" "${PROGRAM}" --nodes 500 --state "${state}"`;
    const { status, stderr } = spawnSync("sh", ["-c", command, process.execPath], { encoding: "utf8" });
    expect(stderr).toContain("npm start: workerd may have 1024 files open here (ulimit -n)");
    expect(stderr).toContain("enough for --nodes 132");
    expect(status).toBe(1);
    expect(existsSync(state)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
