// Runs the Worker for the benchmark of costs and counts the billed work, while the benchmark controls time, alarms
// and the cron trigger. Everything else is the Worker itself. This file has no test of its own.
import type { Environment } from "../../../worker/env.ts";
import worker, {
  ClusterObject as RealClusterObject,
  GatewayObject as RealGatewayObject,
  IndexObject as RealIndexObject,
  NodeObject as RealNodeObject,
  RegistryObject as RealRegistryObject,
} from "../../../worker/index.ts";
import type { BilledClock, BilledStep } from "./billed-counts.ts";
import { type Billed, Billing } from "./billing.ts";

const realNow = Date.now.bind(Date);
/** The time of the benchmark; undefined before the first step. Until then the computer's clock counts. */
const clock: { ms: number | undefined } = { ms: undefined };
Date.now = () => clock.ms ?? realNow();

/**
 * Deadlines use the computer's clock. Timers of `fromMs` or longer are `times` as long, so that a busy computer
 * does not exceed them.
 */
const DEADLINES = { fromMs: 1000, times: 60 };
const realTimeout = globalThis.setTimeout;
const patient = (run: () => void, ms = 0) =>
  realTimeout(run, ms < DEADLINES.fromMs ? ms : ms * DEADLINES.times);
globalThis.setTimeout = patient as typeof setTimeout;

/** The cluster object never counts as idle, because it watches the Nodes for minutes at a time. */
const billing = new Billing(() => Date.now(), new Set(["ClusterObject"]));
for (const level of ["log", "warn", "error"] as const) {
  const log = console[level].bind(console);
  console[level] = (...args: unknown[]) => {
    billing.noteLogLine();
    log(...args);
  };
}

export const NodeObject = billing.billed("NodeObject", RealNodeObject);
export const RegistryObject = billing.billed("RegistryObject", RealRegistryObject);
export const ClusterObject = billing.billed("ClusterObject", RealClusterObject);
export const GatewayObject = billing.billed("GatewayObject", RealGatewayObject);
export const IndexObject = billing.billed("IndexObject", RealIndexObject);

const BINDINGS = {
  NodeObject: "NODES",
  RegistryObject: "REGISTRY",
  ClusterObject: "CLUSTER",
  GatewayObject: "GATEWAYS",
  IndexObject: "INDEX",
} as const satisfies Record<string, keyof Environment>;

function objectOf(env: Environment, { kind, id }: { kind: string; id: string }): DurableObjectStub<Billed> {
  const namespace = env[BINDINGS[kind as keyof typeof BINDINGS]] as unknown as DurableObjectNamespace<Billed>;
  return namespace.get(namespace.idFromString(id));
}

/** Moves the clock; returns false while work is in progress. A due alarm must ring before time moves on. */
async function step(env: Environment, { toMs, held }: BilledStep): Promise<boolean> {
  if (!billing.isQuiet(held)) return false;
  billing.fold();
  const atMs = clock.ms === undefined ? toMs : Math.max(clock.ms, Math.min(toMs, billing.dueMs() ?? toMs));
  // An object that is evicted by an abort does not answer.
  for (const idle of billing.idle(atMs))
    await objectOf(env, idle)
      .evict()
      .catch(() => undefined);
  clock.ms = atMs;
  return true;
}

async function answer(
  what: string,
  request: Request,
  env: Environment,
  context: ExecutionContext,
): Promise<Response> {
  let isQuiet = false;
  switch (what) {
    case "step":
      isQuiet = await step(env, await request.json<BilledStep>());
      break;
    case "ring":
      for (const due of billing.takeDue()) await objectOf(env, due).ring();
      break;
    case "cron": {
      const controller = { scheduledTime: Date.now() } as ScheduledController;
      context.waitUntil(billing.ofWorker("crons", env, (watched) => worker.scheduled(controller, watched)));
      break;
    }
    case "counts":
      return Response.json(billing.take());
    default:
      return new Response(null, { status: 404 });
  }
  return Response.json({ isQuiet, nowMs: Date.now(), dueMs: billing.dueMs() } satisfies BilledClock);
}

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default {
  fetch(request: Request, env: Environment, context: ExecutionContext): Response | Promise<Response> {
    const [, what] = /^\/billed\/(\w+)$/.exec(new URL(request.url).pathname) ?? [];
    if (what !== undefined) return answer(what, request, env, context);
    return billing.ofWorker("workerRequests", env, (watched) => worker.fetch(request, watched, context));
  },
};
