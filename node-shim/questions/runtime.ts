// Answers questions about containers: over CRI, or by docker with --container-runtime docker.
import { existsSync } from "node:fs";
import { readlink } from "node:fs/promises";
import type { ParametersOf } from "../../shared/protocol/question.ts";
import { bytesText, table, timeText } from "./table.ts";
import { monotonicMs } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";
import { CRI } from "../sources/cri/runtime-client.ts";
import { grpcClient, type Method } from "../wire/grpc/client.ts";
import type { ProtoInput, ProtoMessage, Schema } from "../wire/grpc/schema.ts";
import { faultText } from "../wire/grpc/status.ts";
import { newestOfFile } from "./files.ts";
import type { Asking, Source } from "./source.ts";

const DEADLINE_MS = 5000;
const ROWS = 1000;

/** The messages of k8s.io/cri-api runtime.v1, with the fields that an answer has. */
const POD = {
  id: [1, "string"],
  metadata: [2, { name: [1, "string"], namespace: [3, "string"] }],
  state: [3, "int32"],
  createdAt: [4, "int64"],
} as const satisfies Schema;
const CONTAINER = {
  id: [1, "string"],
  podSandboxId: [2, "string"],
  metadata: [3, { name: [1, "string"], attempt: [2, "uint32"] }],
  image: [4, { image: [1, "string"] }],
  state: [6, "int32"],
  createdAt: [7, "int64"],
} as const satisfies Schema;
export const LISTS = {
  pods: {
    path: "/runtime.v1.RuntimeService/ListPodSandbox",
    request: {},
    answer: { items: [1, [POD]] },
  },
  containers: {
    path: "/runtime.v1.RuntimeService/ListContainers",
    request: {},
    answer: { containers: [1, [CONTAINER]] },
  },
  container: {
    path: "/runtime.v1.RuntimeService/ContainerStatus",
    request: { containerId: [1, "string"] },
    answer: { status: [1, { logPath: [15, "string"] }] },
  },
} as const satisfies Record<string, Method<Schema, Schema>>;

const POD_STATES = ["ready", "not ready"];
const CONTAINER_STATES = ["created", "running", "exited", "unknown"];

/** Yields the runtime's own conditions, its pods, containers and images. */
export const runtime: Source<ParametersOf<"runtime">> = async function* (_, asking) {
  yield* asking.runtime.isDocker ? dockerLines(asking) : withRuntime(asking, runtimeLines(asking));
};

const runtimeLines = ({ cut }: Asking) =>
  async function* (call: Call, socketPath: string): AsyncGenerator<string> {
    const { runtimeName, runtimeVersion } = await call(CRI.version, {});
    yield `${runtimeName} ${runtimeVersion} at ${socketPath}`;
    for (const { type, status, reason, message } of (await call(CRI.status, {})).status?.conditions ?? [])
      yield `${type}: ${status} ${reason} ${message}`.trimEnd();
    const pods = (await call(LISTS.pods, {})).items;
    const { containers } = await call(LISTS.containers, {});
    const { images } = await call(CRI.listImages, {});
    if (Math.max(pods.length, containers.length, images.length) > ROWS) cut();
    const podOf = new Map(pods.map(({ id, metadata }) => [id, `${metadata?.namespace}/${metadata?.name}`]));
    yield* table([
      ["POD", "STATE", "CREATED", "ID"],
      ...pods
        .slice(0, ROWS)
        .map(({ id, state, createdAt }) => [
          podOf.get(id) ?? "",
          POD_STATES[state] ?? "",
          dateOf(createdAt),
          id.slice(0, 13),
        ]),
    ]);
    yield* table([
      ["CONTAINER", "STATE", "ATTEMPT", "CREATED", "ID", "IMAGE", "POD"],
      ...containers
        .slice(0, ROWS)
        .map(({ id, podSandboxId, metadata, image, state, createdAt }) => [
          metadata?.name ?? "",
          CONTAINER_STATES[state] ?? "",
          String(metadata?.attempt ?? 0),
          dateOf(createdAt),
          id.slice(0, 13),
          image?.image ?? "",
          podOf.get(podSandboxId) ?? "",
        ]),
    ]);
    yield* table([
      ["IMAGE", "SIZE"],
      ...images
        .slice(0, ROWS)
        .map(({ id, repoTags, repoDigests, size }) => [repoTags[0] ?? repoDigests[0] ?? id, bytesText(size)]),
    ]);
  };

