// Plays the cluster of a round: the embedded apiserver with its faults, a node controller, and other writers.
import { createApiserver } from "../../../infra/local/apiserver/apiserver.ts";
import { defaultSettings } from "../../../infra/local/apiserver/controllers/start.ts";
import { startNodeLifecycle } from "../../../infra/local/apiserver/controllers/node-lifecycle.ts";
import { createWorld } from "../../../infra/local/apiserver/controllers/world.ts";
import { openStore } from "../../../infra/local/apiserver/store.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { KUBE_TOKEN, KUBE_URL } from "../../worker/support/constants.ts";
import type { Time } from "./objects.ts";

/** The time from a request to its answer without a fault. */
const ANSWERS_AFTER_MS = 10;
/** The least period of a controller's task. A real node controller checks taints ten times a second. */
const LEAST_PERIOD_MS = 1000;

/** A fault of the apiserver or of the way to it, as a request of the Worker meets it. */
export type KubeFault =
  /** No answer, and no effect. Open watches receive no more. */
  | { kind: "away" }
  | { kind: "refuses connections" }
  | { kind: "status"; code: number; retryAfterS?: number }
  /** A proxy answers with its own page. */
  | { kind: "page"; code: number }
  | { kind: "slow"; ms: number }
  /** Requests take effect, and their answers are lost. */
  | { kind: "answers lost" }
  /** A part of the requests fails at random. */
  | { kind: "some fail"; share: number };

export interface Cluster {
  /** Answers the binding KUBE of the Worker. */
  fetch: (...args: ConstructorParameters<typeof Request>) => Promise<Response>;
  /** The faults that are active; a request meets the first one whose `of` matches its line. */
  faults: Set<{ fault: KubeFault; of?: RegExp }>;
  /** Returns a Node as kubectl shows it; null if there is none. */
  node: (name: string) => Node | null;
  /** Sends a request as an administrator. */
  admin: (method: string, path: string, body?: object, contentType?: string) => Promise<number>;
  /** Starts the node controller. Returns a function that stops it. */
  startController: () => () => Promise<void>;
  /** Resolves once no controller has work. */
  idle: () => Promise<void>;
  close: () => void;
}

const status = (code: number, reason: string, headers: Record<string, string> = {}) =>
  Response.json(
    { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code, reason, message: reason },
    { status: code, headers },
  );

const REASONS: Record<number, string> = {
  401: "Unauthorized",
  403: "Forbidden",
  409: "Conflict",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
};

export function startCluster(time: Time, random: () => number, log: (line: string) => void): Cluster {
  const store = openStore(":memory:");
  const now = () => new Date(time.nowMs());
  const after = (ms: number, ring: () => void) => time.after(ms, ring);
  let uids = 0;
  const uuid = () => `00000000-0000-4000-8000-${String(++uids).padStart(12, "0")}`;
  const apiserver = createApiserver({ store, now, uuid, random, after, adminToken: KUBE_TOKEN });
  const faults: Cluster["faults"] = new Set();
  let idle = () => Promise.resolve();

  /** Resolves after `ms`. Rejects when the signal is aborted. */
  const wait = (ms: number, signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      const stop = Number.isFinite(ms) ? time.after(ms, resolve) : () => undefined;
      signal?.addEventListener("abort", () => {
        stop();
        reject(new Error("aborted"));
      });
    });

  async function answer(request: Request, signal: AbortSignal | undefined): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const line = `${request.method} ${pathname}`;
    const isWatch = searchParams.has("watch");
    const met = [...faults].find(({ of }) => of?.test(line) ?? true)?.fault;
    switch (met?.kind) {
      case "away":
        await wait(Infinity, signal);
        break;
      case "refuses connections":
        throw new Error("connection refused");
      case "status": {
        const retry = met.retryAfterS === undefined ? {} : { "retry-after": String(met.retryAfterS) };
        await wait(ANSWERS_AFTER_MS, signal);
        return status(met.code, REASONS[met.code] ?? "Unknown", retry);
      }
      case "page":
        await wait(ANSWERS_AFTER_MS, signal);
        return new Response("<html>a tunnel's page</html>", { status: met.code });
      case "some fail":
        if (random() < met.share) throw new Error("connection reset");
        break;
      case "answers lost":
        await apiserver.fetch(request);
        throw new Error("connection reset");
      default:
    }
    await wait(met?.kind === "slow" ? met.ms : ANSWERS_AFTER_MS, signal);
    const answered = await apiserver.fetch(request);
    if (!isWatch || !answered.body) return answered;
    return new Response(answered.body.pipeThrough(cutStream(signal)), answered);
  }

  /** Passes the bytes of a watch. Passes no more after bytes that arrive while the apiserver is away. */
  function cutStream(signal: AbortSignal | undefined): TransformStream<Uint8Array, Uint8Array> {
    let isLost = false;
    return new TransformStream({
      start: (controller) => signal?.addEventListener("abort", () => controller.error(new Error("aborted"))),
      transform: (chunk, controller) => {
        const { kind } = [...faults].find(({ of }) => !of)?.fault ?? {};
        isLost ||= kind === "away" || kind === "refuses connections";
        if (!isLost) controller.enqueue(chunk);
      },
    });
  }

  const nodes = new Map<string, Node>();
  store.subscribe(({ type, object }) => {
    const name = object.metadata.name ?? "";
    if (type === "DELETED") nodes.delete(name);
    else nodes.set(name, object);
  }, "nodes");

  const admin: Cluster["admin"] = async (method, path, body, contentType = "application/json") => {
    const headers = {
      authorization: `Bearer ${KUBE_TOKEN}`,
      "content-type": contentType,
      "user-agent": "kubectl",
    };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const answered = await apiserver.fetch(new Request(KUBE_URL + path, init));
    if (answered.status >= 400) log(`${method} ${path}: ${answered.status} ${await answered.text()}`);
    return answered.status;
  };

  return {
    faults,
    fetch: async (...args) => {
      const signal = args[1]?.signal ?? undefined;
      const { signal: _, ...init } = args[1] ?? {};
      return answer(new Request(args[0], init), signal);
    },
    node: (name) => nodes.get(name) ?? null,
    admin,
    startController() {
      const world = createWorld(
        {
          store,
          fetch: apiserver.fetch,
          token: KUBE_TOKEN,
          rootCa: "",
          now,
          every: (periodMs, run) => time.every(Math.max(periodMs, LEAST_PERIOD_MS), run),
        },
        (error) => log(`a controller failed: ${String(error)}`),
      );
      const stop = startNodeLifecycle(world, defaultSettings);
      idle = world.tasks.idle;
      return async () => {
        stop();
        await world.tasks.stop();
      };
    },
    idle: () => idle(),
    close: () => store.close(),
  };
}
