// Loads the Worker's sources into this process, with replacements of what only workerd has. A thread or process that
// loads them runs nothing else, because the replacements are global.
import { registerHooks } from "node:module";
import { webcrypto } from "node:crypto";
import { instantSubtle } from "./instant-crypto.ts";
import type { ObjectClass } from "./objects.ts";
import { WebSocketPair, WebSocketRequestResponsePair } from "./web-sockets.ts";
import { currentMs } from "./worker-clock.ts";

/** The Worker's entry: its routes, its cron trigger and the classes of its objects. */
export interface LoadedWorker {
  fetch: (request: Request, env: object, context: object) => Promise<Response>;
  scheduled: (controller: { scheduledTime: number }, env: object) => Promise<void>;
  classes: Readonly<Record<"NODES" | "REGISTRY" | "CLUSTER" | "GATEWAYS" | "INDEX", ObjectClass>>;
}

const ROOT = new URL("../../../", import.meta.url).href;
const CLOCK = new URL("./worker-clock.ts", import.meta.url).href;
const PLATFORM = new URL("./cloudflare-workers.ts", import.meta.url).href;

/** A Response that may open a socket, as workerd's. */
class SocketResponse extends Response {
  readonly webSocket: unknown;

  constructor(body?: ConstructorParameters<typeof Response>[0], init: ResponseInit = {}) {
    const { status, webSocket } = init as ResponseInit & { webSocket?: unknown };
    super(status === 101 ? null : body, status === 101 ? { headers: init.headers ?? {} } : init);
    this.webSocket = webSocket ?? null;
    if (status === 101) Object.defineProperty(this, "status", { value: status });
  }
}

const RealDate = Date;

/** A Date whose present is the round's. */
class VirtualDate extends RealDate {
  constructor(...args: [] | [number]) {
    if (args.length === 0) super(VirtualDate.now());
    else super(...args);
  }

  static override now(): number {
    return currentMs();
  }
}

/** Replaces the globals of this thread, and the modules that the Worker's sources import. */
export function becomeWorkerd(random: () => number): void {
  const { subtle } = webcrypto;
  const real = webcrypto;
  const crypto = {
    subtle: instantSubtle(subtle),
    getRandomValues: (bytes: Uint8Array) => {
      for (let at = 0; at < bytes.length; at++) bytes[at] = Math.floor(random() * 256);
      return bytes;
    },
    randomUUID: () => real.randomUUID(),
  };
  Math.random = random;
  Object.defineProperty(globalThis, "crypto", { value: crypto, configurable: true });
  Object.assign(globalThis, { Response: SocketResponse, WebSocketPair, WebSocketRequestResponsePair });
  Object.assign(globalThis, { Date: VirtualDate });
  // The Worker's log lines are for operators of a real deployment.
  for (const level of ["log", "warn", "error"] as const) console[level] = () => undefined;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === "cloudflare:workers") return { url: PLATFORM, shortCircuit: true };
      const isClock =
        specifier.endsWith("/clock.ts") && (context.parentURL?.startsWith(`${ROOT}worker/`) ?? false);
      return isClock ? { url: CLOCK, shortCircuit: true } : next(specifier, context);
    },
  });
}

let loads = 0;

/** Loads the Worker's entry anew, with the caches of a new isolate. */
export async function loadWorker(): Promise<LoadedWorker> {
  const entry = (await import(`${ROOT}worker/index.ts?isolate=${loads++}`)) as Record<string, unknown> & {
    default: Pick<LoadedWorker, "fetch" | "scheduled">;
  };
  const classOf = (name: string) => entry[name] as ObjectClass;
  return {
    fetch: entry.default.fetch,
    scheduled: entry.default.scheduled,
    classes: {
      NODES: classOf("NodeObject"),
      REGISTRY: classOf("RegistryObject"),
      CLUSTER: classOf("ClusterObject"),
      GATEWAYS: classOf("GatewayObject"),
      INDEX: classOf("IndexObject"),
    },
  };
}
