// Runs the loop, the probes and the shutdown watch until the shim is asked to stop.
import type { Vitals } from "../../shared/protocol/report.ts";
import { type Clock, systemClock, wakeableWait } from "../base/clock.ts";
import type { Machine, Probe, Seen } from "../machine/machine.ts";
import { inhibitShutdown, type ShutdownWatch, watchShutdown } from "../shutdown/shutdown.ts";
import { type LoopDependencies, startLoop } from "./loop.ts";

/** The longest wait for the last report before a shutdown, so that a stopped shim ends within a second. */
const LAST_REPORT_MS = 600;

export async function reportUntilAsked(
  { gather, settings, shutdownGracePeriodMs, probes, listen }: Machine,
  worker: Pick<LoopDependencies, "report" | "reconnect" | "pace" | "listen" | "log" | "reported">,
  asked: Promise<void>,
): Promise<void> {
  const { log } = worker;
  const clock = systemClock;
  const stopping = new AbortController();
  const stop = stopping.signal;
  const shutdown = watchShutdown({
    gracePeriodMs: shutdownGracePeriodMs,
    address: process.env["DBUS_SYSTEM_BUS_ADDRESS"],
    inhibit: inhibitShutdown,
    clock,
    stop,
    turned: (shuttingDown) => loop.see({ shuttingDown }),
    log,
  });
  const loop = startLoop({
    settings,
    clock,
    stop,
    random: Math.random,
    ...worker,
    ...withShutdown({ gather, report: worker.report }, shutdown),
  });
  listen(loop.see);
  const resumed = (sleptMs: number) => {
    log("info", `the machine slept for ${Math.round(sleptMs / 1000)} s: reporting on a new connection`);
    loop.resumed();
  };
  const watches = [
    ...probes.map((probe) => watchProbe(probe, { clock, stop, ...loop })),
    watchSuspend(clock, stop, resumed),
  ];
  try {
    // Until `stop` is aborted, a watch can end only because of a bug, whose error this line throws.
    await Promise.race([asked, loop.done, Promise.all(watches)]);
    await shutdown.awaitLastReport(LAST_REPORT_MS);
  } finally {
    stopping.abort();
  }
}

/** Adds `shuttingDown` to the vitals. Lets the shutdown continue once a report with `shuttingDown` was delivered. */
function withShutdown(
  { gather, report }: Pick<LoopDependencies, "gather" | "report">,
  { isShuttingDown, reportDelivered }: ShutdownWatch,
): Pick<LoopDependencies, "gather" | "report"> {
  return {
    async gather() {
      const { facts, vitals } = await gather();
      const shuttingDown: Vitals = { ...vitals, shuttingDown: true };
      return { facts, vitals: isShuttingDown() ? shuttingDown : vitals };
    },
    async report(facts, vitals) {
      const outcome = await report(facts, vitals);
      if (outcome.ok && vitals.shuttingDown === true) reportDelivered();
      return outcome;
    },
  };
}

interface Watching {
  clock: Clock;
  stop: AbortSignal;
  see: (seen: Seen) => void;
  isStarting: () => boolean;
}

/** The interval of probes until the Node's first Ready, from upstream fastStatusUpdateOnce. */
const STARTING_EVERY_MS = 100;
const SUSPEND_CHECK_MS = 1000;
/** The least delay of a timer that a suspend or SIGSTOP causes. A busy machine delays a timer by less. */
const SUSPENDED_MS = 5000;

/** Reads a probe repeatedly until stopped. Waits first, since the first report already has fresh vitals. */
export async function watchProbe(probe: Probe, { clock, stop, see, isStarting }: Watching): Promise<void> {
  const { wait } = wakeableWait(clock, stop);
  const isOver = () => probe.everyMs === null && !isStarting();
  while (!isOver()) {
    await wait(probe.everyMs ?? STARTING_EVERY_MS);
    if (stop.aborted) return;
    const seen = await probe.read();
    if (stop.aborted) return;
    see(seen);
  }
}

/** Detects a suspend by a late timer: timers stop while the machine is suspended, but its clock continues. */
export async function watchSuspend(
  clock: Clock,
  stop: AbortSignal,
  resumed: (sleptMs: number) => void,
): Promise<void> {
  const { wait } = wakeableWait(clock, stop);
  while (!stop.aborted) {
    const beforeMs = clock.nowMs();
    await wait(SUSPEND_CHECK_MS);
    const lateMs = clock.nowMs() - beforeMs - SUSPEND_CHECK_MS;
    if (!stop.aborted && lateMs > SUSPENDED_MS) resumed(lateMs);
  }
}
