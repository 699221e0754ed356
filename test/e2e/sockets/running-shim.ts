// Runs the loop of `node-shim run` for one machine. Reports, heartbeats and sockets are the shim's own, over real
// connections. The caller makes up the reported facts.
import { randomBytes } from "node:crypto";
import { systemClock, type Clock } from "../../../node-shim/base/clock.ts";
import { type Reported, startLoop } from "../../../node-shim/loop/loop.ts";
import { sendingUsage } from "../../../node-shim/loop/usage.ts";
import { Link, type TransportInUse } from "../../../node-shim/worker-link/link.ts";
import type { Transport } from "../../../node-shim/worker-link/exchange.ts";
import { DIRECTLY } from "../../../node-shim/worker-link/outbound.ts";
import type { QuestionAnswering } from "../../../node-shim/worker-link/questions.ts";
import { gatewayPace } from "../../../node-shim/worker-link/pace.ts";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import type { EnrolledMachine } from "../../../node-shim/worker-link/requests.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { USAGE, usageOf } from "../../../shared/protocol/usage.ts";

export interface ShimWish {
  /** The enrolled machine; its connections go to its `origin`. */
  machine: EnrolledMachine;
  /** The ticket that the machine's enrolment returned. */
  ticket: string;
  facts: Facts;
  vitals: () => Vitals;
  /** The transport for HTTP; `close` drops its connection. */
  http: { send: Transport; close: () => void; until?: () => Record<string, string> };
  /** Milliseconds until a socket's upgrade or an answer on it counts as failed. Absent: nine seconds. */
  deadlineMs?: number;
  clock?: Clock;
  /** How the machine answers questions. Absent: all are off. */
  answering?: QuestionAnswering;
  /** Called when the shim's reports have changed to another transport. */
  changed?: (transport: TransportInUse) => void;
  /** Called when the Worker requests a report, or when a socket has opened. */
  asked?: () => void;
  /** Called after each report and each heartbeat, with the milliseconds that it took. */
  reported?: (reported: Reported, tookMs: number) => void;
}

export interface RunningShim {
  name: string;
  transport: () => TransportInUse;
  /** Stops the shim as a crash does: the shim sends no last report. */
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
    patienceMs: 2 * deadlineMs,
    clock,
    choice: "auto",
    random: Math.random,
    ...(wish.answering && { answering: wish.answering }),
    ...(http.until && { until: http.until }),
    log: () => undefined,
    dropHttp: http.close,
    changed(inUse) {
      transport = inUse;
      wish.changed?.(inUse);
    },
  });
  const machineTime = () => new Date().toISOString();
  const startId = randomBytes(16).toString("base64url");
  const pace = gatewayPace(clock.nowMs);
  const { nowMs } = clock;
  const report = sendingUsage(
    reporter({ ...machine, ticket, link, startId, send: http.send, machineTime, nowMs, pace }),
    // An earlier Worker would close the socket after a usage frame.
    {
      read: () => Promise.resolve({ ...usageOf(USAGE.map(() => 1)), uptimeSeconds: nowMs() / 1000 }),
      socket: () => link.socket(),
      nowMs,
    },
  );
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
    pace,
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
