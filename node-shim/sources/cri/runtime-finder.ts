// Watches a container runtime that nobody configured, from when one is found until it is gone. Looks again now and then.
// Decides nothing: where none is, it says so.
import { statSync } from "node:fs";
import type { Warn } from "../../base/reading.ts";
import { grpcClient } from "../../wire/grpc/client.ts";
import { type Fault, faultText } from "../../wire/grpc/status.ts";
import { CRI } from "./runtime-client.ts";
import type { RuntimeMonitor, RuntimeReader } from "./monitor.ts";

/** How often one is looked for. */
const LOOK_EVERY_MS = 10_000;
/** While the first Ready is waited for, the caller asks every 100 ms. */
const LEAST_PAUSE_MS = 1000;

interface RuntimeFinderOptions {
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

// Searches for a container runtime that nobody configured: the first socket that is there and whose owner speaks CRI.
// Says which one it chose where there are several, and what does not count.

/** In the order in which they are tried: containerd, CRI-O, and Docker by cri-dockerd. */
export const RUNTIME_SOCKETS: readonly string[] = [
  "/run/containerd/containerd.sock",
  "/run/crio/crio.sock",
  "/run/cri-dockerd.sock",
  "/var/run/cri-dockerd.sock",
];

/** A runtime that works answers in a few milliseconds. One that does not is asked again with the next search. */
const ANSWER_WITHIN_MS = 2000;

interface RuntimeSearch {
  /** The path of the socket; null: there is no runtime. Without sockets it costs a `stat` for each. Never rejects. */
  search: () => Promise<string | null>;
  /** Says nothing from now on. */
  close: () => void;
}

interface Socket {
  path: string;
  /** Another socket under the same path, after a restart, has another identity. */
  identity: string;
}

/** `sockets`: where a runtime may listen, the preferred one first. `nowMs`: monotonic; typically monotonicMs. */
function runtimeSearch(sockets: readonly string[], nowMs: () => number, warn: Warn): RuntimeSearch {
  /** Of those without CRI, by path: they are not asked again, until another one listens there. */
  const without = new Map<string, string>();
  /** What does not count is said once. */
  const said = new Set<string>();
  let isFirst = true;
  let isClosed = false;

  function say(message: string): void {
    if (!isClosed) warn("container runtime", message);
  }

  async function isRuntime({ path, identity }: Socket): Promise<boolean> {
    const fault = await criFault(path, nowMs);
    if (fault === null) return true;
    const isOther = fault.code === "Unimplemented";
    if (isOther) without.set(path, identity);
    const counts = `counts as no container runtime${isOther ? "" : " until it answers"}`;
    const line = `${path} ${fault.code}`;
    if (!said.has(line)) say(`${path} ${counts}: ${faultText(fault)}`);
    said.add(line);
    return false;
  }

  async function search(): Promise<string | null> {
    const wasFirst = isFirst;
    isFirst = false;
    const there = socketsThere(sockets).filter(({ path, identity }) => without.get(path) !== identity);
    for (const [at, socket] of there.entries()) {
      if (!(await isRuntime(socket))) continue;
      const { path } = socket;
      const others = there.slice(at + 1).map((other) => other.path);
      if (others.length > 0)
        say(`${path} is used, not ${others.join(", ")}: set containerRuntimeEndpoint to choose`);
      else if (!wasFirst) say(`${path} is there now, and used`);
      return path;
    }
    return null;
  }

  return { search, close: () => void (isClosed = true) };
}

/** Two paths to the same socket are one. */
function socketsThere(paths: readonly string[]): Socket[] {
  const there = paths.flatMap((path) => {
    const identity = identityOf(path);
    return identity === null ? [] : { path, identity };
  });
  return there.filter(({ identity }, at) => there.findIndex((other) => other.identity === identity) === at);
}

/** With the time, since a socket that is made anew often gets the inode of the one before. */
function identityOf(path: string): string | null {
  try {
    const stat = statSync(path);
    return stat.isSocket() ? `${stat.dev} ${stat.ino} ${stat.ctimeMs}` : null;
  } catch {
    return null;
  }
}

/** Why whoever listens there is no runtime; null: it is one. */
async function criFault(socketPath: string, nowMs: () => number): Promise<Fault | null> {
  const client = grpcClient({ socketPath, nowMs });
  const answer = await client.unary(CRI.version, {}, ANSWER_WITHIN_MS);
  client.close();
  return answer.ok ? null : answer.error;
}
