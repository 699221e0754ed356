// Watches the container runtime in the background and keeps its last answers, so that a hung runtime delays no report.
import { RUNTIME_DOWN } from "../../../shared/from-report/missing-runtime.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { FACTS_LIMITS, LIMITS } from "../../../shared/protocol/limits.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { warnOncePerSource, type Warn } from "../../base/reading.ts";
import type {
  CriImage,
  RuntimeClient,
  RuntimeCondition,
  StatusAnswer,
  VersionAnswer,
} from "./runtime-client.ts";

/** Milliseconds between two readings of the status: the kubelet's interval of updateRuntimeUp. */
const STATUS_EVERY_MS = 5000;
/** The freshness of an image list: the interval of the kubelet's image manager (30 s), less 1 s for early timers. */
const IMAGES_FRESH_MS = 29_000;
/** The freshness of version and imagefs, which only a detected restart changes; a kubelet reads them every 10 s. */
const RESTART_FRESH_MS = 300_000;

/** The runtime's last answers. A field without an answer is absent. */
export interface RuntimeSnapshot {
  runtime?: NonNullable<Facts["runtime"]>;
  handlers?: NonNullable<Facts["runtimeHandlers"]>;
  features?: NonNullable<Facts["runtimeFeatures"]>;
  images?: NonNullable<Facts["images"]>;
  /** The path of a folder on imagefs. */
  imageFsPath?: string;
  /** The path of the socket of a runtime that the shim found itself, without a configured endpoint. */
  foundAt?: string;
  /** The errors that keep the Node from being Ready at present. */
  errors: NonNullable<Vitals["errors"]>;
}

interface RuntimeMonitorOptions {
  /** Makes the client, typically with runtimeClient. The client calls `onConnect` for every new connection. */
  client: (onConnect: () => void) => RuntimeClient;
  nodeStatusMaxImages: number;
  /** The monotonic clock in milliseconds. Typically monotonicMs. */
  nowMs: () => number;
  /** Calls `call` every `ms`. Returns a function that cancels the calls. Typically `every`. */
  every: (ms: number, call: () => void) => () => void;
  /** Called when `errors` have changed, on which the Ready condition depends. */
  onFlip: () => void;
  warn: Warn;
}

export interface RuntimeMonitor {
  snapshot: () => RuntimeSnapshot;
  /** Reads the status, and each other answer that is due. Never rejects. */
  refresh: () => Promise<void>;
  /** Begins the first refresh. Waits only for the runtime's status and version, which decide the Ready condition. */
  begin: () => Promise<void>;
  /** Returns whether no process has listened on the socket for SYNC_THRESHOLD_MS. */
  isGone: () => boolean;
  close: () => void;
}

interface Known extends Omit<RuntimeSnapshot, "handlers" | "features" | "errors"> {
  state: RuntimeState;
  /** The time of the last status, by the monotonic clock; before the first status, the time when the watch began. */
  answeredMs: number;
}

/** Watches the runtime until `close`. The caller must first call `refresh` or `begin`; then it refreshes every 5 s. */
export function runtimeMonitor(options: RuntimeMonitorOptions): RuntimeMonitor {
  const { nowMs, onFlip, every } = options;
  const known: Known = { state: UNKNOWN_STATE, answeredMs: nowMs() };
  const { status, version, images, imageFs, isAbsent, close } = questions(options, known);
  // A kubelet does not start before the runtime has answered Version.
  const isChecked = () => known.runtime !== undefined || known.state.runtimeError !== null;
  const errors = () => errorsOf(isChecked() ? known.state : UNKNOWN_STATE, nowMs());
  let lastSeen = JSON.stringify(errors());

  function noteFlip(): void {
    const text = JSON.stringify(errors());
    if (text === lastSeen) return;
    lastSeen = text;
    onFlip();
  }

  async function refresh(): Promise<void> {
    const now = nowMs();
    // Checks before the calls, since the errors may change with time alone: a missing answer becomes an error.
    noteFlip();
    const conditions = [status.at(now), version.at(now)].map((answered) => answered.then(noteFlip));
    await Promise.all([...conditions, images.at(now), imageFs.at(now)]);
  }

  const stop = every(STATUS_EVERY_MS, () => void refresh());
  return {
    snapshot: () => {
      const { state, answeredMs: _answeredMs, ...rest } = known;
      const { handlers, features } = state;
      return { ...rest, ...(handlers && { handlers }), ...(features && { features }), errors: errors() };
    },
    refresh,
    begin: async () => {
      void refresh();
      // Waits for the calls that `refresh` has just begun, and begins no further ones.
      await Promise.all([status.at(nowMs()), version.at(nowMs())]);
    },
    isGone: () => isAbsent() && isOverdue(known.answeredMs, nowMs()),
    close: () => {
      stop();
      close();
    },
  };
}

