// Plays Cloudflare's Durable Objects: SQLite in memory, alarms, hibernating sockets, evictions. Time is virtual, and
// calls between objects take no time, so that each seed always has the same round.
import { AsyncLocalStorage } from "node:async_hooks";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { virtualTime } from "../../worker/support/virtual-time.ts";
import { ServerSocket } from "./web-sockets.ts";

export type Time = ReturnType<typeof virtualTime>;

/** The class that `cloudflare:workers` exports. */
export class DurableObject {
  readonly ctx: unknown;
  readonly env: unknown;

  constructor(ctx: unknown, env: unknown) {
    this.ctx = ctx;
    this.env = env;
  }
}

type Method = (...args: unknown[]) => unknown;
export type ObjectClass = new (ctx: unknown, env: unknown) => Record<string, Method>;

/** The platform drops an object from its memory after this time without work. */
const IDLE_MS = 10_000;
/** The wait before the platform repeats an alarm that has failed. Each further wait is twice as long. */
const ALARM_AGAIN_MS = 2000;
const ALARM_ATTEMPTS = 6;

/** The instance whose code runs. */
const running = new AsyncLocalStorage<Instance>();

/** Calls `ring` after `ms` as the calling instance, unless the instance has ended. Returns a function that stops it. */
export function timerOf(time: Time, ms: number, ring: () => void): () => void {
  const instance = running.getStore();
  const ended = instance?.begin();
  const stop = time.after(ms, () => {
    ended?.();
    if (!instance) ring();
    else if (instance.isAlive) instance.as(ring);
  });
  return () => {
    ended?.();
    stop();
  };
}

/** One object in memory. After its end its code still runs, but can neither store nor send. */
class Instance {
  isAlive = true;
  lastMs: number;
  object!: Record<string, Method>;
  readonly #time: Time;
  #open = 0;
  readonly #rejects = new Set<(error: Error) => void>();

  constructor(time: Time) {
    this.#time = time;
    this.lastMs = time.nowMs();
  }

  isIdle(): boolean {
    return this.#open === 0 && this.#time.nowMs() - this.lastMs >= IDLE_MS;
  }

  /** Notes that work begins, which keeps the object in memory. Returns a function that notes its end. */
  begin(): () => void {
    this.#open++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#open--;
      this.lastMs = this.#time.nowMs();
    };
  }

  as<T>(work: () => T): T {
    return running.run(this, work);
  }

  /** Runs a call of the object. Rejects if the object ends first. */
  async run<T>(work: () => T | Promise<T>): Promise<T> {
    const ended = this.begin();
    const { promise, reject } = Promise.withResolvers<never>();
    this.#rejects.add(reject);
    try {
      return await Promise.race([promise, this.as(async () => work())]);
    } finally {
      this.#rejects.delete(reject);
      ended();
    }
  }

  /** Waits for work of other objects or of a server. Never settles if the object has ended. */
  async wait<T>(work: () => Promise<T>): Promise<T> {
    const ended = this.begin();
    try {
      if (!this.isAlive) return await new Promise<T>(() => undefined);
      return await work();
    } finally {
      ended();
      if (!this.isAlive) await new Promise(() => undefined);
    }
  }

  end(why: string): void {
    this.isAlive = false;
    for (const reject of this.#rejects) reject(new Error(why));
  }
}

/** One object of a namespace, with its storage, alarm and sockets, which outlive an eviction. */
export class Host {
  readonly name: string;
  readonly #platform: Platform;
  readonly #make: ObjectClass;
  #database = new DatabaseSync(":memory:");
  #statements = new Map<string, { statement: StatementSync; columns: string[] }>();
  #depth = 0;
  #instance: Instance | null = null;
  #alarmMs: number | null = null;
  #stopAlarm: () => void = () => undefined;
  #isRinging = false;
  #attempts = 0;
  readonly sockets = new Map<ServerSocket, readonly string[]>();
  autoResponse: { request: string; response: string } | null = null;

  constructor(platform: Platform, make: ObjectClass, name: string) {
    this.#platform = platform;
    this.#make = make;
    this.name = name;
  }

