// The container runtime that the configuration names, watched for as long as the shim runs. Decides nothing.
import { setTimeout as wait } from "node:timers/promises";
import { parseDuration } from "../shared/duration.ts";
import type { KubeletConfiguration } from "./config/schema.ts";
import { socketPathOf } from "./cri/endpoint.ts";
import { runtimeMonitor } from "./cri/monitor.ts";
import type { RuntimeReader } from "./gather/runtime.ts";
import type { Warn } from "./gather/warn.ts";

/** A runtime that works answers in a few milliseconds; the first report waits no longer than this for one that does not. */
const FIRST_LOOK_MS = 1000;

export interface ContainerRuntime {
  snapshot: RuntimeReader;
  /** Resolves once the first look is over, or has taken too long. */
  looked: Promise<unknown>;
  /** Asks for the status now: see RuntimeMonitor. */
  refresh: () => Promise<void>;
  close: () => void;
}

type Endpoints = Pick<
  KubeletConfiguration,
  "containerRuntimeEndpoint" | "imageServiceEndpoint" | "runtimeRequestTimeout" | "nodeStatusMaxImages"
>;

const NONE: ContainerRuntime = {
  snapshot: () => null,
  looked: Promise.resolve(),
  refresh: () => Promise.resolve(),
  close: () => undefined,
};

/** Watches from now on. `onFlip` is told when what keeps the Node from being Ready has changed. */
export function watchContainerRuntime(
  { containerRuntimeEndpoint, imageServiceEndpoint, runtimeRequestTimeout, nodeStatusMaxImages }: Endpoints,
  warn: Warn,
  onFlip: () => void,
): ContainerRuntime {
  if (containerRuntimeEndpoint === "") return NONE;
  const monitor = runtimeMonitor({
    socketPath: validPath(containerRuntimeEndpoint),
    imageSocketPath: validPath(imageServiceEndpoint || containerRuntimeEndpoint),
    deadlineMs: parseDuration(runtimeRequestTimeout).durationMs ?? 0,
    nodeStatusMaxImages,
    nowMs: () => performance.now(),
    every: (ms, call) => {
      const timer = setInterval(call, ms);
      return () => clearInterval(timer);
    },
    onFlip,
    warn,
  });
  const looked = Promise.race([monitor.refresh(), wait(FIRST_LOOK_MS, undefined, { ref: false })]);
  return { snapshot: monitor.snapshot, looked, refresh: monitor.refresh, close: monitor.close };
}

/** The configuration was checked before. */
function validPath(endpoint: string): string {
  const socket = socketPathOf(endpoint);
  if ("error" in socket) throw new Error(`"${endpoint}" ${socket.error}`);
  return socket.path;
}
