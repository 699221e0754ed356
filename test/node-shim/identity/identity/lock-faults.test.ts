// Tests the state folder's lock on a file system that refuses, and while another process acts between two steps.
import fs, { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { lockFolder } from "../../../../node-shim/identity/lock.ts";
import { temporaryFolder } from "../../base/temporary-folder.ts";

type Step = "linkSync" | "renameSync" | "unlinkSync";
const real = { linkSync: fs.linkSync, renameSync: fs.renameSync, unlinkSync: fs.unlinkSync };

/** Calls `hook` before each call of a function of node:fs, until the test ends. No call follows an error of `hook`. */
function before(step: Step, hook: () => void): void {
  const call = (...args: unknown[]) => {
    hook();
    (real[step] as (...args: unknown[]) => void)(...args);
  };
  Object.assign(fs, { [step]: call });
  syncBuiltinESMExports();
}
function restore(): void {
  Object.assign(fs, real);
  syncBuiltinESMExports();
}
const failing = (code: string) => () => {
  throw Object.assign(new Error(code), { code });
};

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => {
  restore();
  folder.remove();
});
const lock = () => join(folder.path, "lock");
const ENDED = "4194305 77";
const held = (by: string) => writeFileSync(lock(), by, { mode: 0o600 });
/** Returns the text of a lock that this process holds, which is alive. */
function living(): string {
  const { release } = lockFolder(folder.path);
  const text = readFileSync(lock(), "utf8");
  release();
  return text;
}
/** Returns this process's open files in the folder, and the folder itself if it is open. */
const openFiles = () =>
  readdirSync("/proc/self/fd")
    .map((descriptor) => {
      try {
        return fs.readlinkSync(`/proc/self/fd/${descriptor}`);
      } catch {
        return "";
      }
    })
    .filter((path) => path.startsWith(folder.path));

describe("a file system that cannot be written", () => {
  test.each([
    ["ENOSPC", "free some space there"],
    ["EDQUOT", "free some space there"],
    ["EROFS", "run as a user who may write there"],
    ["EACCES", "run as a user who may write there"],
  ])("%s → an error that says: %s", (code, remedy) => {
    before("linkSync", failing(code));
    expect(() => lockFolder(folder.path)).toThrow(
      expect.objectContaining({
        message: `${folder.path} cannot be used (${code}): pass another --state, or ${remedy}`,
        cause: expect.objectContaining({ code }) as Error,
      }),
    );
    expect([readdirSync(folder.path), openFiles()]).toEqual([[], []]);
  });

  it("and the shim may run without a lock → runs, with the code; there is nothing to release", () => {
    before("linkSync", failing("EROFS"));
    const codes: string[] = [];
    const { release } = lockFolder(folder.path, (code) => codes.push(code));
    release();
    expect([codes, openFiles()]).toEqual([["EROFS"], []]);
  });

  test.each([
    ["an ended process → runs", ENDED, ["EROFS"]],
    ["a living process → does not run", null, []],
  ])("and the shim may run without a lock; the present lock is of %s", (_, holder, expected) => {
    held(holder ?? living());
    before("linkSync", failing("EROFS"));
    const codes: string[] = [];
    const run = () => void lockFolder(folder.path, (code) => codes.push(code));
    if (holder === null) expect(run).toThrow(`in use by process ${process.pid}`);
    else run();
    // A shim without a lock keeps the folder open, which shows other shims that it uses the folder.
    expect([codes, openFiles()]).toEqual([expected, holder === null ? [] : [folder.path]]);
  });

  it("another fault, where the shim may run without a lock → an error", () => {
    before("linkSync", failing("EACCES"));
    const codes: string[] = [];
    expect(() => lockFolder(folder.path, (code) => codes.push(code))).toThrow("cannot be used (EACCES)");
    expect(codes).toEqual([]);
  });

  test.each([
    ["EROFS", "the next process takes the lock over"],
    ["EACCES", "an error"],
  ])("%s at the release → %s, and the folder is closed", (code) => {
    const { release } = lockFolder(folder.path);
    before("unlinkSync", failing(code));
    if (code === "EACCES") expect(release).toThrow(code);
    else release();
    expect([existsSync(lock()), openFiles()]).toEqual([true, []]);
  });
});

describe("an ended process's lock, and another process", () => {
  it("takes it over first → in use, and that process's lock stays", () => {
    const other = living();
    held(ENDED);
    before("renameSync", () => {
      restore();
      held(other);
    });
    expect(() => lockFolder(folder.path)).toThrow(`in use by process ${process.pid}`);
    expect([readFileSync(lock(), "utf8"), readdirSync(folder.path)]).toEqual([other, ["lock"]]);
  });

  it("removes it first → taken", () => {
    held(ENDED);
    before("renameSync", () => rmSync(lock(), { force: true }));
    const { release } = lockFolder(folder.path);
    release();
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test.each([
    [2, "taken", true],
    [3, "an error that says what to do", false],
  ])("leaves another such lock %i times → %s", (times, _, isTaken) => {
    let left = times;
    // An attempt links once. Each attempt finds a lock of an ended process.
    before("linkSync", () => {
      if (left-- > 0) held(ENDED);
    });
    if (isTaken) lockFolder(folder.path).release();
    else
      expect(() => lockFolder(folder.path)).toThrow(
        `${lock()} cannot be taken: remove it if nothing uses ${folder.path}`,
      );
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it("cannot be removed → an error", () => {
    held(ENDED);
    before("renameSync", failing("EACCES"));
    expect(() => lockFolder(folder.path)).toThrow("cannot be used (EACCES)");
  });
});
