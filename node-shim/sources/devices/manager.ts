// Serves this machine's device plugins as a kubelet's device manager does, but allocates no devices.
import { join } from "node:path";
import * as z from "zod/mini";
import { isExtendedResourceName } from "../../../shared/kubernetes/resource-names.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { FACTS_LIMITS } from "../../../shared/protocol/limits.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { faultOf } from "../../base/fault.ts";
import type { Log, LogMessage } from "../../base/log.ts";
import { parseJson, readIfThere, replacedFile } from "../../base/state-file.ts";
import { grpcClient } from "../../wire/grpc/client.ts";
import type { ProtoMessage } from "../../wire/grpc/schema.ts";
import { serve } from "../../wire/grpc/server.ts";
import { type Fault, fault, faultText } from "../../wire/grpc/status.ts";
import { GET_OPTIONS, LIST_AND_WATCH, REGISTER, VERSION } from "./api.ts";
import { takeRegistrationSocket } from "./registration-socket.ts";
import { type DeviceResources, deviceResources, type KnownResources } from "./resources.ts";

interface DeviceManagerOptions {
  /** The folder of kubelet.sock. Typically /var/lib/kubelet/device-plugins. */
  folder: string;
  /** The state folder, which this process must have locked. */
  stateFolder: string;
  nowMs: () => number; // monotonic: typically monotonicMs
  sleep: (ms: number) => Promise<void>;
  log: Log;
}

export interface DeviceManager {
  /** Returns the devices for the facts. Also keeps the socket and the record up to date. Never rejects. */
  read: () => Promise<NonNullable<Facts["devices"]>>;
  close: () => Promise<void>;
}

/** Takes the socket and serves plugins. Throws, with the remedy, if a kubelet runs or folder or record is unusable. */
export async function startDeviceManager(options: DeviceManagerOptions): Promise<DeviceManager> {
  const { folder, stateFolder, nowMs, log } = options;
  const before = readRecord(stateFolder, (message) => log("warn", message));
  const resources = deviceResources(before ?? { registered: [], removed: [] }, nowMs);
  const keepRecord = recordKeeper(stateFolder, before, resources, log);
  const serving: Serving = { ...options, resources, plugins: new Map(), keepRecord, open: true };
  const methods = [serve(REGISTER, (request) => register(request, serving))];
  let socket = await takeRegistrationSocket(folder, methods);

  async function checkSocket(): Promise<void> {
    const owner = serving.open ? await socket.owner() : "us";
    if (owner === "us") return;
    await socket.close();
    if (owner === "another process") throw new Error(`another process took the socket in ${folder}`);
    log("warn", `device plugins: the socket in ${folder} was removed: listening again`);
    socket = await takeRegistrationSocket(folder, methods);
  }

  return {
    async read() {
      try {
        await checkSocket();
      } catch (error) {
        log("warn", `device plugins: ${faultOf(error)}; restart the shim once it may have it again`);
        stopServing(serving);
      }
      const counts = resources.counts();
      return { ...counts, recorded: await keepRecord() };
    },
    async close() {
      stopServing(serving);
      await socket.close();
    },
  };
}

interface Serving extends DeviceManagerOptions {
  resources: DeviceResources;
  /** The connected plugins of each resource, by their endpoints. */
  plugins: Map<string, Map<string, Plugin>>;
  keepRecord: () => Promise<boolean>;
  /** true while plugins are served. Once false, never true again. */
  open: boolean;
}

function stopServing(serving: Serving): void {
  serving.open = false;
  for (const [name, plugins] of serving.plugins) {
    for (const [endpoint, plugin] of plugins) {
      plugin.close();
      serving.resources.lost(name, endpoint);
    }
  }
  serving.plugins.clear();
}

/** Handles a plugin's registration as upstream server.Register does, with its error texts. */
async function register(
  request: ProtoMessage<typeof REGISTER.request>,
  serving: Serving,
): Promise<Result<object, Fault>> {
  const { resourceName } = request;
  const wrong = registrationFault(request) ?? (await addPlugin(request, serving));
  if (wrong === null) {
    serving.log("info", `device plugin for ${resourceName} registered`);
    return success({});
  }
  serving.log("warn", `device plugin refused: ${wrong}`);
  return fault("Unknown", wrong);
}