  #wake(): Instance {
    if (this.#instance?.isIdle()) this.evict();
    if (this.#instance) return this.#instance;
    const instance = new Instance(this.#platform.time);
    this.#instance = instance;
    instance.as(() => {
      const Made = this.#make;
      instance.object = new Made(this.#contextOf(instance), this.#platform.environmentOf(instance));
    });
    return instance;
  }

  /** Calls a method of the object, as another object or the Worker does. */
  async call(method: string, args: unknown[]): Promise<unknown> {
    const sent = method === "fetch" ? args : args.map(copied);
    const instance = this.#wake();
    const called = this.#platform.ignored.has(method) ? () => undefined : instance.object[method];
    if (!called) throw new Error(`there is no method ${method}`);
    const result = await instance.run(() => called.apply(instance.object, sent));
    return method === "fetch" ? result : copied(result);
  }

  /** Drops the object's memory. Its sockets hibernate. */
  evict(): void {
    this.#instance?.end("evicted");
    this.#instance = null;
  }

  /** Ends the object with its work in progress and its sockets, as a deployment does. */
  abort(why: string): void {
    this.evict();
    for (const socket of this.sockets.keys()) socket.lose();
    this.sockets.clear();
    this.#platform.log(`${this.name}: ${why}`);
  }

  /** Ends the object, and closes its storage. */
  close(): void {
    this.evict();
    this.#stopAlarm();
    this.#statements.clear();
    this.#database.close();
  }

  setAlarm(atMs: number | null): void {
    this.#stopAlarm();
    this.#alarmMs = atMs;
    if (atMs === null) return;
    const { time, alarmsLateMs } = this.#platform;
    this.#stopAlarm = time.after(Math.max(0, atMs - time.nowMs()) + alarmsLateMs, () => void this.#ring());
  }

  async #ring(): Promise<void> {
    if (this.#isRinging) return;
    this.#alarmMs = null;
    this.#isRinging = true;
    try {
      const instance = this.#wake();
      await instance.run(() => instance.object["alarm"]?.());
      this.#attempts = 0;
    } catch (error) {
      this.#platform.log(`${this.name}: its alarm failed: ${String(error)}`);
      const againMs = ALARM_AGAIN_MS * 2 ** this.#attempts++;
      if (this.#alarmMs === null && this.#attempts <= ALARM_ATTEMPTS)
        this.setAlarm(this.#platform.time.nowMs() + againMs);
    }
    this.#isRinging = false;
    if (this.#alarmMs !== null) this.setAlarm(this.#alarmMs);
  }

  /** Delivers a frame of a client, or the end of its connection. */
  deliver(method: "webSocketMessage" | "webSocketClose", socket: ServerSocket, ...args: unknown[]): void {
    if (!this.sockets.has(socket)) return;
    if (method === "webSocketClose") this.sockets.delete(socket);
    const instance = this.#wake();
    void instance
      .run(() => instance.object[method]?.(socket, ...args))
      .catch((error: unknown) => this.#platform.log(`${this.name}: ${method}: ${String(error)}`));
  }

  #contextOf(instance: Instance): object {
    const alive = <T>(work: () => T): T => {
      if (!instance.isAlive) throw new Error("the object has ended");
      return work();
    };
    const storage = {
      sql: {
        exec: (query: string, ...bindings: SQLInputValue[]) => alive(() => this.#exec(query, bindings)),
      },
      transactionSync: <T>(work: () => T) => alive(() => this.#inTransaction(work)),
      setAlarm: (atMs: number | Date) => Promise.resolve(alive(() => this.setAlarm(Number(atMs)))),
      getAlarm: () => Promise.resolve(this.#alarmMs),
      deleteAlarm: () => Promise.resolve(alive(() => this.setAlarm(null))),
      deleteAll: () => Promise.resolve(alive(() => this.#clear())),
      sync: () => Promise.resolve(),
    };
    return {
      storage,
      id: { toString: () => this.name, name: this.name },
      abort: (why = "aborted") => {
        if (instance.isAlive) this.abort(why);
        throw new Error(why);
      },
      waitUntil: (work: Promise<unknown>) => {
        const ended = instance.begin();
        work.then(ended, ended);
      },
      acceptWebSocket: (socket: ServerSocket, tags: readonly string[] = []) => {
        socket.host = this;
        this.sockets.set(socket, tags);
      },
      getWebSockets: (tag?: string) =>
        [...this.sockets].flatMap(([socket, tags]) =>
          tag === undefined || tags.includes(tag) ? [socket] : [],
        ),
      setWebSocketAutoResponse: (pair: { request: string; response: string }) =>
        void (this.autoResponse = pair),
    };
  }

  #clear(): void {
    this.#database.close();
    this.#database = new DatabaseSync(":memory:");
    this.#statements = new Map();
  }

  #exec(query: string, bindings: SQLInputValue[]): Cursor {
    if (bindings.length === 0 && query.trimEnd().slice(0, -1).includes(";")) {
      this.#database.exec(query);
      return new Cursor([], []);
    }
    let prepared = this.#statements.get(query);
    if (!prepared) {
      const statement = this.#database.prepare(query);
      statement.setReturnArrays(true);
      prepared = { statement, columns: statement.columns().map(({ name }) => name) };
      this.#statements.set(query, prepared);
    }
    const rows = prepared.statement.all(...bindings.map(bound)) as unknown as Row[];
    return new Cursor(prepared.columns, rows);
  }

  #inTransaction<T>(work: () => T): T {
    const name = `t${this.#depth++}`;
    this.#database.exec(`SAVEPOINT ${name}`);
    try {
      const result = work();
      this.#database.exec(`RELEASE ${name}`);
      return result;
    } catch (error) {
      this.#database.exec(`ROLLBACK TO ${name}; RELEASE ${name}`);
      throw error;
    } finally {
      this.#depth--;
    }
  }
}

type Row = unknown[];

/** Copies a value as a call between two objects does. */
const copied = (value: unknown): unknown => (typeof value === "object" ? structuredClone(value) : value);

/** Converts a value that workerd's SQLite accepts, and node:sqlite does not. */
function bound(value: unknown): SQLInputValue {
  if (value === undefined) return null;
  if (typeof value === "boolean") return Number(value);
  return value instanceof ArrayBuffer ? new Uint8Array(value) : (value as SQLInputValue);
}

/** Converts a value that SQLite returns. workerd returns a blob as an ArrayBuffer. */
const shown = (value: unknown) => (value instanceof Uint8Array ? value.slice().buffer : value);

/** The result of a statement, with the methods of workerd's SqlStorageCursor that the Worker uses. */
class Cursor {
  readonly #columns: string[];
  readonly #rows: Row[];

  constructor(columns: string[], rows: Row[]) {
    this.#columns = columns;
    this.#rows = rows;
  }

  toArray(): Record<string, unknown>[] {
    return this.#rows.map((row) =>
      Object.fromEntries(this.#columns.map((name, at) => [name, shown(row[at])])),
    );
  }

  one(): Record<string, unknown> {
    const rows = this.toArray();
    if (rows.length !== 1) throw new Error(`Expected exactly one result, but got ${rows.length}`);
    return rows[0]!;
  }

  raw(): ArrayIterator<unknown[]> & { toArray: () => unknown[][] } {
    const rows = this.#rows.map((row) => row.map(shown));
    return Object.assign(rows.values(), { toArray: () => rows });
  }

  [Symbol.iterator](): ArrayIterator<Record<string, unknown>> {
    return this.toArray().values();
  }
}

interface PlatformOptions {
  time: Time;
  /** The classes of the Worker's objects, by their bindings. */
  classes: Readonly<Record<string, ObjectClass>>;
  /** The other variables, secrets and bindings. */
  variables: Record<string, unknown>;
  log: (line: string) => void;
  /** The methods of objects that do nothing, to test that the referee finds a broken Worker. */
  ignored: readonly string[];
}

export class Platform {
  readonly time: Time;
  readonly log: (line: string) => void;
  readonly ignored: ReadonlySet<string>;
  /** The milliseconds by which alarms ring late. */
  alarmsLateMs = 0;
  readonly #options: PlatformOptions;
  readonly #hosts = new Map<string, Map<string, Host>>();

  constructor(options: PlatformOptions) {
    this.#options = options;
    this.time = options.time;
    this.log = options.log;
    this.ignored = new Set(options.ignored);
    for (const binding of Object.keys(options.classes)) this.#hosts.set(binding, new Map());
  }

  host(binding: string, name: string): Host {
    const hosts = this.#hosts.get(binding)!;
    const known = hosts.get(name) ?? new Host(this, this.#options.classes[binding]!, `${binding} ${name}`);
    hosts.set(name, known);
    return known;
  }

  hosts(): Host[] {
    return [...this.#hosts.values()].flatMap((hosts) => [...hosts.values()]);
  }

  /** Returns the environment of an instance; of the stateless Worker if `instance` is null. */
  environmentOf(instance: Instance | null): Record<string, unknown> {
    const waiting = <T>(work: () => Promise<T>) => (instance ? instance.wait(work) : work());
    const { classes, variables } = this.#options;
    const env: Record<string, unknown> = { ...variables };
    for (const binding of Object.keys(classes)) {
      const stub = (name: string) =>
        new Proxy(
          {},
          {
            get: (_, method) =>
              method === "then" || typeof method !== "string"
                ? undefined
                : (...args: unknown[]) => waiting(() => this.host(binding, name).call(method, args)),
          },
        );
      env[binding] = { getByName: stub };
    }
    const kube = variables["KUBE"] as { fetch: (...args: unknown[]) => Promise<Response> };
    env["KUBE"] = { fetch: (...args: unknown[]) => waiting(() => kube.fetch(...args)) };
    return env;
  }
}
