// The Worker as the benchmarks measure it: SQLite's own counters of rows, eviction when it is asked for, and a clock
// and an alarm that the benchmark moves. All else is the Worker itself. No test of its own.
import type { Environment } from "../../../worker/env.ts";
import type { Measured } from "./measured-rows.ts";
import type { WatchStanding } from "../../../worker/cluster/watch-standing.ts";
import worker, {
  ClusterObject as RealClusterObject,
  IndexObject as RealIndexObject,
  RegistryObject as RealRegistryObject,
  NodeObject as RealNodeObject,
} from "../../../worker/index.ts";

// Outlives the objects, which are evicted: all run in this one isolate.
const clock: { ms: number | undefined } = { ms: undefined };
const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
const refusals = { logged: 0 };
const alarms = { setForMs: null as number | null, set: 0 };
const realNow = Date.now.bind(Date);
Date.now = () => clock.ms ?? realNow();

/** workerd's cursors know what they have cost once they have been read. Setting the alarm is a row, as it is billed. */
function measure(storage: DurableObjectStorage): void {
  measureRows(storage);
  const setAlarm = (atMs: number) => {
    alarms.setForMs = atMs;
    alarms.set++;
    return Promise.resolve();
  };
  Object.defineProperty(storage, "setAlarm", { value: setAlarm });
  Object.defineProperty(storage, "getAlarm", { value: () => Promise.resolve(alarms.setForMs) });
}

function measureRows({ sql }: DurableObjectStorage): void {
  const exec = sql.exec.bind(sql);
  const counted = (...args: Parameters<typeof exec>) => {
    const cursor = exec(...args);
    // How often each was refused is counted with its line.
    if (/^INSERT INTO refusal_log\b/.test(args[0])) refusals.logged++;
    else if (!/\brefusal_(log|counts)\b/.test(args[0])) cursors.push(cursor);
    return cursor;
  };
  Object.defineProperty(sql, "exec", { value: counted });
}

function measured(): Measured {
  const rowsWritten = cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, alarms.set);
  const rowsRead = cursors.reduce((sum, cursor) => sum + cursor.rowsRead, 0);
  const measured = { rowsWritten, refusals: refusals.logged, rowsRead, alarmMs: alarms.setForMs };
  cursors.length = 0;
  alarms.set = 0;
  refusals.logged = 0;
  return measured;
}

export class NodeObject extends RealNodeObject {
  constructor(ctx: DurableObjectState, env: Environment) {
    measure(ctx.storage);
    super(ctx, env);
  }

  async ring(): Promise<void> {
    alarms.setForMs = null;
    await this.alarm();
  }

  async evict(): Promise<void> {
    await this.ctx.storage.sync();
    this.ctx.abort("evicted");
  }
}

export class RegistryObject extends RealRegistryObject {
  constructor(ctx: DurableObjectState, env: Environment) {
    measure(ctx.storage);
    super(ctx, env);
  }
}

/** Its rows count; its alarm is its own. */
export class IndexObject extends RealIndexObject {
  constructor(ctx: DurableObjectState, env: Environment) {
    measureRows(ctx.storage);
    super(ctx, env);
  }
}

/** Says that it watches all Nodes, as it does in a cluster that is well; what that costs, another benchmark measures. */
export class ClusterObject extends RealClusterObject {
  override standing(): Promise<WatchStanding> {
    return Promise.resolve({ isWatched: true, isSilenceSeen: true });
  }
}

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default {
  async fetch(request: Request, env: Environment, context: ExecutionContext): Promise<Response> {
    const now = request.headers.get("x-now-ms");
    if (now !== null) clock.ms = Number(now);
    const { pathname } = new URL(request.url);
    const [, what, name = ""] = /^\/measured\/(ring|evict|rows)\/(.+)$/.exec(pathname) ?? [];
    if (what === undefined) return worker.fetch(request, env, context);
    const node = env.NODES.getByName(name) as unknown as DurableObjectStub<NodeObject>;
    if (what === "ring") await node.ring();
    // An object that is aborted answers nobody.
    if (what === "evict") await node.evict().catch(() => undefined);
    return Response.json(measured());
  },
};
