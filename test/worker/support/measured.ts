// Runs the Worker for the benchmarks: SQLite's own counts of rows, evictions on request, and a clock and alarms of
// node objects and gateways that the benchmark controls. Everything else is the Worker itself. This file has no
// test of its own.
import type { Environment } from "../../../worker/env.ts";
import type { Measured } from "./measured-rows.ts";
import type { WatchStatus } from "../../../worker/cluster/node-watch.ts";
import worker, {
  ClusterObject as RealClusterObject,
  GatewayObject as RealGatewayObject,
  IndexObject as RealIndexObject,
  RegistryObject as RealRegistryObject,
  NodeObject as RealNodeObject,
} from "../../../worker/index.ts";

// The clock outlives evicted objects, since all objects run in this one isolate.
const clock: { ms: number | undefined } = { ms: undefined };
type Cursors = SqlStorageCursor<Record<string, SqlStorageValue>>[];
const cursors: Cursors = [];
const refusals = { logged: 0 };
/** The times of alarms in milliseconds since 1970, by the object's ID. The registry's alarm never rings. */
const alarms = {
  ofNodes: new Map<string, number>(),
  ofGateways: new Map<string, number>(),
  ofRegistry: new Map<string, number>(),
  set: 0,
};
const index = { cursors: [] as Cursors, asked: 0 };
const asked = { received: 0, sent: 0, nodes: 0, registry: 0 };
const realNow = Date.now.bind(Date);
Date.now = () => clock.ms ?? realNow();

/**
 * Counts an object's rows and settings of its alarm, each of which is billed as a row. A cursor of workerd knows
 * its cost only when it has been read.
 */
function measure({ id, storage }: DurableObjectState, alarmsAt: Map<string, number>): void {
  measureRows(storage);
  const key = id.toString();
  const setAlarm = (atMs: number) => {
    alarmsAt.set(key, atMs);
    alarms.set++;
    return Promise.resolve();
  };
  Object.defineProperty(storage, "setAlarm", { value: setAlarm });
  Object.defineProperty(storage, "getAlarm", { value: () => Promise.resolve(alarmsAt.get(key) ?? null) });
}

function measureRows({ sql }: DurableObjectStorage, into?: Cursors): void {
  const exec = sql.exec.bind(sql);
  const counted = (...args: Parameters<typeof exec>) => {
    const cursor = exec(...args);
    // The number of a sender's refusals is stored together with the line, and is not counted again.
    if (/^INSERT INTO refusal_log\b/.test(args[0])) refusals.logged++;
    else if (!/\brefusal_(log|counts)\b/.test(args[0])) cursors.push(cursor);
    into?.push(cursor);
    return cursor;
  };
  Object.defineProperty(sql, "exec", { value: counted });
}

/** Returns the counts since the last call. `key`: the ID of the object whose alarm time is returned. */
function measured(key: string): Measured {
  const written = (of: Cursors) => of.reduce((sum, cursor) => sum + cursor.rowsWritten, 0);
  const rowsRead = cursors.reduce((sum, cursor) => sum + cursor.rowsRead, 0);
  const measured = {
    rowsWritten: written(cursors) + alarms.set,
    refusals: refusals.logged,
    rowsRead,
    alarmMs: alarms.ofNodes.get(key) ?? null,
    index: { rowsWritten: written(index.cursors), asked: index.asked },
    messages: { received: asked.received, sent: asked.sent },
    nodeRequests: asked.nodes,
    registryRequests: asked.registry,
  };
  cursors.length = 0;
  alarms.set = 0;
  refusals.logged = 0;
  index.cursors.length = 0;
  index.asked = 0;
  Object.assign(asked, { received: 0, sent: 0, nodes: 0, registry: 0 });
  return measured;
}

/** Calls `note` at each call of these methods. */
function noteCalls(prototype: object, names: readonly string[], note: () => void): void {
  for (const name of names) {
    const method = Reflect.get(prototype, name) as (...args: unknown[]) => unknown;
    const value = function (this: unknown, ...args: unknown[]) {
      note();
      return method.apply(this, args);
    };
    Object.defineProperty(prototype, name, { value });
  }
}

