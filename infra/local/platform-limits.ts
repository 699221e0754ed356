// Gives Durable Objects the limits of Cloudflare that workerd lacks: open connections, subrequests of an invocation, and
// bytes of a row. This file is a part of the local Worker's bundle and runs in workerd.
import { AsyncLocalStorage } from "node:async_hooks";
import { OutgoingConnections } from "./outgoing-connections.ts";

export const PLATFORM_LIMITS = {
  /** The most requests of one invocation, to objects and to other servers. */
  subrequests: 10_000,
  /** The same on Cloudflare's Free plan. */
  freeSubrequests: 50,
  /** The most bytes of a row. Each statement of the Worker writes one row, from its bindings. */
  rowBytes: 2 * 1024 * 1024,
} as const;

/** A call of an object's method by the platform. */
interface Invocation {
  object: string;
  method: string;
  /** The connections of the object. */
  connections: OutgoingConnections;
  subrequests: number;
}

type Log = (line: object) => void; // typically console.warn
type Method = (this: object, ...args: unknown[]) => unknown;
type Fetch = (url: string, init: RequestInit) => Promise<Response>;
type Exec = (statement: string, ...bindings: unknown[]) => unknown;
interface ObjectEnvironment {
  KUBE: { fetch: Fetch };
}
interface ObjectContext {
  storage: { sql: { exec: Exec } };
}
type ObjectClass = new (ctx: never, env: never) => object;

const current = new AsyncLocalStorage<Invocation>();
const connectionsOf = new WeakMap<object, OutgoingConnections>();

/** Counts a request of the current invocation. Throws above the limit, as Cloudflare does. */
function countSubrequest(log: Log): void {
  const invocation = current.getStore();
  if (!invocation) return;
  const { object, method } = invocation;
  const { subrequests, freeSubrequests } = PLATFORM_LIMITS;
  invocation.subrequests++;
  if (invocation.subrequests === freeSubrequests + 1)
    log({ message: `more than ${freeSubrequests} requests, the limit of the Free plan`, object, method });
  if (invocation.subrequests > subrequests)
    throw new Error(`${object}.${method}: Too many subrequests by single Worker invocation.`);
}

/** Limits the global fetch: a request of an object uses one of the object's connections. Call it once. */
export function limitFetch(scope: Pick<typeof globalThis, "fetch">, log: Log): void {
  const { fetch } = scope;
  scope.fetch = async (input, init) => {
    const connections = current.getStore()?.connections;
    countSubrequest(log);
    return connections ? connections.send(() => fetch(input, init), init?.signal) : fetch(input, init);
  };
}

/** Returns a class whose objects have the limits of Cloudflare. `ask` sends each request to the apiserver, and may count it. */
export function limited<Class extends ObjectClass>(
  of: Class,
  log: Log,
  ask: (send: () => Promise<Response>) => Promise<Response> = (send) => send(),
): Class {
  const prototype = invoked(of);
  return new Proxy(of, {
    construct(target, [ctx, env]: [ObjectContext | null, ObjectEnvironment]) {
      const connections = new OutgoingConnections();
      if (ctx) refuseLargeRows(ctx);
      const kube: Fetch = (url, init) => ask(() => env.KUBE.fetch(url, init));
      const KUBE = { fetch: limitedFetch(of.name, connections, { fetch: kube }, log) };
      const own = { ...counted(env, log), KUBE };
      const object = Reflect.construct(target, [ctx, own], prototype) as object;
      connectionsOf.set(object, connections);
      return object;
    },
  });
}

/** Returns a constructor whose objects have the methods of the class. Each call of a method is an invocation. */
function invoked(of: ObjectClass): typeof Object {
  const prototype = Object.create(of.prototype as object) as object;
  for (
    let each = of.prototype as object;
    each !== Object.prototype;
    each = Object.getPrototypeOf(each) as object
  )
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(each))) {
      if (name === "constructor" || typeof value !== "function" || Object.hasOwn(prototype, name)) continue;
      Object.defineProperty(prototype, name, { value: asInvocation(of.name, name, value as Method) });
    }
  const Invoked = function () {};
  Invoked.prototype = prototype;
  return Invoked as unknown as typeof Object;
}

function asInvocation(object: string, method: string, run: Method): Method {
  return function (...args) {
    const connections = connectionsOf.get(this);
    // A call by the object itself belongs to the invocation in progress.
    if (!connections || current.getStore()?.connections === connections) return run.apply(this, args);
    return current.run({ object, method, connections, subrequests: 0 }, () => run.apply(this, args));
  };
}

function limitedFetch(
  object: string,
  connections: OutgoingConnections,
  kube: { fetch: Fetch },
  log: Log,
): Fetch {
  const { counts } = connections;
  let logged = 0;
  return async (url, init) => {
    countSubrequest(log);
    const answer = connections.send(() => kube.fetch(url, init), init.signal);
    // Each line has at least twice the length of the line before, so that a busy object writes few lines.
    if (counts.longestQueue >= 2 * logged && counts.longestQueue > 0) {
      logged = counts.longestQueue;
      log({ message: "requests wait for a connection", object, ...counts });
    }
    return answer;
  };
}

/** Returns the environment with namespaces that count each call of an object. */
function counted(env: object, log: Log): object {
  const entries = Object.entries(env).map(([key, value]: [string, unknown]) => [
    key,
    typeof value === "object" && value !== null && "getByName" in value
      ? countedNamespace(value, log)
      : value,
  ]);
  return Object.fromEntries(entries) as object;
}

const countedNamespace = (namespace: object, log: Log) =>
  withMethods(namespace, (name, call) => {
    const isStub = name === "get" || name === "getByName";
    return isStub ? (...args) => countedStub(call(...args) as object, log) : call;
  });

const countedStub = (stub: object, log: Log) =>
  withMethods(stub, (_, call) => (...args) => {
    countSubrequest(log);
    return call(...args);
  });

type Call = (...args: unknown[]) => unknown;

/** Returns a proxy whose methods are replaced by `replace`. */
const withMethods = (of: object, replace: (name: PropertyKey, call: Call) => Call): object =>
  new Proxy(of, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return replace(name, (...args) => (target as Record<PropertyKey, Call>)[name]?.(...args));
    },
  });

const encoder = new TextEncoder();

function refuseLargeRows({ storage: { sql } }: ObjectContext): void {
  const exec = sql.exec.bind(sql);
  const value: Exec = (statement, ...bindings) => {
    const bytes = bindings.reduce<number>((sum, each) => sum + bytesOf(each), 0);
    if (bytes > PLATFORM_LIMITS.rowBytes) throw new Error("string or blob too big: SQLITE_TOOBIG");
    return exec(statement, ...bindings);
  };
  Object.defineProperty(sql, "exec", { value, configurable: true });
}

function bytesOf(binding: unknown): number {
  if (binding instanceof ArrayBuffer) return binding.byteLength;
  if (typeof binding !== "string") return 0;
  // UTF-8 has at least a byte for each UTF-16 unit, so that a short text needs no encoding.
  return 3 * binding.length <= PLATFORM_LIMITS.rowBytes ? binding.length : encoder.encode(binding).length;
}
