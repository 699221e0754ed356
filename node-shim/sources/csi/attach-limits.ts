// Asks each CSI driver that registers on this machine, once, for the number of volumes that it can attach here.
import { lstat, readdir, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { labelValueErrors } from "../../../shared/kubernetes/validation.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { FACTS_LIMITS } from "../../../shared/protocol/limits.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { codeOf } from "../../base/fault.ts";
import { type Opened, openTrusted } from "../../base/ownership.ts";
import type { Warn } from "../../base/reading.ts";
import { grpcClient, type GrpcClient, type Method } from "../../wire/grpc/client.ts";
import type { Schema } from "../../wire/grpc/schema.ts";
import { faultText } from "../../wire/grpc/status.ts";

/** The pause before a driver that did not answer is asked again. */
export const ASK_AGAIN_MS = 60_000;
/** The longest wait of the first report for drivers. Further reports do not wait. */
const FIRST_WAIT_MS = 500;

interface Registered {
  /** Identifies the socket file: a new socket with the same name has another stamp. */
  stamp: string;
  answer: Result<Driver | null>;
  askedMs: number;
}

interface AttachLimitsOptions {
  /** The kubelet's folder. Typically /var/lib/kubelet. */
  rootDir: string;
  nowMs: () => number; // monotonic: typically monotonicMs
  sleep: (ms: number) => Promise<void>;
  warn: Warn; // warns once about each source
}

interface AttachLimits {
  read: () => Promise<Facts["attachLimits"]>;
  /** Ends the running calls to drivers. */
  close: () => void;
}

/**
 * Returns `read` and `close`. `read` returns the limit of each driver; undefined if no driver has answered. `read`
 * asks new drivers in the background, and keeps each driver's last answer. Never rejects.
 */
export function attachLimits(options: AttachLimitsOptions): AttachLimits {
  const registered = new Map<string, Registered>();
  let round: Promise<void> | null = null;
  let isFirst = true;
  const stopping = new AbortController();

  async function read(): Promise<Facts["attachLimits"]> {
    round ??= askAll(options, registered, stopping.signal).finally(() => {
      round = null;
    });
    if (isFirst) await Promise.race([round, options.sleep(FIRST_WAIT_MS)]);
    isFirst = false;
    return limitsOf(registered, options.warn);
  }
  return { read, close: () => stopping.abort() };
}

function limitsOf(registered: ReadonlyMap<string, Registered>, warn: Warn): Facts["attachLimits"] {
  const limits = new Map<string, number>();
  for (const { answer } of registered.values()) {
    if (answer.ok && answer.value) limits.set(answer.value.name, answer.value.maxVolumes);
  }
  if (limits.size === 0) return undefined;
  const most = FACTS_LIMITS.attachLimits;
  if (limits.size > most)
    warn("attach limits", `there are ${limits.size} CSI drivers, of which the first ${most} are reported`);
  return Object.fromEntries([...limits].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, most));
}

/** Asks all drivers in parallel, since a driver may hang. Forgets drivers whose socket is missing. */
async function askAll(
  { rootDir, nowMs, warn }: AttachLimitsOptions,
  registered: Map<string, Registered>,
  stop: AbortSignal,
): Promise<void> {
  const sockets = await socketsIn(join(rootDir, "plugins_registry"), warn);
  for (const path of registered.keys()) {
    if (!sockets.has(path)) registered.delete(path);
  }
  const ask = async ([path, stamp]: [path: string, stamp: string]) => {
    const known = registered.get(path);
    const isFresh = known?.stamp === stamp && (known.answer.ok || nowMs() - known.askedMs < ASK_AGAIN_MS);
    if (isFresh) return;
    const answer = await askDriver(path, nowMs, stop);
    if (stop.aborted) return;
    if (!answer.ok) warn(`CSI driver at ${path}`, answer.error);
    registered.set(path, { stamp, answer, askedMs: nowMs() });
  };
  await Promise.all([...sockets].map(ask));
}

/** Returns a folder's sockets by name, with their stamps; skips dot files, as upstream's plugin watcher does. */
async function socketsIn(folder: string, warn: Warn): Promise<Map<string, string>> {
  const sockets = new Map<string, string>();
  let opened: Opened | undefined;
  try {
    // A file system that hangs holds a thread here, and not the shim.
    await stat(folder);
    const trusted = openTrusted(folder, "folder");
    if (!trusted.ok) {
      warn("attach limits", `${folder} is not trusted: ${trusted.error}`);
      return sockets;
    }
    opened = trusted.value;
    for (const entry of await readdir(opened.at("."), { withFileTypes: true })) {
      if (!entry.isSocket() || entry.name.startsWith(".")) continue;
      const { ino, ctimeMs } = await lstat(opened.at(entry.name));
      sockets.set(join(folder, entry.name), `${ino} ${ctimeMs}`);
    }
  } catch (error) {
    if (codeOf(error) !== "ENOENT") warn("attach limits", `${folder} cannot be read (${codeOf(error)})`);
  } finally {
    opened?.close();
  }
  return sockets;
}

/** The time limit of GetInfo, from upstream GenerateRegisterPluginFunc. */
const GET_INFO_DEADLINE_MS = 1000;
/** The time limit of NodeGetInfo: a driver that asks its cloud takes seconds. The kubelet waits two minutes. */
const NODE_GET_INFO_DEADLINE_MS = 10_000;

interface Driver {
  name: string;
  /** The most volumes that the driver can attach; 0 means no limit. */
  maxVolumes: number;
}

/** Asks a driver for its name and its limit. Returns null if the socket is no CSI driver's. Never rejects. */
async function askDriver(
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
  // As in nodeinfomanager.updateCSINode, a limit of 0 or less means no limit, and the limit is an int32.
  const maxVolumes = Math.min(Math.max(node.value.maxVolumesPerNode, 0), FACTS_LIMITS.attachLimit);
  return success({ name, maxVolumes });
}

/** Returns a function that makes a client for one call. Aborting `stop` ends the call early. */
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

// The messages of CSI drivers, from kubelet pluginregistration/v1/api.proto (package without v1) and CSI's csi.proto.

const CSI_PLUGIN = "CSIPlugin";

const empty = {} as const satisfies Schema;

const pluginInfo = {
  type: [1, "string"],
  name: [2, "string"],
  /** The path of the driver's own socket; "" if it is the registration's socket. */
  endpoint: [3, "string"],
} as const satisfies Schema;

const nodeGetInfoResponse = {
  /** The most volumes; 0 means no limit. */
  maxVolumesPerNode: [2, "int64"],
} as const satisfies Schema;

const GET_INFO = {
  path: "/pluginregistration.Registration/GetInfo",
  request: empty,
  answer: pluginInfo,
} as const satisfies Method<typeof empty, typeof pluginInfo>;

const NODE_GET_INFO = {
  path: "/csi.v1.Node/NodeGetInfo",
  request: empty,
  answer: nodeGetInfoResponse,
} as const satisfies Method<typeof empty, typeof nodeGetInfoResponse>;