// Other objects call all methods but these two: the platform calls the constructor and the alarm.
const isAsked = (name: string) => name !== "constructor" && name !== "alarm";
noteCalls(
  RealNodeObject.prototype,
  Object.getOwnPropertyNames(RealNodeObject.prototype).filter(isAsked),
  () => asked.nodes++,
);
noteCalls(
  RealRegistryObject.prototype,
  Object.getOwnPropertyNames(RealRegistryObject.prototype).filter(isAsked),
  () => asked.registry++,
);
noteCalls(
  RealGatewayObject.prototype,
  ["webSocketMessage", "webSocketClose", "webSocketError"],
  () => asked.received++,
);
noteCalls(WebSocket.prototype, ["send"], () => asked.sent++);

export class NodeObject extends RealNodeObject {
  constructor(ctx: DurableObjectState, env: Environment) {
    measure(ctx, alarms.ofNodes);
    super(ctx, env);
  }

  async ring(): Promise<void> {
    alarms.ofNodes.delete(this.ctx.id.toString());
    await this.alarm();
  }

  async evict(): Promise<void> {
    await this.ctx.storage.sync();
    this.ctx.abort("evicted");
  }
}

export class RegistryObject extends RealRegistryObject {
  constructor(ctx: DurableObjectState, env: Environment) {
    measure(ctx, alarms.ofRegistry);
    super(ctx, env);
  }
}

export class GatewayObject extends RealGatewayObject {
  constructor(ctx: DurableObjectState, env: Environment) {
    measure(ctx, alarms.ofGateways);
    super(ctx, env);
  }

  async ring(): Promise<void> {
    alarms.ofGateways.delete(this.ctx.id.toString());
    await this.alarm();
  }
}

/** The fleet index, which also counts its rows and the calls of node objects to it. Its alarm is the real one. */
export class IndexObject extends RealIndexObject {
  constructor(ctx: DurableObjectState, env: Environment) {
    measureRows(ctx.storage, index.cursors);
    super(ctx, env);
  }

  override tell(...telling: Parameters<RealIndexObject["tell"]>): ReturnType<RealIndexObject["tell"]> {
    index.asked++;
    return super.tell(...telling);
  }

  override remove(...removed: Parameters<RealIndexObject["remove"]>): ReturnType<RealIndexObject["remove"]> {
    index.asked++;
    return super.remove(...removed);
  }
}

/**
 * A cluster object that reports all Nodes as watched, as in a healthy cluster. Another benchmark measures the
 * watch's cost.
 */
export class ClusterObject extends RealClusterObject {
  override standing(): Promise<WatchStatus> {
    return Promise.resolve({ isWatched: true, isSilenceSeen: true });
  }
}

/** Rings the due alarms one after the other. */
async function ringDue(env: Environment): Promise<void> {
  for (const [key, atMs] of alarms.ofNodes) {
    if (atMs > Date.now()) continue;
    const node = env.NODES.get(env.NODES.idFromString(key)) as unknown as DurableObjectStub<NodeObject>;
    await node.ring();
  }
  for (const [key, atMs] of alarms.ofGateways) {
    if (atMs > Date.now()) continue;
    const id = env.GATEWAYS.idFromString(key);
    await (env.GATEWAYS.get(id) as unknown as DurableObjectStub<GatewayObject>).ring();
  }
}

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default {
  async fetch(request: Request, env: Environment, context: ExecutionContext): Promise<Response> {
    const now = request.headers.get("x-now-ms");
    if (now !== null) clock.ms = Number(now);
    const { pathname } = new URL(request.url);
    const [, what, name = ""] = /^\/measured\/(ring|evict|rows|due|cron)\/(.+)$/.exec(pathname) ?? [];
    if (what === undefined) return worker.fetch(request, env, context);
    const id = env.NODES.idFromName(name);
    const node = env.NODES.get(id) as unknown as DurableObjectStub<NodeObject>;
    if (what === "ring") await node.ring();
    if (what === "due") await ringDue(env);
    if (what === "cron") await worker.scheduled({ scheduledTime: Date.now() } as ScheduledController, env);
    // An object that is evicted by an abort does not answer.
    if (what === "evict") await node.evict().catch(() => undefined);
    return Response.json(measured(id.toString()));
  },
};
