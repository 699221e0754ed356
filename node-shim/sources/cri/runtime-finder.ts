// Finds a runtime if none is configured; watches it until no process listens on its socket, then searches every 10 s.
import { statSync } from "node:fs";
import type { Warn } from "../../base/reading.ts";
import { grpcClient } from "../../wire/grpc/client.ts";
import { type Fault, faultText } from "../../wire/grpc/status.ts";
import { CRI } from "./runtime-client.ts";
import type { RuntimeMonitor, RuntimeReader } from "./monitor.ts";

const SEARCH_EVERY_MS = 10_000;
/** The least time between two searches: until the first Ready, the caller asks for a search every 100 ms. */
const LEAST_PAUSE_MS = 1000;

interface RuntimeFinderOptions {
  /** The paths of the sockets to try, in this order. Typically RUNTIME_SOCKETS. */
  sockets: readonly string[];
  /** Makes the watch of a runtime. Typically runtimeMonitor. */
  watch: (socketPath: string, onFlip: () => void) => RuntimeMonitor;
  /** The monotonic clock in milliseconds. Typically monotonicMs. */
  nowMs: () => number;
  /** Calls `call` every `ms`. Returns a function that cancels the calls. Typically `every`. */
  every: (ms: number, call: () => void) => () => void;
  /** Called when a runtime is found or lost, and when its monitor calls onFlip. */
  onFlip: () => void;
  warn: Warn;
}

export interface RuntimeFinder {
  /** Returns the latest snapshot; null without a runtime. */
  snapshot: RuntimeReader;
  /** Searches for a runtime, or refreshes the watch of the runtime in use. Never rejects. */
  refresh: () => Promise<void>;
  close: () => void;
}

interface Found {
  path: string;
  monitor: RuntimeMonitor;
  /** true after the runtime's first answer. Without an answer, the runtime would count as not ready. */
  isKnown: boolean;
}

/** Makes a finder. Its first search begins when the caller calls `refresh`. */
export function runtimeFinder(options: RuntimeFinderOptions): RuntimeFinder {
  const { sockets, watch, nowMs, every, onFlip, warn } = options;
  const { search, close } = runtimeSearch(sockets, nowMs, warn);
  let found: Found | null = null;
  let underWay: Promise<void> | null = null;
  let notBeforeMs = -Infinity;
  let isClosed = false;

  let wasPresent = false;

  const present = () => (found?.isKnown && !found.monitor.isGone() ? found : null);

  function notify(): void {
    wasPresent = present() !== null;
    onFlip();
  }

  async function find(): Promise<void> {
    found?.monitor.close();
    found = null;
    if (wasPresent) notify();
    const path = await search();
    if (path === null || isClosed) return;
    // Only the present monitor may notify: a replaced monitor's calls may still be running.
    const flipped = () => void (found === next && next.isKnown && !isClosed && notify());
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
    return (underWay ??= find().finally(() => (underWay = null)));
  }

  const stop = every(SEARCH_EVERY_MS, () => void (present() === null && refresh()));
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

/** The paths of the sockets in the order of the search: containerd, CRI-O, and Docker by cri-dockerd. */
export const RUNTIME_SOCKETS: readonly string[] = [
  "/run/containerd/containerd.sock",
  "/run/crio/crio.sock",
  "/run/cri-dockerd.sock",
  "/var/run/cri-dockerd.sock",
];

/** The longest wait for a socket's answer; the next search tries a slow runtime again. */
const ANSWER_WITHIN_MS = 2000;

interface Socket {
  path: string;
  /** The identity of the socket file. A restarted server makes a new file with another identity. */
  identity: string;
}

/**
 * Returns `search` and `close`. `search` returns the path of the first socket whose server speaks CRI; null if
 * there is none. Never rejects. Warns about the choice, and once about each socket that is not usable, but not
 * after `close`.
 */
function runtimeSearch(sockets: readonly string[], nowMs: () => number, warn: Warn) {
  /** The identities of the sockets whose servers do not speak CRI, by path. A search skips them. */
  const withoutCri = new Map<string, string>();
  const warned = new Set<string>();
  let isFirst = true;
  let isClosed = false;

  function warnUntilClosed(message: string): void {
    if (!isClosed) warn("container runtime", message);
  }

  async function isRuntime({ path, identity }: Socket): Promise<boolean> {
    const fault = await criFault(path, nowMs);
    if (fault === null) return true;
    const isOther = fault.code === "Unimplemented";
    if (isOther) withoutCri.set(path, identity);
    const counts = `counts as no container runtime${isOther ? "" : " until it answers"}`;
    const line = `${path} ${fault.code}`;
    if (!warned.has(line)) warnUntilClosed(`${path} ${counts}: ${faultText(fault)}`);
    warned.add(line);
    return false;
  }

  async function search(): Promise<string | null> {
    const wasFirst = isFirst;
    isFirst = false;
    const there = socketsThere(sockets).filter(({ path, identity }) => withoutCri.get(path) !== identity);
    for (const [at, socket] of there.entries()) {
      if (!(await isRuntime(socket))) continue;
      const { path } = socket;
      const others = there.slice(at + 1).map((other) => other.path);
      if (others.length > 0)
        warnUntilClosed(`${path} is used, not ${others.join(", ")}: set containerRuntimeEndpoint to choose`);
      else if (!wasFirst) warnUntilClosed(`${path} is there now, and used`);
      return path;
    }
    return null;
  }

  return { search, close: () => void (isClosed = true) };
}

/** Returns the sockets that exist at some of these paths. A socket with two paths is returned once. */
function socketsThere(paths: readonly string[]): Socket[] {
  const there = paths.flatMap((path) => {
    const identity = identityOf(path);
    return identity === null ? [] : { path, identity };
  });
  return there.filter(({ identity }, at) => there.findIndex((other) => other.identity === identity) === at);
}

/** Returns a socket's identity, or null; with the change time, as a new socket often gets the former one's inode. */
function identityOf(path: string): string | null {
  try {
    const stat = statSync(path);
    return stat.isSocket() ? `${stat.dev} ${stat.ino} ${stat.ctimeMs}` : null;
  } catch {
    return null;
  }
}

/** Returns the reason why the socket's server is no container runtime; null if it is one. */
async function criFault(socketPath: string, nowMs: () => number): Promise<Fault | null> {
  const client = grpcClient({ socketPath, nowMs });
  const answer = await client.unary(CRI.version, {}, ANSWER_WITHIN_MS);
  client.close();
  return answer.ok ? null : answer.error;
}
