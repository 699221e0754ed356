// Watches the container runtime, apart from reports: a hung runtime delays nothing, and its last answers are kept.
// state.ts interprets them.
import { RUNTIME_DOWN } from "../../../shared/from-report/missing-runtime.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { FACTS_LIMITS, LIMITS } from "../../../shared/protocol/limits.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { sayOnce, type Warn } from "../../base/reading.ts";
import type {
  CriImage,
  RuntimeClient,
  RuntimeCondition,
  StatusAnswer,
  VersionAnswer,
} from "./runtime-client.ts";

/** As often as the kubelet calls updateRuntimeUp. */
const STATUS_EVERY_MS = 5000;
/** As often as the kubelet's image manager lists them, less what a timer may be early. */
const IMAGES_FRESH_MS = 29_000;
/**
 * A kubelet asks for version and imagefs every 10 s. They change only when the runtime restarts, which is noticed:
 * asking rarely saves half of the calls.
 */
const RESTART_FRESH_MS = 300_000;

/** What is known about the runtime; what never was known is absent. */
export interface RuntimeSnapshot {
  runtime?: NonNullable<Facts["runtime"]>;
  handlers?: NonNullable<Facts["runtimeHandlers"]>;
  features?: NonNullable<Facts["runtimeFeatures"]>;
  images?: NonNullable<Facts["images"]>;
  /** A folder on imagefs. */
  imageFsPath?: string;
  /** The socket of a runtime that nobody configured. */
  foundAt?: string;
  /** What keeps the Node from being Ready, as of now. */
  errors: NonNullable<Vitals["errors"]>;
}

interface RuntimeMonitorOptions {
  /**
   * Makes the client; typically runtimeClient. It calls `onConnect` when the runtime may be another one than before.
   */
  client: (onConnect: () => void) => RuntimeClient;
  nodeStatusMaxImages: number;
  /** Monotonic; typically monotonicMs. */
  nowMs: () => number;
  /** Calls back repeatedly until it is cancelled; typically every. */
  every: (ms: number, call: () => void) => () => void;
  /** Called when `errors` have changed: the Ready condition depends on them. */
  onFlip: () => void;
  warn: Warn;
}

export interface RuntimeMonitor {
  snapshot: () => RuntimeSnapshot;
  /** Asks for the status now, and for everything that is due. Takes as long as the runtime; never rejects. */
  refresh: () => Promise<void>;
  /** The first refresh, as far as the Ready condition depends on it: images may take longer. */
  begin: () => Promise<void>;
  /** Has nobody listened for as long as it takes until a runtime is down? */
  isGone: () => boolean;
  close: () => void;
}

interface Known extends Omit<RuntimeSnapshot, "handlers" | "features" | "errors"> {
  state: RuntimeState;
  /** When it last answered for its status, by the monotonic clock; at first when the watch began. */
  answeredMs: number;
}

/** Watches until closed. The first look is the caller's `refresh`, the others follow every 5 s. */
export function runtimeMonitor(options: RuntimeMonitorOptions): RuntimeMonitor {
  const { nowMs, onFlip, every } = options;
  const known: Known = { state: UNKNOWN_STATE, answeredMs: nowMs() };
  const { status, version, images, imageFs, isAbsent, close } = looks(options, known);
  const errors = () => errorsOf(known.state, nowMs());
  let lastSeen = JSON.stringify(errors());

  function noteFlip(): void {
    const text = JSON.stringify(errors());
    if (text === lastSeen) return;
    lastSeen = text;
    onFlip();
  }

  async function refresh(): Promise<void> {
    const now = nowMs();
    // A missing answer becomes an error while the call is still under way.
    noteFlip();
    await Promise.all([status.at(now).then(noteFlip), version.at(now), images.at(now), imageFs.at(now)]);
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
      // Joins the looks that are under way.
      await Promise.all([status.at(nowMs()), version.at(nowMs())]);
    },
    isGone: () => isAbsent() && isOverdue(known.answeredMs, nowMs()),
    close: () => {
      stop();
      close();
    },
  };
}

