// Runs the loop, the probes and the shutdown watch until the shim is asked to end. Waits a moment for the last report
// of a machine that shuts down.
import type { Vitals } from "../../shared/protocol/report.ts";
import { type LoopDependencies, startLoop } from "./loop.ts";
import type { Machine } from "../machine/machine.ts";
import { inhibitShutdown } from "../shutdown/inhibitor.ts";
import { type ShutdownWatch, watchShutdown } from "../shutdown/shutdown.ts";
import { systemClock } from "../base/clock.ts";
import { watchProbe, watchSuspend } from "./watch.ts";

/** How much a last report may take of the second in which a stopped shim ends. */
const LAST_REPORT_MS = 600;

export async function reportUntilAsked(
  { gather, settings, shutdownGracePeriodMs, probes, listen }: Machine,
  worker: Pick<LoopDependencies, "report" | "reconnect" | "listen" | "log" | "reported">,
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
    // None of the watches ends before that, except by a bug, which must not go unnoticed.
    await Promise.race([asked, loop.done, Promise.all(watches)]);
    await shutdown.awaitLastReport(LAST_REPORT_MS);
  } finally {
    stopping.abort();
  }
}

/** Adds `shuttingDown` to the vitals, and lets the shutdown continue once a report with it was delivered. */
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
