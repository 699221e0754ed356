// Asks one CSI driver, through the socket it registers with, for its name and how many volumes it can attach here. Does
// not register it, as a kubelet would.
import { failure, type Result, success } from "../../../shared/result.ts";
import { isAbsolute } from "node:path";
import { FACTS_LIMITS } from "../../../shared/protocol/limits.ts";
import { labelValueErrors } from "../../../shared/kubernetes/validation.ts";
import { grpcClient, type GrpcClient } from "../../wire/grpc/client.ts";
import { faultText } from "../../wire/grpc/status.ts";
import { CSI_PLUGIN, GET_INFO, NODE_GET_INFO } from "./api.ts";

/** As GenerateRegisterPluginFunc. */
const GET_INFO_DEADLINE_MS = 1000;
/** The kubelet waits two minutes; a driver that asks its cloud first takes seconds. */
const NODE_GET_INFO_DEADLINE_MS = 10_000;

export interface Driver {
  name: string;
  /** 0: no limit. */
  maxVolumes: number;
}

/** null: no CSI driver registers there. Never rejects. */
export async function askDriver(
  socketPath: string,
  nowMs: () => number, // monotonic: typically monotonicMs
  stop: AbortSignal,
): Promise<Result<Driver | null>> {
  const withClient = clientOf(nowMs, stop);
  const info = await withClient(socketPath, (client) => client.unary(GET_INFO, {}, GET_INFO_DEADLINE_MS));
  if (!info.ok) return failure(`GetInfo: ${faultText(info.error)}`);
  const { type, name, endpoint } = info.value;
  if (type !== CSI_PLUGIN) return success(null);
  if (name === "" || labelValueErrors(name).length > 0)
    return failure(`${JSON.stringify(name.slice(0, 100))} is not a driver's name`);
  if (endpoint !== "" && !isAbsolute(endpoint))
    return failure(`its endpoint ${JSON.stringify(endpoint.slice(0, 200))} is not an absolute path`);
  const node = await withClient(endpoint || socketPath, (client) =>
    client.unary(NODE_GET_INFO, {}, NODE_GET_INFO_DEADLINE_MS),
  );
  if (!node.ok) return failure(`NodeGetInfo of ${name}: ${faultText(node.error)}`);
  // As nodeinfomanager.updateCSINode: none when not positive, and an int32.
  const maxVolumes = Math.min(Math.max(node.value.maxVolumesPerNode, 0), FACTS_LIMITS.attachLimit);
  return success({ name, maxVolumes });
}

/** A client for one call, which ends early when `stop` is aborted. */
function clientOf(nowMs: () => number, stop: AbortSignal) {
  return async <T>(socketPath: string, call: (client: GrpcClient) => Promise<T>): Promise<T> => {
    const client = grpcClient({ socketPath, nowMs });
    stop.addEventListener("abort", client.close);
    if (stop.aborted) client.close();
    try {
      return await call(client);
    } finally {
      stop.removeEventListener("abort", client.close);
      client.close();
    }
  };
}
