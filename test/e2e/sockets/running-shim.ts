// One machine as `node-shim run` has it from its loop on: reports, heartbeats and sockets are the shim's own, over real
// connections. What it reports is its caller's.
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
  /** `origin`: where its connections go. */
  machine: EnrolledMachine;
  /** The enrolment's. */
  ticket: string;
  facts: Facts;
  vitals: () => Vitals;
  /** By HTTP, and what drops that connection. */
  http: { send: Transport; close: () => void };
  /** Of a socket's upgrade and of its answers; absent: nine seconds. */
  deadlineMs?: number;
  clock?: Clock;
  /** Called with what its reports go by, when that has changed. */
  changed?: (transport: TransportInUse) => void;
  /** Called when the Worker asks for a report, or a socket was opened. */
  asked?: () => void;
  /** Called after each report and each heartbeat, with how long it took. */
  reported?: (reported: Reported, tookMs: number) => void;
}

export interface RunningShim {
  name: string;
  transport: () => TransportInUse;
  /** As a crash ends it: nothing is said. */
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
