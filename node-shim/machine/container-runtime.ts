// Watches the configured container runtime for as long as the shim runs. Decides nothing.
import { setTimeout as wait } from "node:timers/promises";
import { parseDuration } from "../../shared/go/duration.ts";
import type { KubeletConfiguration } from "../config/schema.ts";
import { socketPathOf } from "../config/endpoint.ts";
import { runtimeMonitor } from "../sources/cri/monitor.ts";
import { runtimeClient } from "../sources/cri/runtime-client.ts";
import { dockerClient } from "../sources/docker/client.ts";
import type { RuntimeReader } from "../sources/cri/runtime-reader.ts";
import type { Warn } from "../base/warn.ts";
import { valueOr } from "../../shared/result.ts";

/** A runtime that works answers in a few milliseconds. The first report waits only this long for one that hangs. */
const FIRST_LOOK_MS = 1000;

export interface ContainerRuntime {
  snapshot: RuntimeReader;
  /** Resolves once the first look is over, or has taken too long. */
  looked: Promise<unknown>;
  /** Asks for the status now: see RuntimeMonitor. */
  refresh: () => Promise<void>;
  close: () => void;
}

export interface RuntimeFlags {
  /** --container-runtime NAME */
  containerRuntime?: string;
  /** --docker-endpoint ENDPOINT */
  dockerEndpoint?: string;
}

/** Upstream's default, from the time when kubelets used Docker directly. */
export const DOCKER_ENDPOINT = "unix:///var/run/docker.sock";

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

/** The socket of `--container-runtime docker`; null: the runtime speaks CRI. Throws with what to change. */
export function dockerSocket({ containerRuntime = "remote", dockerEndpoint }: RuntimeFlags): string | null {
  if (containerRuntime === "remote" && dockerEndpoint !== undefined)
    throw new Error("--docker-endpoint: needs --container-runtime docker");
  if (containerRuntime === "remote") return null;
  if (containerRuntime !== "docker")
    throw new Error(`--container-runtime ${containerRuntime}: must be remote (CRI) or docker`);
  const socket = socketPathOf(dockerEndpoint ?? DOCKER_ENDPOINT);
  if (socket.ok) return socket.value;
  throw new Error(`--docker-endpoint ${dockerEndpoint}: must be a socket's path, as in ${DOCKER_ENDPOINT}`);
}

/** Watches from now on. Calls `onFlip` when the errors that keep the Node from being Ready have changed. */
export function watchContainerRuntime(
  { containerRuntimeEndpoint, imageServiceEndpoint, runtimeRequestTimeout, nodeStatusMaxImages }: Endpoints,
  docker: string | null, // dockerSocket
  warn: Warn,
  onFlip: () => void,
): ContainerRuntime {
  if (docker === null && containerRuntimeEndpoint === "") return NONE;
  const deadlineMs = valueOr(parseDuration(runtimeRequestTimeout), 0);
  const nowMs = () => performance.now();
  const monitor = runtimeMonitor({
    client: (onConnect) =>
      docker === null
        ? runtimeClient({
            socketPath: validPath(containerRuntimeEndpoint),
            imageSocketPath: validPath(imageServiceEndpoint || containerRuntimeEndpoint),
            deadlineMs,
            nowMs,
            warn,
            onConnect,
          })
        : dockerClient({ socketPath: docker, deadlineMs, warn, onConnect }),
    nodeStatusMaxImages,
    nowMs,
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

/** Throws for a bug alone: the configuration was validated before. */
function validPath(endpoint: string): string {
  const socket = socketPathOf(endpoint);
  if (!socket.ok) throw new Error(`"${endpoint}" ${socket.error}`);
  return socket.value;
}
