// Where the tests of a process have their Docker: systeminformation reads once where it is, and how long to wait.
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runtimeMonitor, type RuntimeMonitor } from "../../../../node-shim/sources/cri/monitor.ts";
import { dockerClient } from "../../../../node-shim/sources/docker/client.ts";

export const FOLDER = join(tmpdir(), `rollcall-docker-${process.pid}`);
export const DOCKER = { socketPath: join(FOLDER, "docker.sock"), deadlineMs: 1000 };

/** An empty folder; the answer removes it. */
export function makeFolder(): () => void {
  const remove = () => rmSync(FOLDER, { recursive: true, force: true });
  remove();
  mkdirSync(FOLDER);
  return remove;
}

/** Watches that Docker whenever it is asked to; what it warns of goes to `said`. */
export function dockerMonitor(said: string[], nowMs: () => number): RuntimeMonitor {
  const warn = (source: string, message: string) => void said.push(`${source}: ${message}`);
  return runtimeMonitor({
    client: (onConnect) => dockerClient({ ...DOCKER, warn, onConnect }),
    nodeStatusMaxImages: 50,
    nowMs,
    every: () => () => undefined,
    onFlip: () => undefined,
    warn,
  });
}
