// Watches a container runtime that nobody configured, from when one is found until it is gone. Looks again now and then.
// Decides nothing: where none is, it says so.
import type { Warn } from "../../base/warn.ts";
import type { RuntimeMonitor } from "./monitor.ts";
import type { RuntimeReader } from "./runtime-reader.ts";
import { runtimeSearch } from "./runtime-search.ts";

/** How often one is looked for. */
const LOOK_EVERY_MS = 10_000;
/** While the first Ready is waited for, the caller asks every 100 ms. */
const LEAST_PAUSE_MS = 1000;

export interface RuntimeFinderOptions {
  /** Where a runtime may listen, the preferred one first; typically RUNTIME_SOCKETS. */
  sockets: readonly string[];
  /** Makes the watch of a runtime; typically runtimeMonitor. */
  watch: (socketPath: string, onFlip: () => void) => RuntimeMonitor;
  /** Monotonic; typically monotonicMs. */
  nowMs: () => number;
  /** Calls back repeatedly until it is cancelled; typically every. */
  every: (ms: number, call: () => void) => () => void;
  /** Called when a runtime is found or gone, and as its monitor does. */
  onFlip: () => void;
  warn: Warn;
}

export interface RuntimeFinder {
  /** null: no runtime is there. */
  snapshot: RuntimeReader;
  /** Looks for a runtime, or asks the one that is used. Takes as long as they do; never rejects. */
  refresh: () => Promise<void>;
  close: () => void;
}

interface Found {
  path: string;
  monitor: RuntimeMonitor;
  /** Has it answered for the first time? Before, it would look like one that is not ready. */
  isKnown: boolean;
}

/** The first look is the caller's `refresh`. */
export function runtimeFinder(options: RuntimeFinderOptions): RuntimeFinder {
  const { sockets, watch, nowMs, every, onFlip, warn } = options;
  const { search, close } = runtimeSearch(sockets, nowMs, warn);
  let found: Found | null = null;
  let underWay: Promise<void> | null = null;
  let notBeforeMs = -Infinity;
  let isClosed = false;

  let wasPresent = false;

  const present = () => (found?.isKnown && !found.monitor.isGone() ? found : null);

  function tell(): void {
    wasPresent = present() !== null;
    onFlip();
  }

  async function look(): Promise<void> {
    found?.monitor.close();
    found = null;
    if (wasPresent) tell();
    const path = await search();
    if (path === null || isClosed) return;
    // One that was replaced may still have calls under way.
    const flipped = () => void (found === next && next.isKnown && !isClosed && tell());
    const next: Found = { path, monitor: watch(path, flipped), isKnown: false };
    found = next;
    await next.monitor.begin();
    next.isKnown = !isClosed;
    flipped();
  }

  function refresh(): Promise<void> {
    const runtime = present();
    if (runtime) return runtime.monitor.refresh();
    if (isClosed || (underWay === null && nowMs() < notBeforeMs)) return Promise.resolve();
    notBeforeMs = nowMs() + LEAST_PAUSE_MS;
    return (underWay ??= look().finally(() => (underWay = null)));
  }

  const stop = every(LOOK_EVERY_MS, () => void (present() === null && refresh()));
  return {
    snapshot: () => {
      const runtime = present();
      return runtime && { ...runtime.monitor.snapshot(), foundAt: runtime.path };
    },
    refresh,
    close: () => {
      isClosed = true;
      stop();
      close();
      found?.monitor.close();
    },
  };
}
