import { success } from "../../../../shared/result.ts";
import { unreadable } from "../../../../node-shim/base/reading.ts";
import { expect, test } from "vitest";
import { fileSystemReader, type StatFs } from "../../../../node-shim/sources/kernel/storage.ts";

const DISK = { bsize: 4096, frsize: 4096, blocks: 1000, bfree: 500, bavail: 450, files: 64, ffree: 60 };
const reader = (stat: StatFs) => fileSystemReader(() => Promise.resolve(stat));
const error = unreadable(expect.any(String) as string);

test.each<[situation: string, StatFs, outcome: unknown]>([
  [
    "a disk with blocks kept for root → those are not available",
    DISK,
    { bytes: success([450 * 4096, 4_096_000]), inodes: success([60, 64]) },
  ],
  [
    "fragments smaller than blocks → counted in fragments",
    { ...DISK, bsize: 1_048_576 },
    { bytes: success([450 * 4096, 4_096_000]), inodes: success([60, 64]) },
  ],
  [
    "a Node.js without the fragment size → counted in blocks",
    { bsize: 1024, blocks: 10, bavail: 5, files: 0, ffree: 0 },
    { bytes: success([5120, 10_240]), inodes: success([0, 0]) },
  ],
  [
    "the largest size that JSON can carry → reported",
    { ...DISK, frsize: 1, blocks: Number.MAX_SAFE_INTEGER },
    { bytes: success([450, Number.MAX_SAFE_INTEGER]), inodes: success([60, 64]) },
  ],
  [
    "one more → error, inodes unaffected",
    { ...DISK, frsize: 1, blocks: 2 ** 53 },
    { bytes: error, inodes: success([60, 64]) },
  ],
  [
    "inodes without limit → error, bytes unaffected",
    { ...DISK, files: 2 ** 64 },
    { bytes: success([450 * 4096, 4_096_000]), inodes: error },
  ],
])("storage: %s", async (_, stat, outcome) => {
  expect(await reader(stat)("/data")).toEqual(success(outcome));
});

const failure = (code: string) => Object.assign(new Error(code), { code });

test("a folder that does not exist → the file system it would be on", async () => {
  const asked: string[] = [];
  const read = fileSystemReader((path) => {
    asked.push(path);
    return path === "/var" ? Promise.resolve(DISK) : Promise.reject(failure("ENOENT"));
  });
  expect(await read("/var/lib/kubelet")).toHaveProperty("value.bytes.value", [450 * 4096, 4_096_000]);
  expect(asked).toEqual(["/var/lib/kubelet", "/var/lib", "/var"]);
});

test.each([
  ["nothing exists, not even the root", "ENOENT"],
  ["a folder that may not be read", "EACCES"],
])("storage: %s → error", async (_, code) => {
  const read = fileSystemReader(() => Promise.reject(failure(code)));
  expect(await read("/var/lib/kubelet")).toHaveProperty("error.message", code);
});
