// Runs before the tests in workerd: stores their Durable Objects in memory, for on a disk each commit waits for the disk.
import { existsSync, statfsSync } from "node:fs";

const MEMORY = "/dev/shm";
/** More than the quick suite writes. Containers often have only 64 MiB. */
const ROOM_BYTES = 2 ** 31;

export function setup(): void {
  if (!existsSync(MEMORY)) return;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize > ROOM_BYTES) process.env["TMPDIR"] ??= MEMORY;
}
