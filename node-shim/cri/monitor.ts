// Watches the container runtime, apart from reports: a hung runtime delays nothing, and what it last said stays known.
// What its answers mean is state.ts's.
import { type Facts, FACTS_LIMITS } from "../../shared/facts.ts";
import type { Vitals } from "../../shared/protocol.ts";
import { sayOnce } from "../gather/warn.ts";
import { imageFacts } from "./images.ts";
import { look } from "./look.ts";
import type { VersionAnswer } from "./methods.ts";
import { runtimeClient, type RuntimeClientOptions } from "./runtime-client.ts";
import { errorsOf, type RuntimeState, stateAfter, UNKNOWN_STATE } from "./state.ts";

/** As updateRuntimeUp is called. */
const STATUS_EVERY_MS = 5000;
/** A kubelet asks with every status update, and with every look at eviction signals; a second less is in time. */
const VERSION_FRESH_MS = 9000;
const IMAGE_FS_FRESH_MS = 9000;
/** As the image manager lists them. */
const IMAGES_FRESH_MS = 29_000;

/** What is known of the runtime; what never was is absent. */
export interface RuntimeSnapshot {
  runtime?: NonNullable<Facts["runtime"]>;
  handlers?: NonNullable<Facts["runtimeHandlers"]>;
  features?: NonNullable<Facts["runtimeFeatures"]>;
  images?: NonNullable<Facts["images"]>;
  /** A folder on imagefs. */
  imageFsPath?: string;
  /** What keeps the Node from being Ready, as of now. */
  errors: NonNullable<Vitals["errors"]>;
}

export interface RuntimeMonitorOptions extends RuntimeClientOptions {
  nodeStatusMaxImages: number;
  /** Calls back again and again until it is cancelled; typically setInterval and clearInterval. */
  every: (ms: number, call: () => void) => () => void;
  /** When `errors` are others than before: the Ready condition depends on them. */
  onFlip: () => void;
}

export interface RuntimeMonitor {
  snapshot: () => RuntimeSnapshot;
  /** Asks for the status now, and for what else is due. Takes as long as the runtime; never rejects. */
  refresh: () => Promise<void>;
  close: () => void;
}

/** Watches until closed. The first look is the caller's `refresh`, the others follow every 5 s. */
export function runtimeMonitor(options: RuntimeMonitorOptions): RuntimeMonitor {
  const { nowMs, onFlip, nodeStatusMaxImages } = options;
  const warnOnce = sayOnce(options.warn);
  const client = runtimeClient(options);
  let state: RuntimeState = UNKNOWN_STATE;
  const known: Omit<RuntimeSnapshot, "handlers" | "features" | "errors"> = {};

  const status = look(0, async () => {
    const answer = await client.status();
    if (answer) state = stateAfter(state, answer, nowMs());
    return answer !== null;
  });
  const version = look(VERSION_FRESH_MS, async () => {
    const answer = await client.version();
    if (answer) known.runtime = runtimeOf(answer);
    // As the kubelet writes it while the runtime does not answer.
    else if (known.runtime) known.runtime = { ...known.runtime, version: "Unknown" };
    return answer !== null;
  });
  const images = look(IMAGES_FRESH_MS, async () => {
    const listed = await client.images();
    if (listed)
      known.images = imageFacts(listed, nodeStatusMaxImages, (message) => warnOnce("images", message));
    return listed !== null;
  });
  const imageFs = look(IMAGE_FS_FRESH_MS, async () => {
    const path = await client.imageFsPath();
    if (path !== null) known.imageFsPath = path;
    return path !== null;
  });

  const errors = () => errorsOf(state, nowMs());
  let told = JSON.stringify(errors());
  const tellFlip = () => {
    const text = JSON.stringify(errors());
    if (text === told) return;
    told = text;
    onFlip();
  };

  async function refresh(): Promise<void> {
    const now = nowMs();
    // Silence becomes an error while an answer is still waited for.
    tellFlip();
    await Promise.all([status(now).then(tellFlip), version(now), images(now), imageFs(now)]);
  }

  const stop = options.every(STATUS_EVERY_MS, () => void refresh());
  return {
    snapshot: () => ({
      ...known,
      ...(state.handlers && { handlers: state.handlers }),
      ...(state.features && { features: state.features }),
      errors: errors(),
    }),
    refresh,
    close: () => {
      stop();
      client.close();
    },
  };
}

function runtimeOf({ runtimeName, runtimeVersion }: VersionAnswer): NonNullable<Facts["runtime"]> {
  return {
    name: runtimeName.slice(0, FACTS_LIMITS.textLength),
    version: runtimeVersion.slice(0, FACTS_LIMITS.textLength),
  };
}
