// Calls a container runtime over CRI. Warns once in each outage, with what to do. Does not interpret the answers.
import type { Warn } from "../../base/warn.ts";
import { grpcClient, type GrpcClient, type Method } from "../../wire/grpc/client.ts";
import type { ProtoMessage, Schema } from "../../wire/grpc/schema.ts";
import { type Fault, faultText } from "../../wire/grpc/status.ts";
import { CRI, type CriImage, type StatusAnswer, type VersionAnswer } from "./methods.ts";
import type { WarningSource } from "../../base/log-table.ts";

export interface RuntimeClientOptions {
  socketPath: string;
  /** Where images are asked for; typically the same. */
  imageSocketPath: string;
  /** runtimeRequestTimeout */
  deadlineMs: number;
  /** Monotonic; typically monotonicMs. */
  nowMs: () => number;
  warn: Warn;
  /** Called for every new connection: the runtime may be another one than before. */
  onConnect: () => void;
}

/** Never rejects. null: no answer, or an incomplete one. */
export interface RuntimeClient {
  status: () => Promise<StatusAnswer | null>;
  version: () => Promise<VersionAnswer | null>;
  images: () => Promise<CriImage[] | null>;
  /** The first mount point, as the kubelet's ImageFsStats takes it. */
  imageFsPath: () => Promise<string | null>;
  /** Did nobody listen when the runtime was last asked? One that is slow, or refuses, does. */
  isAbsent: () => boolean;
  /** Ends calls that are under way, without a warning. */
  close: () => void;
}

/** With one of these codes, no other call on the socket is answered either. */
const WHOLE_SERVICE: ReadonlySet<Fault["code"]> = new Set(["Unavailable", "DeadlineExceeded"]);

interface Service {
  client: GrpcClient;
  socketPath: string;
  /** The field of the configuration that has the endpoint. */
  field: string;
}

export function runtimeClient(options: RuntimeClientOptions): RuntimeClient {
  const { socketPath, imageSocketPath, deadlineMs, nowMs, warn, onConnect } = options;
  const runtime = service(socketPath, "containerRuntimeEndpoint");
  const image = imageSocketPath === socketPath ? runtime : service(imageSocketPath, "imageServiceEndpoint");
  const said = new Set<string>();
  let closed = false;
  let isAbsent = false;

  function service(socketPath: string, field: string): Service {
    return { client: grpcClient({ socketPath, nowMs, onConnect }), socketPath, field };
  }

  function sayOnce(key: string, source: WarningSource, message: string): void {
    if (said.has(key) || closed) return;
    said.add(key);
    warn(source, message);
  }

  /** `missing` returns what an incomplete answer lacks; null: the answer counts. */
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
        sayOnce(
          socketPath,
          "container runtime",
          `${text}: start it, or set ${field} ("" where there is none)`,
        );
      else sayOnce(source, source, text);
      return null;
    }
    said.delete(socketPath);
    const fault = missing(answer.value);
    if (fault === null) said.delete(source);
    else sayOnce(source, source, `${socketPath}: ${fault}`);
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

/** As remoteRuntimeService.Status. */
function statusFault({ status }: StatusAnswer): string | null {
  const isComplete = status !== undefined && status.conditions.length >= 2;
  return isComplete ? null : "RuntimeReady or NetworkReady condition are not set";
}

/** As remoteRuntimeService.Version. */
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