/** Connects to a plugin and counts its devices from then on. Returns the reason if that fails, else null. */
async function addPlugin(
  { endpoint, resourceName }: ProtoMessage<typeof REGISTER.request>,
  serving: Serving,
): Promise<string | null> {
  const { folder, nowMs, sleep, log, resources, keepRecord } = serving;
  const plugin = await connectPlugin({
    folder,
    endpoint,
    nowMs,
    sleep,
    onList(devices) {
      resources.listed(resourceName, devices);
      void keepRecord();
    },
    onLost(why) {
      serving.plugins.get(resourceName)?.delete(endpoint);
      const gone = `device plugin for ${resourceName} is gone: ${why}` as const;
      if (!resources.lost(resourceName, endpoint))
        return log("warn", `${gone}; another plugin serves the resource`);
      serving.plugins.delete(resourceName);
      log("warn", `${gone}; its devices are unhealthy, and 0 in 5 minutes`);
    },
  });
  if (!plugin.ok) return `${resourceName}: ${plugin.error}`;
  const refusal = serving.open ? roomFault(resourceName, endpoint, serving) : "the shim is ending";
  if (refusal !== null) {
    plugin.value.close();
    return refusal;
  }
  const plugins = serving.plugins.get(resourceName) ?? new Map<string, Plugin>();
  // A plugin that registers again at the same socket has restarted: its former connection is useless.
  plugins.get(endpoint)?.close();
  plugins.set(endpoint, plugin.value);
  serving.plugins.set(resourceName, plugins);
  resources.connected(resourceName, endpoint);
  plugin.value.watch();
  return null;
}

/** The most plugins of one resource. Two are usual while a plugin is replaced. */
const PLUGINS_OF_ONE_RESOURCE = 16;

function roomFault(resourceName: string, endpoint: string, { resources, plugins }: Serving): string | null {
  if (!resources.hasRoomFor(resourceName))
    return `${resourceName}: there are ${FACTS_LIMITS.extendedResources} resources already`;
  const others = plugins.get(resourceName);
  if (!others || others.has(endpoint) || others.size < PLUGINS_OF_ONE_RESOURCE) return null;
  return `${resourceName}: there are ${PLUGINS_OF_ONE_RESOURCE} plugins already`;
}

function registrationFault({
  version,
  endpoint,
  resourceName,
}: ProtoMessage<typeof REGISTER.request>): string | null {
  const quoted = (text: string) => JSON.stringify(text.slice(0, 317));
  if (version !== VERSION)
    return `requested API version ${quoted(version)} is not supported by kubelet. Supported version is ["${VERSION}"]`;
  if (!isExtendedResourceName(resourceName)) return `the ResourceName ${quoted(resourceName)} is invalid`;
  if (endpoint === "" || endpoint.includes("/") || [".", ".."].includes(endpoint))
    return `the endpoint ${quoted(endpoint)} is not a name in the folder of this socket`;
  return null;
}

/** The longest wait for the write of the record. */
const RECORD_GIVE_UP_MS = 2000;

/** Returns the file of the record, which upstream calls a checkpoint. */
export const recordFile = (stateFolder: string) =>
  replacedFile(pathOf(stateFolder), { mode: 0o600, giveUpMs: RECORD_GIVE_UP_MS, durably: true });

/** Returns a function that writes the record if the resources changed, and returns whether a record exists. */
function recordKeeper(
  stateFolder: string,
  before: KnownResources | null,
  resources: DeviceResources,
  log: Log,
): () => Promise<boolean> {
  const file = recordFile(stateFolder);
  let kept = before === null ? null : JSON.stringify(before);
  let failed = false;
  return async () => {
    const known = resources.known();
    const text = JSON.stringify(known);
    const isNothing = known.registered.length + known.removed.length === 0;
    // No record is made for a machine that never had devices, as in upstream.
    if (text === kept || (kept === null && isNothing)) return kept !== null;
    const fault = await file.write(text);
    if (fault === null) kept = text;
    else if (!failed) log("warn", `device plugins: ${fault}: the shim reports, and stores its record later`);
    failed = fault !== null;
    return kept !== null;
  };
}

/** The longest wait for a plugin that does not listen yet: as upstream, one may register just before it listens. */
const DIAL_GIVE_UP_MS = 10_000;
const DIAL_EVERY_MS = 500;