/** Makes one question for each kind of information. The questions store the answers in `known`. */
function questions(options: RuntimeMonitorOptions, known: Known) {
  const { nowMs, nodeStatusMaxImages } = options;
  const warnOnce = warnOncePerSource(options.warn);
  const client = options.client(() => {
    version.expire();
    imageFs.expire();
  });
  const status = question(0, async () => {
    const answer = await client.status();
    if (answer) {
      known.state = stateAfter(known.state, answer, nowMs());
      known.answeredMs = nowMs();
    } else version.expire();
    return answer !== null;
  });
  const version = question(RESTART_FRESH_MS, async () => {
    const answer = await client.version();
    if (answer) known.runtime = runtimeOf(answer);
    // While the runtime does not answer, the kubelet also reports the version Unknown.
    else if (known.runtime) known.runtime = { ...known.runtime, version: "Unknown" };
    return answer !== null;
  });
  const images = question(IMAGES_FRESH_MS, async () => {
    const listed = await client.images();
    const warn = (message: string) => warnOnce("images", message);
    if (listed) known.images = imageFacts(listed, nodeStatusMaxImages, warn);
    return listed !== null;
  });
  const imageFs = question(RESTART_FRESH_MS, async () => {
    const path = await client.imageFsPath();
    if (path !== null) known.imageFsPath = path;
    return path !== null;
  });
  return { status, version, images, imageFs, isAbsent: client.isAbsent, close: client.close };
}

function runtimeOf({ runtimeName, runtimeVersion }: VersionAnswer): NonNullable<Facts["runtime"]> {
  return {
    name: runtimeName.slice(0, FACTS_LIMITS.textLength),
    version: runtimeVersion.slice(0, FACTS_LIMITS.textLength),
  };
}

type Images = NonNullable<Facts["images"]>;

/** The most names of an image in the Node: upstream MaxNamesPerImageInNodeStatus. */
const MAX_NAMES = 5;
/** The most bytes of all images' names. Enough for 50 images with 5 names of 500 bytes each, which are 125 KiB. */
const MAX_NAMES_BYTES = 160 * 1024;

/**
 * Returns the facts of the largest images; for equal sizes, the last ID first. Mirrors upstream imageCache.set and
 * nodestatus.Images. `maxImages` is nodeStatusMaxImages; a negative number means all. Calls `warn` if the images do
 * not fit into a report.
 */
export function imageFacts(
  listed: readonly CriImage[],
  maxImages: number,
  warn: (message: string) => void,
): Images {
  const wanted = listed
    .toSorted((a, b) => b.size - a.size || Number(b.id > a.id) - Number(b.id < a.id))
    .slice(0, maxImages < 0 ? listed.length : maxImages);
  const images: Images = [];
  let bytes = 0;
  for (const { repoDigests, repoTags, size } of wanted) {
    const names = [...repoDigests, ...repoTags].slice(0, MAX_NAMES);
    bytes += names.reduce((sum, name) => sum + Buffer.byteLength(name), 0);
    if (names.some((name) => name.length > FACTS_LIMITS.imageNameLength)) continue;
    if (bytes > MAX_NAMES_BYTES || images.length === FACTS_LIMITS.images) break;
    const digests = Math.min(repoDigests.length, names.length);
    images.push({
      repoDigests: names.slice(0, digests),
      repoTags: names.slice(digests),
      sizeBytes: Math.min(size, Number.MAX_SAFE_INTEGER),
    });
  }
  const leftOut = wanted.length - images.length;
  if (leftOut > 0) warn(`${leftOut} of ${listed.length} do not fit into a report: set nodeStatusMaxImages`);
  return images;
}

/**
 * Returns `at` and `expire` for one question to the runtime. `at` makes an attempt unless the last result is fresh
 * at `nowMs`, or joins a running attempt. `expire` makes the next attempt due at once, as a failed attempt does.
 * `attempt` returns whether it succeeded, and never rejects.
 */
