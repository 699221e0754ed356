// Plays a machine on a socket for the benchmarks: the shim's own reporter, link, upgrade and frames. The clock is
// an argument.
import { systemClock, type Clock } from "../../../node-shim/base/clock.ts";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { Link } from "../../../node-shim/worker-link/link.ts";
import { DIRECTLY } from "../../../node-shim/worker-link/outbound.ts";
import type { QuestionAnswering } from "../../../node-shim/worker-link/questions.ts";
import { type ReportLink, reporter } from "../../../node-shim/worker-link/reporter.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { nextInMs } from "./next-in-ms.ts";
import { machineVitals } from "./machine.ts";
import { enrolledMachine, type RunningWorker } from "./workerd.ts";

const WITHIN_MS = 9000;

export interface BenchSocket {
  /**
   * Opens the socket; resolves once the Worker has accepted a report on it, with the milliseconds until the next one is
   * due.
   */
  open: () => Promise<number>;
  /**
   * Sends a heartbeat if that is enough, else a report, as the shim does. Returns the milliseconds until the next
   * one is due.
   */
  report: (vitals: Vitals) => Promise<number>;
  /** Sends a heartbeat. Returns false if a report has to follow. */
  beat: (vitals: Vitals) => Promise<boolean>;
  stop: () => void;
}

interface SocketWish {
  name: string;
  facts: Facts;
  /** The Worker's clock, in milliseconds since 1970. */
  nowMs: () => number;
  clock?: Clock;
  /** How the machine answers questions. Absent: it answers none. */
  answering?: QuestionAnswering;
}

/** Enrols and registers a machine. Until `open` it has no socket. */
export async function startSocketMachine(worker: RunningWorker, wish: SocketWish): Promise<BenchSocket> {
  const { name, facts, nowMs, clock = systemClock, answering = null } = wish;
  const { send, close } = httpTransport(worker.url, WITHIN_MS);
  const enrolled = await enrolledMachine(worker, name, send);
  const machine = { name, origin: worker.url, startId: `start of ${name}`, ...enrolled };
  const opened = Promise.withResolvers<void>();
  const link = new Link({
    machine,
    outbound: DIRECTLY,
    deadlineMs: WITHIN_MS,
    patienceMs: 2 * WITHIN_MS,
    clock,
    choice: "socket",
    // The socket opens without a random wait, because there are few machines.
    random: () => 0,
    log: (level, message) => void (level === "warn" && opened.reject(new Error(`${name}: ${message}`))),
    dropHttp: close,
    changed: () => undefined,
    answering,
  });
  link.listen(opened.resolve);
  let isWanted = false;
  const onceWanted: ReportLink = {
    headers: () => (isWanted ? link.headers() : {}),
    offered: (offer) => link.offered(offer),
    socket: () => link.socket(),
    isOver: () => link.isOver(),
  };
  const machineTime = () => new Date(nowMs()).toISOString();
  const post = reporter({ ...machine, send, link: onceWanted, machineTime, nowMs });
  const report: BenchSocket["report"] = async (vitals) => nextInMs(name, await post(facts, vitals));
  await report(machineVitals(0));
  const open = async () => {
    isWanted = true;
    await report(machineVitals(0));
    await opened.promise;
    return report(machineVitals(0));
  };
  const beat: BenchSocket["beat"] = async (vitals) =>
    ((await link.socket()?.heartbeat(vitals, nowMs())) ?? null) !== null;
  const stop = () => {
    link.close();
    close();
  };
  return { open, report, beat, stop };
}
