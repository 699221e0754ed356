// Loads the Worker's sources into this thread, with replacements for the globals and modules that only workerd has. The
// replacements are global, so the thread must run nothing else.
import { registerHooks } from "node:module";
import { webcrypto } from "node:crypto";
import { instantSubtle } from "./instant-crypto.ts";
import type { ObjectClass } from "./objects.ts";
import { WebSocketPair, WebSocketRequestResponsePair } from "./web-sockets.ts";
import { currentMs } from "./worker-clock.ts";

/** The Worker's entry: its routes, its cron trigger and the classes of its objects. */
export interface LoadedWorker {
  fetch: (request: Request, env: object) => Promise<Response>;
  scheduled: (controller: { scheduledTime: number }, env: object) => Promise<void>;
  classes: Readonly<Record<"NODES" | "REGISTRY" | "CLUSTER" | "GATEWAYS" | "INDEX", ObjectClass>>;
}

const ROOT = new URL("../../../", import.meta.url).href;
const CLOCK = new URL("./worker-clock.ts", import.meta.url).href;
const PLATFORM = new URL("./cloudflare-workers.ts", import.meta.url).href;

/** A Response that may have a WebSocket, like workerd's. */
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

/** A Date whose current time is the round's virtual time. */
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
  const crypto = {
    subtle: instantSubtle(subtle),
    getRandomValues: (bytes: Uint8Array) => {
      for (let at = 0; at < bytes.length; at++) bytes[at] = Math.floor(random() * 256);
      return bytes;
    },
    randomUUID: () => webcrypto.randomUUID(),
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

/** Calls of `waitUntil` need no effect: the process does not end before the promise. */
const CONTEXT = { waitUntil: () => undefined };

let loads = 0;

/** Imports worker/index.ts as a new module. Its caches are empty, as in a new isolate. */
export async function loadWorker(): Promise<LoadedWorker> {
  const entry = (await import(`${ROOT}worker/index.ts?isolate=${loads++}`)) as Record<string, unknown> & {
    default: {
      fetch: (request: Request, env: object, context: object) => Promise<Response>;
      scheduled: LoadedWorker["scheduled"];
    };
  };
  const classOf = (name: string) => entry[name] as ObjectClass;
  return {
    fetch: (request, env) => entry.default.fetch(request, env, CONTEXT),
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