function question(freshForMs: number, attempt: () => Promise<boolean>) {
  let underWay: Promise<void> | null = null;
  let dueMs = -Infinity;

  async function run(nowMs: number): Promise<void> {
    const succeeded = await attempt();
    dueMs = succeeded ? nowMs + freshForMs : -Infinity;
    underWay = null;
  }

  return {
    at: (nowMs: number) => (nowMs < dueMs ? Promise.resolve() : (underWay ??= run(nowMs))),
    expire: () => {
      dueMs = -Infinity;
    },
  };
}

/** Milliseconds without a ready status after which the runtime counts as down: upstream maxWaitForContainerRuntime. */
const SYNC_THRESHOLD_MS = 30_000;

/** The state of the runtime, as the kubelet's runtimeState, with the kubelet's texts. */
export interface RuntimeState {
  /** The time of the last ready status; null before the first one. */
  lastSyncMs: number | null;
  networkError: string | null;
  runtimeError: string | null;
  handlers?: NonNullable<Facts["runtimeHandlers"]>;
  features?: NonNullable<Facts["runtimeFeatures"]>;
}

/** The state before the runtime's first answer, as in upstream newRuntimeState. */
export const UNKNOWN_STATE: RuntimeState = {
  lastSyncMs: null,
  networkError: "network state unknown",
  runtimeError: null,
};

/** Returns the state after an answer (updateRuntimeUp): only a ready runtime updates handlers and features. */
export function stateAfter(state: RuntimeState, answer: StatusAnswer, nowMs: number): RuntimeState {
  const conditions = answer.status?.conditions ?? [];
  const network = conditions.find(({ type }) => type === "NetworkReady");
  const runtime = conditions.find(({ type }) => type === "RuntimeReady");
  const networkError = network?.status ? null : `container runtime network not ready: ${described(network)}`;
  if (!runtime?.status)
    return { ...state, networkError, runtimeError: `container runtime not ready: ${described(runtime)}` };
  return {
    lastSyncMs: nowMs,
    networkError,
    runtimeError: null,
    handlers: handlersOf(answer),
    ...(answer.features && {
      features: { supplementalGroupsPolicy: answer.features.supplementalGroupsPolicy },
    }),
  };
}

/** Returns the errors that keep the Node from being Ready, as upstream runtimeErrors and networkErrors do. */
export function errorsOf(state: RuntimeState, nowMs: number): NonNullable<Vitals["errors"]> {
  const { lastSyncMs, runtimeError, networkError } = state;
  const runtime = runtimeError === null ? [] : [bounded(runtimeError)];
  if (lastSyncMs === null) runtime.unshift("container runtime status check may not have completed yet");
  else if (isOverdue(lastSyncMs, nowMs)) runtime.unshift(RUNTIME_DOWN);
  return {
    ...(runtime.length > 0 && { runtime }),
    ...(networkError !== null && { network: [bounded(networkError)] }),
  };
}

function isOverdue(atMs: number, nowMs: number): boolean {
  return nowMs - atMs >= SYNC_THRESHOLD_MS;
}

/** Returns the runtime's handlers, sorted by name: another order in the answer is no change. */
function handlersOf({ runtimeHandlers }: StatusAnswer): NonNullable<Facts["runtimeHandlers"]> {
  const handlers = runtimeHandlers.map(({ name, features }) => ({
    name,
    supportsRecursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
    supportsUserNamespaces: features?.userNamespaces ?? false,
  }));
  return handlers
    .sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)))
    .slice(0, FACTS_LIMITS.runtimeHandlers);
}

/** Returns a condition's text, as upstream RuntimeCondition.String does. Go prints a missing condition as <nil>. */
function described(condition: RuntimeCondition | undefined): string {
  if (condition === undefined) return "<nil>";
  const { type, status, reason, message } = condition;
  return `${type}=${status} reason:${reason} message:${message}`;
}

function bounded(text: string): string {
  return text.slice(0, LIMITS.textLength);
}

/** Returns the latest snapshot; null without a runtime. Typically a function of the monitor. */
export type RuntimeReader = () => RuntimeSnapshot | null;

export function runtimeErrors(snapshot: RuntimeSnapshot | null): Pick<Vitals, "errors"> {
  if (snapshot === null || Object.keys(snapshot.errors).length === 0) return {};
  return { errors: snapshot.errors };
}
