// Runs the shim's own loop, link and reporter for one machine of a round, in virtual time. What the machine gathers, and
// the way to the Worker, belong to the round.
import { startLoop } from "../../../node-shim/loop/loop.ts";
import { LateAnswer, type Transport } from "../../../node-shim/worker-link/exchange.ts";
import { Link } from "../../../node-shim/worker-link/link.ts";
import { DIRECTLY } from "../../../node-shim/worker-link/outbound.ts";
import { gatewayPace } from "../../../node-shim/worker-link/pace.ts";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import type { EnrolledMachine } from "../../../node-shim/worker-link/requests.ts";
import { makeSessionKeys } from "../../../node-shim/worker-link/session.ts";
import { signConnect } from "../../../node-shim/worker-link/sign.ts";
import { GatewaySocket } from "../../../node-shim/worker-link/socket-transport.ts";
import type { openSocket } from "../../../node-shim/worker-link/upgrade.ts";
import type { WebSocketConnection } from "../../../node-shim/worker-link/websocket.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { failure, success } from "../../../shared/result.ts";
import type { Time } from "./objects.ts";
import type { ClientSocket } from "./web-sockets.ts";

/** The deadline of a request of the shim, and the longest wait for an answer on a socket. */
const DEADLINE_MS = 9000;
/** The code of a connection that ended without a close frame. */
const LOST_CODE = 1006;

/** The way between a machine and the Worker. */
export interface Path {
  /** Sends a request. Rejects or never answers while the way fails. */
  send: (request: Request) => Promise<Response>;
  /** Carries frames of a socket that the machine has opened. */
  carry: (socket: ClientSocket) => void;
}

export interface ProcessOptions {
  machine: EnrolledMachine;
  startId: string;
  ticket: string;
  time: Time;
  random: () => number;
  /** Returns the machine's wall clock, in milliseconds since 1970. */
  wallMs: () => number;
  gather: () => { facts: Facts; vitals: Vitals };
  path: Path;
  usesSockets: boolean;
  log: (line: string) => void;
}

export interface ShimProcess {
  /** Ends the process at once. `isClosed`: the kernel closes its connections, as after a kill. */
  kill: (isClosed: boolean) => void;
  /** Makes the shim read its vitals at once, as a probe that saw a change does. */
  see: () => void;
  /** Stops the process, as SIGSTOP does. Returns a function that continues it. `isSuspend`: the whole machine sleeps. */
  freeze: (isSuspend: boolean) => () => void;
}

/** Holds back what a process that is stopped would do. */
class Freezer {
  #isFrozen = false;
  #held: (() => void)[] = [];

