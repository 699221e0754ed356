// Defines Docker's paths and deadlines for one test process: systeminformation reads socket and deadline once.
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runtimeMonitor, type RuntimeMonitor } from "../../../../node-shim/sources/cri/monitor.ts";
import { dockerClient } from "../../../../node-shim/sources/docker/client.ts";

export const FOLDER = join(tmpdir(), `rollcall-docker-${process.pid}`);
/** The socket and the deadline. The deadline is so long that no test of this suite waits for it. */
export const DOCKER = { socketPath: join(FOLDER, "docker.sock"), deadlineMs: 60_000 };

/**
 * The deadline for tests with a Docker that never answers. systeminformation reads the deadline once in a process.
 */
export const SHORT_DEADLINE_MS = 1000;

/** Makes the folder, empty. Returns a function that removes it. */
export function makeFolder(): () => void {
  const remove = () => rmSync(FOLDER, { recursive: true, force: true });
  remove();
  mkdirSync(FOLDER);
  return remove;
}

/** Makes a monitor that reads this Docker when a test calls it. Its warnings are added to `said`. */
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
