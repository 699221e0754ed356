// One machine that runs the loop of `node-shim run`. Reports, heartbeats and sockets are the shim's own, over real
// connections. The caller makes up the reported facts.
import { randomBytes } from "node:crypto";
import { systemClock, type Clock } from "../../../node-shim/base/clock.ts";
import { type Reported, startLoop } from "../../../node-shim/loop/loop.ts";
import { Link, type TransportInUse } from "../../../node-shim/worker-link/link.ts";
import type { Transport } from "../../../node-shim/worker-link/exchange.ts";
import { DIRECTLY } from "../../../node-shim/worker-link/outbound.ts";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import type { EnrolledMachine } from "../../../node-shim/worker-link/requests.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";

export interface ShimWish {
  /** `origin`: the target of its connections. */
  machine: EnrolledMachine;
  /** The ticket from its enrolment. */
  ticket: string;
  facts: Facts;
  vitals: () => Vitals;
  /** Sends by HTTP; `close` drops that connection. */
  http: { send: Transport; close: () => void };
  /** Deadline of a socket's upgrade and of its answers; absent: nine seconds. */
  deadlineMs?: number;
  clock?: Clock;
  /** Called with the new transport of its reports when that has changed. */
  changed?: (transport: TransportInUse) => void;
  /** Called when the Worker requests a report, or a socket has opened. */
  asked?: () => void;
  /** Called after each report and each heartbeat, with the time it took. */
  reported?: (reported: Reported, tookMs: number) => void;
}

export interface RunningShim {
  name: string;
  transport: () => TransportInUse;
  /** Stops it as a crash does: it sends no last report. */
  stop: () => Promise<void>;
}

export function runShim(wish: ShimWish): RunningShim {
  const { machine, ticket, facts, vitals, http, deadlineMs = 9000, clock = systemClock } = wish;
  const stop = new AbortController();
  let transport: TransportInUse = { via: "http", choice: "auto", fault: null, againInMs: null };
  const link = new Link({
    machine,
    outbound: DIRECTLY,
    deadlineMs,
    clock,
    choice: "auto",
    random: Math.random,
    log: () => undefined,
    dropHttp: http.close,
    changed(inUse) {
      transport = inUse;
      wish.changed?.(inUse);
    },
  });
  const machineTime = () => new Date().toISOString();
  const startId = randomBytes(16).toString("base64url");
  const report = reporter({
    ...machine,
    ticket,
    link,
    startId,
    send: http.send,
    machineTime,
    nowMs: clock.nowMs,
  });
  let tookMs = 0;
  const loop = startLoop({
    gather: () => Promise.resolve({ facts, vitals: vitals() }),
    async report(said, now) {
      const beganMs = performance.now();
      const outcome = await report(said, now);
      tookMs = performance.now() - beganMs;
      return outcome;
    },
    settings: facts.settings,
    clock,
    stop: stop.signal,
    random: Math.random,
    reconnect() {
      http.close();
      link.drop();
    },
    listen: (listener) =>
      link.listen(() => {
        wish.asked?.();
        listener();
      }),
    log: () => undefined,
    reported: (reported) => wish.reported?.(reported, tookMs),
  });
  return {
    name: machine.name,
    transport: () => transport,
    async stop() {
      stop.abort();
      link.drop();
      link.close();
      http.close();
      await loop.done;
    },
  };
}