  run(act: () => void): void {
    if (this.#isFrozen) this.#held.push(act);
    else act();
  }

  thawed = (): Promise<void> => new Promise((resolve) => this.run(resolve));

  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    for (const act of this.#held.splice(0)) act();
  }
}

/** Starts a process of the shim. */
export function startShim(options: ProcessOptions): ShimProcess {
  const { machine, startId, ticket, time, random, wallMs, gather, usesSockets, log } = options;
  const stop = new AbortController();
  // Timers ring at whole milliseconds, as those of Node.js do.
  const freezer = new Freezer();
  const timer = (ms: number, ring: () => void) =>
    time.after(Math.max(0, Math.ceil(ms)), () => freezer.run(ring));
  const clock = { nowMs: time.nowMs, timer };
  const sockets = new Set<ClientSocket>();
  const link = new Link({
    machine,
    outbound: DIRECTLY,
    deadlineMs: DEADLINE_MS,
    patienceMs: 2 * DEADLINE_MS,
    clock,
    choice: usesSockets ? "auto" : "http",
    random,
    log: (level, message) => log(`${level} ${message}`),
    dropHttp: () => undefined,
    changed: () => undefined,
    open: (upgrading, ...how) => open({ ...options, sockets, freezer }, upgrading, ...how),
  });
  const pace = gatewayPace(clock.nowMs);
  const report = reporter({
    ...machine,
    startId,
    ticket,
    send: transport(options, freezer),
    link,
    machineTime: () => new Date(wallMs()).toISOString(),
    nowMs: clock.nowMs,
    pace,
  });
  const loop = startLoop({
    gather: async () => gather(),
    report,
    settings: gather().facts.settings,
    clock,
    stop: stop.signal,
    random,
    reconnect: () => link.drop(),
    pace,
    listen: (asked) => link.listen(asked),
    log: (level, message) => log(`${level} ${message}`),
  });
  loop.done.catch((error: unknown) => log(`the loop ended: ${String(error)}`));
  return {
    kill(isClosed) {
      stop.abort();
      if (isClosed) link.close();
      else
        for (const socket of sockets) socket.wire = { toServer: () => undefined, toClient: () => undefined };
      for (const socket of sockets) if (isClosed) socket.close();
      link.close();
    },
    see() {
      const { facts, vitals } = gather();
      const { errors = {}, shuttingDown = false } = vitals;
      freezer.run(() => loop.see({ ...vitals, errors, shuttingDown, hasRuntime: facts.runtime !== null }));
    },
    freeze(isSuspend) {
      freezer.freeze();
      return () => {
        freezer.thaw();
        if (isSuspend) loop.resumed();
      };
    },
  };
}

/** Returns a promise of `work` that rejects with a LateAnswer after the shim's deadline. */
function inTime<T>(time: Time, freezer: Freezer, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = () => reject(new LateAnswer(`no answer within ${DEADLINE_MS / 1000} s`));
  const stop = time.after(DEADLINE_MS, () => freezer.run(late));
  return Promise.race([work, promise]).finally(stop);
}

function transport({ machine, path, time }: ProcessOptions, freezer: Freezer): Transport {
  return ({ method, path: to, headers, body }) => {
    const ask = async () => {
      // oxlint-disable-next-line unicorn/no-invalid-fetch-options -- the method is POST or PUT
      const response = await path.send(new Request(machine.origin + to, { method, headers, body }));
      await freezer.thawed();
      const waitS = Number(response.headers.get("retry-after"));
      return {
        status: response.status,
        body: await response.text(),
        ...(waitS > 0 && { retryAfterMs: waitS * 1000 }),
      };
    };
    return inTime(time, freezer, ask());
  };
}

type Opening = Parameters<typeof openSocket>;

interface OpeningContext extends ProcessOptions {
  sockets: Set<ClientSocket>;
  freezer: Freezer;
}

/** Opens a socket as openSocket does, by the round's way. */
async function open(
  { path, time, random, sockets, freezer }: OpeningContext,
  { machine, clock, deadlineMs, patienceMs }: Opening[0],
  to: string,
  listener: Opening[2],
  _signal: AbortSignal,
): ReturnType<typeof openSocket> {
  const { name, origin, key, kid } = machine;
  const keys = makeSessionKeys();
  const url = new URL(to, origin);
  const claims = {
    sub: name,
    aud: origin,
    method: "GET",
    path: url.pathname,
    session: keys.publicKey,
  } as const;
  const headers = { upgrade: "websocket", authorization: `Bearer ${await signConnect(key, kid, claims)}` };
  try {
    const response = await inTime(time, freezer, path.send(new Request(url, { headers })));
    const { webSocket: socket } = response as unknown as { webSocket: ClientSocket | null };
    if (!socket) return failure({ why: `HTTP ${response.status}`, ...(await refusalOf(response)) });
    path.carry(socket);
    sockets.add(socket);
    const parts = { name, keys, clock, deadlineMs, patienceMs, random };
    return success(new GatewaySocket(connectionOn(socket, freezer), parts, listener));
  } catch (error) {
    return failure({ why: String(error), reason: null, retryAfterMs: 0 });
  }
}

async function refusalOf(response: Response): Promise<{ reason: string | null; retryAfterMs: number }> {
  const body: unknown = await response.json().catch(() => null);
  const { reason = null } = (body ?? {}) as { reason?: string };
  return { reason, retryAfterMs: 1000 * Number(response.headers.get("retry-after") ?? 0) };
}

function connectionOn(socket: ClientSocket, freezer: Freezer): WebSocketConnection {
  let ponged: () => void = () => undefined;
  return {
    listen(listener) {
      ponged = () => freezer.run(() => listener.ponged?.());
      socket.listen({
        received: (text) => freezer.run(() => listener.received(text)),
        ended: (code, reason) => {
          const why = code === LOST_CODE ? "the connection was closed" : `it was closed (${code}: ${reason})`;
          freezer.run(() => listener.ended(why));
        },
      });
    },
    send: (text) => socket.send(text),
    ping: () => socket.ping(() => ponged()),
    close: () => socket.close(),
    terminate: () => socket.close(LOST_CODE),
  };
}
