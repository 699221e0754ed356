// Where the tests of a process have their Docker: systeminformation reads once where it is, and how long to wait.
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const FOLDER = join(tmpdir(), `rollcall-docker-${process.pid}`);
export const DOCKER = { socketPath: join(FOLDER, "docker.sock"), deadlineMs: 1000 };

/** An empty folder; the answer removes it. */
export function makeFolder(): () => void {
  const remove = () => rmSync(FOLDER, { recursive: true, force: true });
  remove();
  mkdirSync(FOLDER);
  return remove;
}
