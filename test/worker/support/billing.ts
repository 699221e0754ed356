// Counts the billed work of an object: requests, messages, alarms, rows, storage, and time with work in progress.
// The benchmark controls alarms and clock. This file has no test of its own.
import { AsyncLocalStorage } from "node:async_hooks";
import { DurableObject } from "cloudflare:workers";
import type { Environment } from "../../../worker/env.ts";
import { currentMs, firstTimerMs, ringTimers, time, type TimerUse, withDueTimers } from "./billed-clock.ts";
import type { BilledCounts, BilledStep, ObjectCounts } from "./billed-counts.ts";

type Cursor = SqlStorageCursor<Record<string, SqlStorageValue>>;
type ObjectClass = new (ctx: DurableObjectState, env: Environment) => DurableObject<Environment>;

/**
 * The kinds of work in progress: requests to the object, its calls of other objects, its requests to the apiserver,
 * its pauses, its timers, and all other work. A timer keeps its object awake (workerd cannot hibernate such an object).
 */
type Work = "requests" | "calls" | "fetches" | TimerUse | "others";

/**
 * The counts of one object, or of the Worker. The counts outlive evictions, since all objects run in this one isolate.
 */
interface Usage {
  kind: string;
  id: string;
  open: Record<Work, number>;
  /** The time at which the present work began, and the time at which the last work ended. */
  sinceMs: number;
  lastMs: number;
  isInMemory: boolean;
  alarmMs: number | null;
  /** true if the object's alarm is in progress, so that the next alarm waits. */
  isRinging: boolean;
  storedBytes: number;
}

/** The methods of an object that the benchmark calls. */
export interface Billed extends Rpc.DurableObjectBranded {
  ring: () => void;
  ringTimers: () => void;
  evict: () => Promise<void>;
}

/** The milliseconds without work after which the platform evicts an object. */
const IDLE_MS = 10_000;
const MESSAGES = new Set(["webSocketMessage", "webSocketClose", "webSocketError"]);
const WORKER = "Worker";

const openOf = ({ open }: Usage) => Object.values(open).reduce((sum, each) => sum + each, 0);

export class Billing {
  /** The object whose work is in progress. A timer belongs to the object that starts it. */
  readonly #owner = new AsyncLocalStorage<Usage>();
  /** The classes whose alarms run for minutes. Their objects never count as idle. */
  readonly #restless: ReadonlySet<string>;
  readonly #usages = new Map<string, Usage>();
  readonly #worker = this.#usageOf(WORKER, WORKER);
  #counts = new Map<string, ObjectCounts>();
  #cursors: { kind: string; cursor: Cursor }[] = [];
  #total = { workerRequests: 0, crons: 0, logLines: 0 };
  /** The number of machines' requests and messages in progress. */
  #received = 0;

  /** `restless` names the classes that never count as idle. */
  constructor(restless: ReadonlySet<string>) {
    this.#restless = restless;
    time.started = (use) => {
      const owner = this.#owner.getStore() ?? this.#worker;
      const ended = this.#begin(owner, use);
      return owner === this.#worker ? { ended } : { owner, ended };
    };
  }

  noteLogLine(): void {
    this.#total.logLines++;
  }

