// Watches the container runtime, apart from reports: a hung runtime delays nothing, and its last answers are kept.
// state.ts interprets them.
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { FACTS_LIMITS } from "../../../shared/protocol/limits.ts";
import { sayOnce, type Warn } from "../../base/warn.ts";
import { imageFacts } from "./images.ts";
import { look } from "./look.ts";
import type { VersionAnswer } from "./methods.ts";
import type { RuntimeClient } from "./runtime-client.ts";
import { errorsOf, isOverdue, type RuntimeState, stateAfter, UNKNOWN_STATE } from "./state.ts";

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

export interface RuntimeMonitorOptions {
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