/** Yields the newest lines of one container. */
export const containerLogs: Source<ParametersOf<"container-logs">> = async function* (parameters, asking) {
  const { container } = parameters;
  let log = { id: "", path: "" };
  for await (const found of asking.runtime.isDocker
    ? dockerLog(container, asking)
    : withRuntime(asking, async function* (call) {
        const { containers } = await call(LISTS.containers, {});
        const id = containers.find((each) => each.id.startsWith(container))?.id ?? container;
        yield { id, path: (await call(LISTS.container, { containerId: id })).status?.logPath ?? "" };
      }))
    log = found;
  if (log.path === "") throw new Error(`${container} has no log file`);
  yield* newestOfFile(await withoutLink(log), parameters, asking);
};

interface ContainerLog {
  id: string;
  path: string;
}

/** Returns the path of Docker's log file if `path` is a link to it, as cri-dockerd makes one. */
async function withoutLink({ id, path }: ContainerLog): Promise<string> {
  const target = await readlink(path).catch(() => null);
  if (target === null) return path;
  // A pod that may write to the folder of the logs could have led the link to another file.
  if (!isDockerLog({ id, path: target })) throw new Error(`${path} is a link to another file than its log`);
  return target;
}

const isDockerLog = ({ id, path }: ContainerLog) =>
  /^[0-9a-f]{64}$/.test(id) &&
  path.endsWith(`/containers/${id}/${id}-json.log`) &&
  path.startsWith("/") &&
  !path.split("/").includes("..");

/** Yields a container of Docker with its log file, if Docker writes one. */
async function* dockerLog(container: string, asking: Asking): AsyncGenerator<ContainerLog> {
  for await (const line of docker(["inspect", "--format={{.Id}} {{.LogPath}}", "--", container], asking)) {
    const [id = "", path = ""] = line.split(/ (.*)/s);
    // Docker's logs have other forms if its log driver is another one.
    yield { id, path: isDockerLog({ id, path }) ? path : "" };
  }
}

const dateOf = (nanoseconds: number) => timeText(nanoseconds / 1e6);

export type Call = <Q extends Schema, A extends Schema>(
  method: Method<Q, A>,
  request: ProtoInput<Q>,
) => Promise<ProtoMessage<A>>;

/** Calls the first runtime that answers, and yields what `lines` yields. */
export async function* withRuntime<T>(
  { runtime: { sockets } }: Asking,
  lines: (call: Call, socketPath: string) => AsyncIterable<T>,
): AsyncGenerator<T> {
  const faults: string[] = [];
  for (const socketPath of sockets) {
    const { unary, close } = grpcClient({ socketPath, nowMs: monotonicMs });
    try {
      const version = await unary(CRI.version, {}, DEADLINE_MS);
      if (version.ok) {
        yield* lines(async (method, request) => {
          const answer = await unary(method, request, DEADLINE_MS);
          if (!answer.ok) throw new Error(faultText(answer.error));
          return answer.value;
        }, socketPath);
        return;
      }
      faults.push(`${socketPath}: ${faultText(version.error)}`);
    } finally {
      close();
    }
  }
  throw new Error(`no container runtime: ${faults.join("; ") || "none is configured"}`);
}

/** Returns why the container runtime does not answer; null if it answers, or none is on this machine. */
export async function runtimeFault(asking: Asking): Promise<string | null> {
  const { isDocker, sockets } = asking.runtime;
  try {
    if (isDocker) for await (const _ of docker(["version"], asking)) continue;
    // Of several sockets at which one may be, those count that are there.
    const there = sockets.length > 1 ? sockets.filter((path) => existsSync(path)) : sockets;
    if (isDocker || there.length === 0) return null;
    const answers = async function* () {
      yield true;
    };
    for await (const _ of withRuntime({ ...asking, runtime: { isDocker, sockets: there } }, answers))
      continue;
    return null;
  } catch (error) {
    return faultOf(error).replace("no container runtime: ", "");
  }
}

async function* dockerLines(asking: Asking): AsyncGenerator<string> {
  const columns = "table {{.Names}}\t{{.Status}}\t{{.Image}}\t{{.ID}}";
  yield* docker(["ps", "--all", `--format=${columns}`], asking);
  yield* docker(["image", "ls"], asking);
}

/** Runs docker with the daemon of --docker-endpoint. */
export const docker = (args: readonly string[], { run, signal, runtime: { sockets } }: Asking) =>
  run("docker", [`--host=unix://${sockets[0]}`, ...args], { signal });