  /** Counts one request to the Worker, or one run of its cron trigger. */
  ofWorker<T>(what: "workerRequests" | "crons", env: Environment, work: (env: Environment) => T): T {
    this.#total[what]++;
    const inWorker = () => work(this.#watchedEnvironment(this.#worker, env));
    const isMachines = what === "workerRequests";
    return this.#during(this.#worker, "others", isMachines ? () => this.#receiving(inWorker) : inWorker);
  }

  /**
   * Returns the class with counts of the calls that come from other objects or the Worker. Calls by the object
   * itself are not counted.
   */
  billed<T extends ObjectClass>(kind: string, Real: T): T {
    // oxlint-disable-next-line typescript/no-this-alias -- the class below has a `this` of its own
    const billing = this;
    const measure = this.#measure.bind(this);
    class BilledObject extends DurableObject<Environment> {
      readonly #inner: Record<string, (...args: unknown[]) => unknown>;
      readonly #own: Usage;

      constructor(ctx: DurableObjectState, env: Environment) {
        super(ctx, env);
        this.#own = billing.#usageOf(kind, ctx.id.toString());
        measure(this.#own, ctx);
        const real = new Real(ctx, billing.#watchedEnvironment(this.#own, env));
        this.#inner = real as unknown as Record<string, (...args: unknown[]) => unknown>;
      }

      call(what: Work, name: string, args: unknown[]): unknown {
        const { sql } = this.ctx.storage;
        const atEnd = () => (this.#own.storedBytes = sql.databaseSize);
        return billing.#during(this.#own, what, () => this.#inner[name]?.(...args), atEnd);
      }

      /** Starts the object's alarm without waiting for its end, since some alarms run for minutes. */
      ring(): void {
        billing.#of(kind).alarmsRung++;
        this.#own.isRinging = true;
        const end = () => void (this.#own.isRinging = false);
        void Promise.resolve(this.call("others", "alarm", [])).then(end, end);
      }

      ringTimers(): void {
        billing.#owner.run(this.#own, () => ringTimers(this.#own));
      }

      async evict(): Promise<void> {
        // The platform keeps sockets through an eviction, but an abort would close them, so an object with sockets
        // stays.
        if (this.ctx.getWebSockets().length > 0) return;
        await this.ctx.storage.sync();
        this.#own.isInMemory = false;
        this.ctx.abort("evicted");
      }
    }
    for (const name of methodsOf(Real.prototype as object)) {
      if (name === "constructor" || name === "alarm") continue;
      Object.defineProperty(BilledObject.prototype, name, {
        writable: true,
        value(this: BilledObject, ...args: unknown[]) {
          const counts = billing.#of(kind);
          if (MESSAGES.has(name)) counts.messages++;
          else counts.requests[name] = (counts.requests[name] ?? 0) + 1;
          const call = () => this.call(MESSAGES.has(name) ? "others" : "requests", name, args);
          return name === "webSocketMessage" ? billing.#receiving(call) : call();
        },
      });
    }
    return BilledObject as unknown as T;
  }

  /**
   * Returns true if all work waits for the apiserver or a timer. Work waits if no timer is due, and each request has
   * arrived: of the machines (`sent`), of the objects, and at the apiserver (`held`).
   */
  isQuiet({ held, sent }: Pick<BilledStep, "held" | "sent">): boolean {
    const all = [...this.#usages.values()];
    const sum = (what: Work) => all.reduce((total, { open }) => total + open[what], 0);
    const isAtWork = (usage: Usage) => {
      const { requests, calls, fetches, pauses, others } = usage.open;
      return requests + (this.#restless.has(usage.kind) ? 0 : others) > 0 && calls + fetches + pauses === 0;
    };
    if (firstTimerMs() <= currentMs() || this.#received !== sent) return false;
    return sum("fetches") === held && sum("calls") === sum("requests") && !all.some(isAtWork);
  }

  /** Returns the work in progress as text. */
  work(): string {
    const atWork = [...this.#usages.values()].filter((usage) => openOf(usage) > 0);
    const objects = atWork.map(({ kind, id, open }) => ({ kind, id: id.slice(0, 8), ...open }));
    return JSON.stringify({ received: this.#received, timerMs: firstTimerMs() - currentMs(), objects });
  }

  /** Returns the objects that the platform has evicted by this time. */
  idle(atMs: number): { kind: string; id: string }[] {
    const isIdle = (usage: Usage) =>
      usage.isInMemory && openOf(usage) === 0 && atMs - usage.lastMs >= IDLE_MS;
    const mayBe = ({ kind }: Usage) => kind !== WORKER && !this.#restless.has(kind);
    return [...this.#usages.values()].filter((usage) => mayBe(usage) && isIdle(usage));
  }

  /** Returns the time of the first alarm; null if no alarm is set. */
  dueMs(): number | null {
    const times = [...this.#usages.values()].flatMap(({ alarmMs, isRinging }) =>
      alarmMs === null || isRinging ? [] : alarmMs,
    );
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Removes and returns the due alarms, which the caller must then start. */
  takeDue(): { kind: string; id: string }[] {
    const isDue = ({ alarmMs, isRinging }: Usage) => alarmMs !== null && !isRinging && alarmMs <= currentMs();
    const due = [...this.#usages.values()].filter(isDue);
    for (const usage of due) usage.alarmMs = null;
    return due;
  }

  /** Returns the objects with due timers. */
  withDueTimers(): { kind: string; id: string }[] {
    const owners = withDueTimers();
    return [...this.#usages.values()].filter((usage) => owners.has(usage));
  }

  /** Returns all counts since the last call. */
  take(): BilledCounts {
    const nowMs = currentMs();
    this.fold();
    for (const usage of this.#usages.values()) {
      if (usage.kind === WORKER) continue;
      const counts = this.#of(usage.kind);
      counts.objects++;
      counts.storedBytes += usage.storedBytes;
      if (openOf(usage) === 0) continue;
      counts.awakeMs += nowMs - usage.sinceMs;
      usage.sinceMs = nowMs;
    }
    this.#counts.delete(WORKER);
    const taken = { ...this.#total, objects: Object.fromEntries(this.#counts) };
    this.#counts = new Map();
    this.#total = { workerRequests: 0, crons: 0, logLines: 0 };
    return taken;
  }

  /**
   * Adds up the costs of finished statements, so that their cursors need not be kept. Call it only while no work is
   * in progress: a cursor that is not read to its end has no cost yet.
   */
  fold(): void {
    for (const { kind, cursor } of this.#cursors.splice(0)) {
      this.#of(kind).rowsRead += cursor.rowsRead;
      this.#of(kind).rowsWritten += cursor.rowsWritten;
    }
  }

  #of(kind: string): ObjectCounts {
    const none = { messages: 0, alarmsSet: 0, alarmsRung: 0, rowsRead: 0, rowsWritten: 0, awakeMs: 0 };
    const fresh = { ...none, requests: {}, subrequests: 0, objects: 0, storedBytes: 0 };
    const known = this.#counts.get(kind) ?? fresh;
    this.#counts.set(kind, known);
    return known;
  }

  #usageOf(kind: string, id: string): Usage {
    const { alarmMs = null, storedBytes = 0 } = this.#usages.get(id) ?? {};
    // The work of the former instance ended with that instance.
    const open = { requests: 0, calls: 0, fetches: 0, pauses: 0, timers: 0, others: 0 };
    const lastMs = currentMs();
    const now = { open, sinceMs: 0, lastMs, isInMemory: true, isRinging: false };
    const usage: Usage = { kind, id, alarmMs, storedBytes, ...now };
    this.#usages.set(id, usage);
    return usage;
  }

  /** Counts the work as the work for one request or message of a machine. */
  #receiving<T>(work: () => T): T {
    this.#received++;
    const end = () => void this.#received--;
    const outcome = work();
    void Promise.resolve(outcome).then(end, end);
    return outcome;
  }

  /** Notes that work begins. Returns a function that notes its end. */
  #begin(usage: Usage, what: Work): () => void {
    if (openOf(usage) === 0) usage.sinceMs = currentMs();
    usage.open[what]++;
    return () => {
      usage.open[what]--;
      if (openOf(usage) > 0) return;
      usage.lastMs = currentMs();
      this.#of(usage.kind).awakeMs += usage.lastMs - usage.sinceMs;
    };
  }

  #during<T>(usage: Usage, what: Work, work: () => T, atEnd: () => void = () => undefined): T {
    const ended = this.#begin(usage, what);
    const end = () => {
      atEnd();
      ended();
    };
    let outcome: T | undefined;
    try {
      outcome = this.#owner.run(usage, work);
      return outcome;
    } finally {
      void Promise.resolve(outcome).then(end, end);
    }
  }

  #measure(usage: Usage, ctx: DurableObjectState): void {
    const { storage } = ctx;
    const exec = storage.sql.exec.bind(storage.sql);
    const counted = (...args: Parameters<typeof exec>) => {
      const cursor = exec(...args);
      this.#cursors.push({ kind: usage.kind, cursor });
      return cursor;
    };
    Object.defineProperty(storage.sql, "exec", { value: counted });
    const setAlarm = (atMs: number | Date) => {
      usage.alarmMs = Number(atMs);
      this.#of(usage.kind).alarmsSet++;
      return Promise.resolve();
    };
    const deleteAlarm = () => Promise.resolve(void (usage.alarmMs = null));
    Object.defineProperty(storage, "setAlarm", { value: setAlarm });
    Object.defineProperty(storage, "deleteAlarm", { value: deleteAlarm });
    Object.defineProperty(storage, "getAlarm", { value: () => Promise.resolve(usage.alarmMs) });
    const waitUntil = (work: Promise<unknown>) => void this.#during(usage, "others", () => work);
    Object.defineProperty(ctx, "waitUntil", { value: waitUntil });
  }

  /** Returns the environment in which the object's requests are counted, since they keep the object awake as well. */
  #watchedEnvironment(usage: Usage, env: Environment): Environment {
    const asking = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (of, key) => {
          const value: unknown = Reflect.get(of, key);
          if (typeof value !== "function") return value;
          return (...args: unknown[]) =>
            this.#during(
              usage,
              "calls",
              () => (of as Record<PropertyKey, typeof value>)[key]?.(...args) as unknown,
            );
        },
      });
    const namespace = (of: DurableObjectNamespace) => ({
      getByName: (name: string) => asking(of.getByName(name)),
      get: (id: DurableObjectId) => asking(of.get(id)),
      idFromName: (name: string) => of.idFromName(name),
      idFromString: (id: string) => of.idFromString(id),
    });
    const kube: Pick<Fetcher, "fetch"> | undefined = env.KUBE && {
      fetch: (...args: Parameters<Fetcher["fetch"]>) => {
        this.#of(usage.kind).subrequests++;
        return this.#during(usage, "fetches", () => env.KUBE!.fetch(...args));
      },
    };
    const watched = Object.entries(env).map(([key, value]) => [
      key,
      key === "KUBE" ? kube : isNamespace(value) ? namespace(value) : value,
    ]);
    return Object.fromEntries(watched) as Environment;
  }
}

function isNamespace(value: unknown): value is DurableObjectNamespace {
  return typeof value === "object" && value !== null && "getByName" in value;
}

/** Returns the names of a class's methods with those of its base classes, down to the platform's own class. */
function methodsOf(prototype: object): string[] {
  if (prototype === DurableObject.prototype) return [];
  return [...Object.getOwnPropertyNames(prototype), ...methodsOf(Object.getPrototypeOf(prototype) as object)];
}
