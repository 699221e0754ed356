// Where the tests of a process have their Docker: systeminformation reads once where it is, and how long to wait.
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runtimeMonitor, type RuntimeMonitor } from "../../../../node-shim/sources/cri/monitor.ts";
import { dockerClient } from "../../../../node-shim/sources/docker/client.ts";

export const FOLDER = join(tmpdir(), `rollcall-docker-${process.pid}`);
/** No test of this suite waits for the deadline. */
export const DOCKER = { socketPath: join(FOLDER, "docker.sock"), deadlineMs: 60_000 };

/** For a Docker that never answers. A process has one deadline: systeminformation reads it once. */
export const SHORT_DEADLINE_MS = 1000;

/** An empty folder; the answer removes it. */
export function makeFolder(): () => void {
  const remove = () => rmSync(FOLDER, { recursive: true, force: true });
  remove();
  mkdirSync(FOLDER);
  return remove;
}

/** Watches that Docker whenever it is asked to; what it warns of goes to `said`. */
export function dockerMonitor(
  said: string[],
  nowMs: () => number,
  deadlineMs = DOCKER.deadlineMs,
): RuntimeMonitor {
  const warn = (source: string, message: string) => void said.push(`${source}: ${message}`);
  return runtimeMonitor({
    client: (onConnect) => dockerClient({ ...DOCKER, deadlineMs, warn, onConnect }),
    nodeStatusMaxImages: 50,
    nowMs,
    every: () => () => undefined,
    onFlip: () => undefined,
    warn,
  });
}