interface PluginOptions {
  /** The folder of kubelet.sock. */
  folder: string;
  /** The name of the plugin's socket in `folder`. */
  endpoint: string;
  nowMs: () => number; // monotonic: typically monotonicMs
  sleep: (ms: number) => Promise<void>;
  onList: (devices: readonly { ID: string; health: string }[]) => void;
  /** Called once when the connection ends, unless `close` ended it. */
  onLost: (why: string) => void;
}

interface Plugin {
  watch: () => void;
  close: () => void;
}

/** Connects to a plugin, and waits until the plugin answers, as upstream client.Connect does. */
async function connectPlugin(options: PluginOptions): Promise<Result<Plugin>> {
  const { folder, endpoint, nowMs, sleep } = options;
  const client = grpcClient({ socketPath: join(folder, endpoint), nowMs });
  const fault = await dial(() => client.unary(GET_OPTIONS, {}, DIAL_GIVE_UP_MS), nowMs, sleep);
  if (fault) {
    client.close();
    return failure(`failed to get device plugin options: ${faultText(fault)}`);
  }
  let open = true;
  return success({
    watch() {
      client.serverStream(
        LIST_AND_WATCH,
        {},
        {
          onMessage: ({ devices }) => {
            if (open) options.onList(devices);
          },
          onEnd: (ended) => {
            if (!open) return;
            open = false;
            client.close();
            options.onLost(ended ? faultText(ended) : "it ended its stream");
          },
        },
      );
    },
    close() {
      open = false;
      client.close();
    },
  });
}

/** Repeats `call` while no process listens, as upstream's dial; null once the plugin answers, else the fault. */
async function dial(
  call: () => Promise<Result<unknown, Fault>>,
  nowMs: () => number,
  sleep: (ms: number) => Promise<void>,
): Promise<Fault | null> {
  const startMs = nowMs();
  for (;;) {
    const answer = await call();
    if (answer.ok) return null;
    if (answer.error.code !== "Unavailable" || nowMs() - startMs >= DIAL_GIVE_UP_MS) return answer.error;
    await sleep(DIAL_EVERY_MS);
  }
}

const names = z
  .array(z.string().check(z.refine(isExtendedResourceName)))
  .check(z.maxLength(FACTS_LIMITS.extendedResources));
const recordSchema = z.strictObject({ registered: names, removed: names });

/**
 * Reads the record of the resources that device plugins have announced. Returns
 * null without a record, or for a damaged record. Reading it as an empty record would leave a removed plugin's
 * resource in the Node for ever. Throws, with the remedy, if the file is unreadable or not trusted.
 */
export function readRecord(
  stateFolder: string,
  warn: (message: LogMessage) => void, // called for a damaged record
): KnownResources | null {
  const path = pathOf(stateFolder);
  const text = readIfThere(path);
  if (text === null) return null;
  const parsed = recordSchema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  warn(`${path} is damaged: the Node's extended resources are 0 until their device plugins register`);
  return null;
}

function pathOf(stateFolder: string): string {
  return join(stateFolder, "devices.json");
}

/**
 * Returns `gathering` and `close`. `gathering` resolves with a `gather` that adds the devices to the facts. It
 * rejects, with the remedy, if the device manager cannot start. `close` may also be called during the start, and
 * stops it.
 */
export function startDevices<G extends { facts: Facts }>(
  gather: () => Promise<G>,
  folder: string | undefined, // --device-plugins
  options: Omit<DeviceManagerOptions, "folder">,
) {
  const starting =
    folder === undefined
      ? Promise.resolve(formerDevices(options.stateFolder))
      : startDeviceManager({ ...options, folder });
  const gatherBoth = (manager: DeviceManager | null) => async (): Promise<G> => {
    if (manager === null) return gather();
    const [gathered, devices] = await Promise.all([gather(), manager.read()]);
    return { ...gathered, facts: { ...gathered.facts, devices } };
  };
  const close = async () => {
    const manager = await starting.catch(() => null);
    await manager?.close();
  };
  return { gathering: starting.then(gatherBoth), close };
}

/** Returns a manager without --device-plugins: an earlier run's resources count as removed; null without such a run. */
function formerDevices(stateFolder: string): DeviceManager | null {
  const before = readRecord(stateFolder, () => undefined);
  if (before === null) return null;
  const removed = [...before.registered, ...before.removed].slice(0, FACTS_LIMITS.extendedResources);
  const devices = { capacity: {}, allocatable: {}, removed, recorded: true };
  return { read: () => Promise.resolve(devices), close: () => Promise.resolve() };
}
