// Watches the configured container runtime, or searches for a runtime, while the shim runs.
import { every, monotonicMs, pause } from "../base/clock.ts";
import { parseDuration } from "../../shared/go/duration.ts";
import type { KubeletConfiguration } from "../config/schema.ts";
import { socketPathOf } from "../config/validation.ts";
import { runtimeMonitor, type RuntimeMonitor, type RuntimeReader } from "../sources/cri/monitor.ts";
import { runtimeClient } from "../sources/cri/runtime-client.ts";
import { RUNTIME_SOCKETS, runtimeFinder } from "../sources/cri/runtime-finder.ts";
import { dockerClient } from "../sources/docker/client.ts";
import type { Warn } from "../base/reading.ts";
import { valueOr } from "../../shared/result.ts";

/** The first report's longest wait for a runtime that does not answer; a working one answers in milliseconds. */
const FIRST_ANSWER_MS = 1000;

export interface ContainerRuntime {
  snapshot: RuntimeReader;
  /** Resolves once the runtime has answered for the first time, or FIRST_ANSWER_MS have passed. */
  asked: Promise<unknown>;
  /** Reads the runtime's status now: see RuntimeMonitor and RuntimeFinder. */
  refresh: () => Promise<void>;
  close: () => void;
}

export interface RuntimeFlags {
  containerRuntime?: string;
  dockerEndpoint?: string;
}

/** Upstream's default endpoint (SetDefaults_KubeletConfiguration). The shim requires a runtime only if configured. */
export const CRI_ENDPOINT = "unix:///run/containerd/containerd.sock";

/** The default endpoint of the kubelets that used Docker directly. */
export const DOCKER_ENDPOINT = "unix:///var/run/docker.sock";

type Endpoints = Pick<
  KubeletConfiguration,
  "containerRuntimeEndpoint" | "imageServiceEndpoint" | "runtimeRequestTimeout" | "nodeStatusMaxImages"
>;

const NONE: ContainerRuntime = {
  snapshot: () => null,
  asked: Promise.resolve(),
  refresh: () => Promise.resolve(),
  close: () => undefined,
};

/** Returns Docker's socket path, or null for a CRI runtime. Throws, with the flag to change, for invalid flags. */
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

/** Watches the container runtime. Calls `onFlip` when an input of the Ready condition has changed. */
export function watchContainerRuntime(
  endpoints: Endpoints,
  docker: string | null, // typically dockerSocket's result
  warn: Warn,
  onFlip: () => void,
): ContainerRuntime {
  const { containerRuntimeEndpoint, imageServiceEndpoint, runtimeRequestTimeout, nodeStatusMaxImages } =
    endpoints;
  if (docker === null && containerRuntimeEndpoint === "") return NONE;
  const deadlineMs = valueOr(parseDuration(runtimeRequestTimeout), 0);
  const nowMs = monotonicMs;
  const monitorOf = (client: Parameters<typeof runtimeMonitor>[0]["client"], onFlip: () => void) =>
    runtimeMonitor({ client, nodeStatusMaxImages, nowMs, every, onFlip, warn });
  const criMonitor = (socketPath: string, onFlip: () => void): RuntimeMonitor => {
    const imageSocketPath = imageServiceEndpoint === "" ? socketPath : validPath(imageServiceEndpoint);
    const asked = { socketPath, imageSocketPath, deadlineMs, nowMs, warn };
    return monitorOf((onConnect) => runtimeClient({ ...asked, onConnect }), onFlip);
  };
  if (docker !== null) {
    const asked = { socketPath: docker, deadlineMs, warn };
    return watched(monitorOf((onConnect) => dockerClient({ ...asked, onConnect }), onFlip));
  }
  if (containerRuntimeEndpoint !== null)
    return watched(criMonitor(validPath(containerRuntimeEndpoint), onFlip));
  return watched(runtimeFinder({ sockets: RUNTIME_SOCKETS, watch: criMonitor, nowMs, every, onFlip, warn }));
}

function watched({ snapshot, refresh, close }: Omit<ContainerRuntime, "asked">): ContainerRuntime {
  const asked = Promise.race([refresh(), pause(FIRST_ANSWER_MS, { ref: false })]);
  return { snapshot, asked, refresh, close };
}

/** Returns the path in an endpoint. Throws only for a bug: the configuration was validated before. */
function validPath(endpoint: string): string {
  const socket = socketPathOf(endpoint);
  if (!socket.ok) throw new Error(`"${endpoint}" ${socket.error}`);
  return socket.value;
}