/** One look for each kind of information; they write their results into `known`. */
function looks(options: RuntimeMonitorOptions, known: Known) {
  const { nowMs, nodeStatusMaxImages } = options;
  const warnOnce = sayOnce(options.warn);
  const client = options.client(() => {
    version.expire();
    imageFs.expire();
  });
  const status = look(0, async () => {
    const answer = await client.status();
    if (answer) {
      known.state = stateAfter(known.state, answer, nowMs());
      known.answeredMs = nowMs();
    } else version.expire();
    return answer !== null;
  });
  const version = look(RESTART_FRESH_MS, async () => {
    const answer = await client.version();
    if (answer) known.runtime = runtimeOf(answer);
    // The kubelet writes this as well while the runtime does not answer.
    else if (known.runtime) known.runtime = { ...known.runtime, version: "Unknown" };
    return answer !== null;
  });
  const images = look(IMAGES_FRESH_MS, async () => {
    const listed = await client.images();
    const say = (message: string) => warnOnce("images", message);
    if (listed) known.images = imageFacts(listed, nodeStatusMaxImages, say);
    return listed !== null;
  });
  const imageFs = look(RESTART_FRESH_MS, async () => {
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

// Makes the facts' images out of the runtime's: in the kubelet's order, and no more than fit into a report.

type Images = NonNullable<Facts["images"]>;

/** Upstream MaxNamesPerImageInNodeStatus: more are never shown. */
const MAX_NAMES = 5;
/** Bytes of all images' names. 50 images with 5 names of 500 bytes each are 125 KiB; the rest is for other facts. */
const MAX_NAMES_BYTES = 160 * 1024;

/**
 * Upstream imageCache.set and what nodestatus.Images shows of it: by size, largest first, ties by ID, last first.
 * `maxImages` is nodeStatusMaxImages; negative: all. Calls `say` when they do not fit into a report.
 */
export function imageFacts(
  listed: readonly CriImage[],
  maxImages: number,
  say: (message: string) => void,
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
  if (leftOut > 0) say(`${leftOut} of ${listed.length} do not fit into a report: set nodeStatusMaxImages`);
  return images;
}

// Repeats an attempt when it is due: one at a time, and not while its result is fresh. Has no clock of its own.

interface Look {
  /** Looks when it is due at `nowMs`; joins a look that is under way. */
  at: (nowMs: number) => Promise<void>;
  /** The result may be out of date: the next look is due at once. */
  expire: () => void;
}

/** `attempt` returns whether it succeeded; a failed one is due again at once. It must not reject. */
function look(freshForMs: number, attempt: () => Promise<boolean>): Look {
  let underWay: Promise<void> | null = null;
  let dueMs = -Infinity;

  async function run(nowMs: number): Promise<void> {
    const succeeded = await attempt();
    dueMs = succeeded ? nowMs + freshForMs : -Infinity;
    underWay = null;
  }

  return {
    at: (nowMs) => (nowMs < dueMs ? Promise.resolve() : (underWay ??= run(nowMs))),
    expire: () => {
      dueMs = -Infinity;
    },
  };
}

// Interprets the runtime's answers as the kubelet's runtimeState and updateRuntimeUp do, with the same texts. Calls no
// runtime; the clock is an argument.

/** maxWaitForContainerRuntime */
const SYNC_THRESHOLD_MS = 30_000;

export interface RuntimeState {
  /** When the runtime was last seen ready, by the caller's clock; null: never. */
  lastSyncMs: number | null;
  networkError: string | null;
  runtimeError: string | null;
  handlers?: NonNullable<Facts["runtimeHandlers"]>;
  features?: NonNullable<Facts["runtimeFeatures"]>;
}

/** Before the first answer (newRuntimeState). */
export const UNKNOWN_STATE: RuntimeState = {
  lastSyncMs: null,
  networkError: "network state unknown",
  runtimeError: null,
};

/** Upstream updateRuntimeUp, with an answer. Handlers and features are taken from a ready runtime alone. */
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

/** Upstream runtimeErrors and networkErrors: what keeps the Node from being Ready. */
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

/** Is a sign of life from then too old by now? */
function isOverdue(atMs: number, nowMs: number): boolean {
  return nowMs - atMs >= SYNC_THRESHOLD_MS;
}

/** Sorted by name, so that another order is no change. */
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

/** RuntimeCondition.String; Go prints a missing one as <nil>. */
function described(condition: RuntimeCondition | undefined): string {
  if (condition === undefined) return "<nil>";
  const { type, status, reason, message } = condition;
  return `${type}=${status} reason:${reason} message:${message}`;
}

function bounded(text: string): string {
  return text.slice(0, LIMITS.textLength);
}

// How facts and vitals read what the monitor knows about the container runtime.

/** The latest snapshot; null on a machine without a runtime. Typically the monitor's. */
export type RuntimeReader = () => RuntimeSnapshot | null;

export function runtimeErrors(snapshot: RuntimeSnapshot | null): Pick<Vitals, "errors"> {
  if (snapshot === null || Object.keys(snapshot.errors).length === 0) return {};
  return { errors: snapshot.errors };
}
