// Calls a container runtime over CRI: four methods of k8s.io/cri-api runtime.v1, with the fields that the Node's
// status needs. The field numbers come from api.proto. Warns once in each outage, with the remedy.
import type { WarningSource } from "../../base/log.ts";
import type { Warn } from "../../base/reading.ts";
import { grpcClient, type GrpcClient, type Method } from "../../wire/grpc/client.ts";
import type { ProtoMessage, Schema } from "../../wire/grpc/schema.ts";
import { type Fault, faultText } from "../../wire/grpc/status.ts";

const NOTHING = {} as const satisfies Schema;

const VERSION_ANSWER = {
  version: [1, "string"],
  runtimeName: [2, "string"],
  runtimeVersion: [3, "string"],
  runtimeApiVersion: [4, "string"],
} as const satisfies Schema;

const RUNTIME_CONDITION = {
  type: [1, "string"],
  status: [2, "bool"],
  reason: [3, "string"],
  message: [4, "string"],
} as const satisfies Schema;
const RUNTIME_STATUS = { conditions: [1, [RUNTIME_CONDITION]] } as const satisfies Schema;
const HANDLER_FEATURES = {
  recursiveReadOnlyMounts: [1, "bool"],
  userNamespaces: [2, "bool"],
} as const satisfies Schema;
const RUNTIME_HANDLER = { name: [1, "string"], features: [2, HANDLER_FEATURES] } as const satisfies Schema;
const RUNTIME_FEATURES = { supplementalGroupsPolicy: [1, "bool"] } as const satisfies Schema;
const STATUS_ANSWER = {
  status: [1, RUNTIME_STATUS],
  runtimeHandlers: [3, [RUNTIME_HANDLER]],
  features: [4, RUNTIME_FEATURES],
} as const satisfies Schema;

const IMAGE = {
  id: [1, "string"],
  repoTags: [2, "string[]"],
  repoDigests: [3, "string[]"],
  size: [4, "uint64"],
} as const satisfies Schema;
const IMAGES_ANSWER = { images: [1, [IMAGE]] } as const satisfies Schema;

const FILESYSTEM_IDENTIFIER = { mountpoint: [1, "string"] } as const satisfies Schema;
const FILESYSTEM_USAGE = { fsId: [2, FILESYSTEM_IDENTIFIER] } as const satisfies Schema;
const IMAGE_FS_INFO_ANSWER = { imageFilesystems: [1, [FILESYSTEM_USAGE]] } as const satisfies Schema;

export type RuntimeCondition = ProtoMessage<typeof RUNTIME_CONDITION>;
export type StatusAnswer = ProtoMessage<typeof STATUS_ANSWER>;
export type VersionAnswer = ProtoMessage<typeof VERSION_ANSWER>;
export type CriImage = ProtoMessage<typeof IMAGE>;

const method = <A extends Schema>(path: string, answer: A): Method<typeof NOTHING, A> => ({
  path,
  request: NOTHING,
  answer,
});

export const CRI = {
  version: method("/runtime.v1.RuntimeService/Version", VERSION_ANSWER),
  /** The request has no fields, so the answer is not verbose. */
  status: method("/runtime.v1.RuntimeService/Status", STATUS_ANSWER),
  listImages: method("/runtime.v1.ImageService/ListImages", IMAGES_ANSWER),
  imageFsInfo: method("/runtime.v1.ImageService/ImageFsInfo", IMAGE_FS_INFO_ANSWER),
} as const;

export interface RuntimeClientOptions {
  socketPath: string;
  /** The path of the image service's socket. Typically the same as socketPath. */
  imageSocketPath: string;
  /** The time limit of one call: runtimeRequestTimeout. */
  deadlineMs: number;
  /** The monotonic clock in milliseconds. Typically monotonicMs. */
  nowMs: () => number;
  warn: Warn;
  /** Called for every new connection, which may lead to another runtime. */
  onConnect: () => void;
}

/** Calls the runtime. The functions never reject. null means that the answer is missing or incomplete. */
export interface RuntimeClient {
  status: () => Promise<StatusAnswer | null>;
  version: () => Promise<VersionAnswer | null>;
  images: () => Promise<CriImage[] | null>;
  /** Returns the path of the first mount point in the answer, which the kubelet's ImageFsStats also uses. */
  imageFsPath: () => Promise<string | null>;
  /** Returns whether no process listened on the socket at the last call; a slow or refusing runtime is not absent. */
  isAbsent: () => boolean;
  /** Ends the running calls, without a warning. */
  close: () => void;
}

