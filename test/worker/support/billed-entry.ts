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
import { currentMs, firstTimerMs, time } from "./billed-clock.ts";
import { type Billed, Billing } from "./billing.ts";

/** The cluster object never counts as idle, because it watches the Nodes for minutes at a time. */
const billing = new Billing(new Set(["ClusterObject"]));
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

/**
 * Moves the clock; returns false while work is in progress. A due alarm must ring before time moves on. Timers ring
 * here, because most of them only tick: the clock stops earlier once a timer begins work.
 */
async function step(env: Environment, { toMs, ...arrived }: BilledStep): Promise<boolean> {
  if (!billing.isQuiet(arrived)) return false;
  do {
    billing.fold();
    const endMs = Math.max(time.nowMs ?? toMs, Math.min(toMs, billing.dueMs() ?? toMs));
    const atMs = Math.min(endMs, firstTimerMs());
    // An object that is evicted by an abort does not answer.
    for (const idle of billing.idle(atMs))
      await objectOf(env, idle)
        .evict()
        .catch(() => undefined);
    time.nowMs = atMs;
    for (const due of billing.withDueTimers()) await objectOf(env, due).ringTimers();
    if (atMs >= endMs) break;
  } while (billing.isQuiet(arrived));
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
      const controller = { scheduledTime: currentMs() } as ScheduledController;
      context.waitUntil(billing.ofWorker("crons", env, (watched) => worker.scheduled(controller, watched)));
      break;
    }
    case "counts":
      return Response.json(billing.take());
    default:
      return new Response(null, { status: 404 });
  }
  const work = isQuiet ? "" : billing.work();
  return Response.json({ isQuiet, work, nowMs: currentMs(), dueMs: billing.dueMs() } satisfies BilledClock);
}

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default {
  fetch(request: Request, env: Environment, context: ExecutionContext): Response | Promise<Response> {
    const [, what] = /^\/billed\/(\w+)$/.exec(new URL(request.url).pathname) ?? [];
    if (what !== undefined) return answer(what, request, env, context);
    return billing.ofWorker("workerRequests", env, (watched) => worker.fetch(request, watched, context));
  },
};
