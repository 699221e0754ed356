// Runs the shim's own loop, link and reporter for one machine of a round, in virtual time. The round makes the facts
// and the vitals, and carries requests and sockets.
import { startLoop } from "../../../node-shim/loop/loop.ts";
import { LateAnswer, retryAfterMs, type Transport } from "../../../node-shim/worker-link/exchange.ts";
import { Link } from "../../../node-shim/worker-link/link.ts";
import { DIRECTLY, lateText } from "../../../node-shim/worker-link/outbound.ts";
import { gatewayPace } from "../../../node-shim/worker-link/pace.ts";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import type { EnrolledMachine } from "../../../node-shim/worker-link/requests.ts";
import { openSocket } from "../../../node-shim/worker-link/upgrade.ts";
import type {
  Opening,
  openWebSocket,
  WebSocketConnection,
} from "../../../node-shim/worker-link/websocket.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { failure, success } from "../../../shared/result.ts";
import type { Time } from "./objects.ts";
import { type ClientSocket, LOST, NOWHERE } from "./web-sockets.ts";

/** The deadline of a request of the shim, and the longest wait for an answer on a socket. */
const DEADLINE_MS = 9000;

/** The way between a machine and the Worker. */
export interface Path {
  /** Sends a request. Rejects or never answers while the way fails. */
  send: (request: Request) => Promise<Response>;
  /** Carries frames of a socket that the machine has opened. */
  carry: (socket: ClientSocket) => void;
}

interface ProcessOptions {
  machine: EnrolledMachine;
  startId: string;
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
  /** Stops the process, as SIGSTOP does; with `isSuspend` the whole machine. Returns a function that continues it. */
  freeze: (isSuspend: boolean) => () => void;
}

/** Holds back the callbacks of a stopped process until the process continues. */
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
  const { machine, startId, time, random, wallMs, gather, usesSockets, log } = options;
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
    open: (upgrading, to, listener, signal) =>
      openSocket(upgrading, to, listener, signal, (opening) =>
        open({ ...options, sockets, freezer }, opening),
      ),
  });
  const pace = gatewayPace(clock.nowMs);
  const report = reporter({
    ...machine,
    startId,
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
      if (!isClosed) for (const socket of sockets) socket.wire = NOWHERE;
      link.close();
      for (const socket of sockets) socket.close();
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
  const late = () => reject(new LateAnswer(lateText(DEADLINE_MS)));
  const stop = time.after(DEADLINE_MS, () => freezer.run(late));
  return Promise.race([work, promise]).finally(stop);
}

function transport({ machine, path, time }: ProcessOptions, freezer: Freezer): Transport {
  return ({ method, path: to, headers, body }) => {
    const ask = async () => {
      // oxlint-disable-next-line unicorn/no-invalid-fetch-options -- the method is POST or PUT
      const response = await path.send(new Request(machine.origin + to, { method, headers, body }));
      await freezer.thawed();
      const waitMs = retryAfterMs(response.headers.get("retry-after"));
      return {
        status: response.status,
        body: await response.text(),
        ...(waitMs !== undefined && { retryAfterMs: waitMs }),
      };
    };
    return inTime(time, freezer, ask());
  };
}

interface OpeningContext extends ProcessOptions {
  sockets: Set<ClientSocket>;
  freezer: Freezer;
}

/** Opens a WebSocket as openWebSocket does, over the round's network. */
async function open(
  { path, time, sockets, freezer }: OpeningContext,
  { url, headers }: Opening,
): ReturnType<typeof openWebSocket> {
  try {
    const request = new Request(url, { headers: { ...headers, upgrade: "websocket" } });
    const response = await inTime(time, freezer, path.send(request));
    const { status, webSocket: socket } = response as Response & { webSocket?: ClientSocket | null };
    if (!socket) {
      const answer = { status, body: await response.text(), headers: Object.fromEntries(response.headers) };
      return failure({ reason: "answered", ...answer });
    }
    path.carry(socket);
    sockets.add(socket);
    return success(connectionOn(socket, freezer));
  } catch (error) {
    return failure(
      error instanceof LateAnswer ? { reason: "late" } : { reason: "failed", error: error as Error },
    );
  }
}

function connectionOn(socket: ClientSocket, freezer: Freezer): WebSocketConnection {
  let ponged: () => void = () => undefined;
  return {
    listen(listener) {
      ponged = () => freezer.run(() => listener.ponged?.());
      socket.listen({
        received: (text) => freezer.run(() => listener.received(text)),
        ended: (code, reason) => {
          const why = code === LOST ? "the connection was closed" : `it was closed (${code}: ${reason})`;
          freezer.run(() => listener.ended(why));
        },
      });
    },
    send: (text) => socket.send(text),
    ping: () => socket.ping(() => ponged()),
    close: () => socket.close(),
    terminate: () => socket.close(LOST),
  };
}