/** The faults that concern the whole socket: other calls would fail too. */
const WHOLE_SERVICE: ReadonlySet<Fault["code"]> = new Set(["Unavailable", "DeadlineExceeded"]);

interface Service {
  client: GrpcClient;
  socketPath: string;
  /** The name of the configuration's field with the endpoint. */
  field: string;
}

export function runtimeClient(options: RuntimeClientOptions): RuntimeClient {
  const { socketPath, imageSocketPath, deadlineMs, nowMs, warn, onConnect } = options;
  const runtime = service(socketPath, "containerRuntimeEndpoint");
  const image = imageSocketPath === socketPath ? runtime : service(imageSocketPath, "imageServiceEndpoint");
  const warned = new Set<string>();
  let closed = false;
  let isAbsent = false;

  function service(socketPath: string, field: string): Service {
    return { client: grpcClient({ socketPath, nowMs, onConnect }), socketPath, field };
  }

  function warnOnce(key: string, source: WarningSource, message: string): void {
    if (warned.has(key) || closed) return;
    warned.add(key);
    warn(source, message);
  }

  /** Calls a method; null after a warning. `missing` returns an incomplete answer's fault, or null if complete. */
  async function ask<A extends Schema>(
    asked: Service,
    source: WarningSource,
    method: Method<Record<never, never>, A>,
    missing: (answer: ProtoMessage<A>) => string | null = () => null,
  ): Promise<ProtoMessage<A> | null> {
    const { client, socketPath, field } = asked;
    const answer = await client.unary(method, {}, deadlineMs);
    if (asked === runtime) isAbsent = !answer.ok && answer.error.code === "Unavailable";
    if (!answer.ok) {
      const text = `${socketPath}: ${faultText(answer.error)}`;
      if (WHOLE_SERVICE.has(answer.error.code))
        warnOnce(socketPath, "container runtime", `${text}: start it, or set ${field} ("" if there is none)`);
      else warnOnce(source, source, text);
      return null;
    }
    warned.delete(socketPath);
    const fault = missing(answer.value);
    if (fault === null) warned.delete(source);
    else warnOnce(source, source, `${socketPath}: ${fault}`);
    return fault === null ? answer.value : null;
  }

  return {
    status: () => ask(runtime, "container runtime status", CRI.status, statusFault),
    version: () => ask(runtime, "container runtime version", CRI.version, versionFault),
    images: async () => (await ask(image, "images", CRI.listImages))?.images ?? null,
    imageFsPath: async () => {
      const answer = await ask(image, "imagefs", CRI.imageFsInfo, (answer) =>
        mountpointOf(answer) ? null : "imageFs information is unavailable",
      );
      return answer && (mountpointOf(answer) ?? null);
    },
    isAbsent: () => isAbsent,
    close: () => {
      closed = true;
      runtime.client.close();
      image.client.close();
    },
  };
}

/** Returns the reason why upstream's remoteRuntimeService.Status rejects an answer; null if the answer is valid. */
function statusFault({ status }: StatusAnswer): string | null {
  const isComplete = status !== undefined && status.conditions.length >= 2;
  return isComplete ? null : "RuntimeReady or NetworkReady condition are not set";
}

/** Returns the reason why upstream's remoteRuntimeService.Version rejects an answer; null if the answer is valid. */
function versionFault(answer: VersionAnswer): string | null {
  const missing = (
    [
      ["Version", answer.version],
      ["RuntimeName", answer.runtimeName],
      ["RuntimeApiVersion", answer.runtimeApiVersion],
      ["RuntimeVersion", answer.runtimeVersion],
    ] as const
  ).flatMap(([name, value]) => (value === "" ? [name] : []));
  return missing.length === 0
    ? null
    : `not all fields are set in VersionResponse (missing ${missing.join(", ")})`;
}

function mountpointOf({
  imageFilesystems,
}: ProtoMessage<(typeof CRI)["imageFsInfo"]["answer"]>): string | undefined {
  return imageFilesystems[0]?.fsId?.mountpoint;
}
