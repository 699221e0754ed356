// Tests the machine's stored identity, with another process on its folder and on a full disk.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { loadEnrolment } from "../../../../node-shim/identity/identity.ts";
import { lockFolder } from "../../../../node-shim/identity/lock.ts";
import { ROOT, type TemporaryFolder, temporaryFolder } from "../../../node-shim/base/temporary-folder.ts";

let folder: TemporaryFolder;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

/** Returns Node's arguments for a module that imports `names` from a file of identity/. */
const moduleOf = (names: string, file: string, code: string) => [
  "--input-type=module-typescript",
  "-e",
  `import { ${names} } from ${JSON.stringify(join(ROOT, "node-shim/identity", file))};\n${code}`,
];

it("an enrolment stored on a full disk → one line that says what to do, and no enrolment is stored", () => {
  const enrolment = { name: "edge-1", thumbprint: "T1", kid: "k" };
  const code = `try { storeEnrolment(process.argv[1], ${JSON.stringify(enrolment)}) } catch ({ message }) { console.log(message) }`;
  const node = [process.execPath, ...moduleOf("storeEnrolment", "identity.ts", code)];
  // The limit of 0 blocks plays a full disk: the process may write no byte to any file.
  const limited = ["-c", 'ulimit -f 0 && exec "$@"', "sh", ...node, folder.path];
  expect(execFileSync("sh", limited, { encoding: "utf8" })).toMatch(
    /^\S+enrolment\.json cannot be written \(EFBIG\): make room .*, or pass another --state\n$/,
  );
  expect(readdirSync(folder.path).filter((name) => name.startsWith("enrolment"))).toEqual([]);
  expect(loadEnrolment(folder.path, enrolment)).toBeNull();
});

it("a lock that a living process holds → refused with its pid and what to do; killed → taken over", async () => {
  const code = 'lockFolder(process.argv[1]); console.log("locked"); process.stdin.resume();';
  const child = spawn(process.execPath, [...moduleOf("lockFolder", "lock.ts", code), folder.path]);
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  expect(() => lockFolder(folder.path)).toThrow(
    `${folder.path} is in use by process ${child.pid}: stop it, or pass another --state`,
  );
  child.kill("SIGKILL");
  await once(child, "exit");
  lockFolder(folder.path).release();
  expect(readdirSync(folder.path)).toEqual([]);
});
