// Lets a machine send heartbeats over its socket at the Worker's pace, and measures each.
import { setTimeout as wait } from "node:timers/promises";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { machineFacts, machineVitals } from "./machine.ts";
import type { BenchSocket } from "./socket-machine.ts";

/** What happened to a heartbeat: the milliseconds until its answer came, or what it became. */
export type Beaten = number | "report" | "refused";

/** Returns facts with a short interval, so that there are many heartbeats to measure. */
export function beatingFacts(): Facts {
  const { settings, ...facts } = machineFacts();
  return { ...facts, settings: { ...settings, nodeStatusUpdateFrequencyMs: INTERVAL_MS } };
}

/**
 * Sends heartbeats until `signal` is aborted. `note` gets the milliseconds of each, or what it became: a report, which a
 * busy Worker may refuse.
 */
export async function beatUntil(
  { beat, report, stop }: BenchSocket,
  signal: AbortSignal,
  note: (how: Beaten) => void,
): Promise<void> {
  // Heartbeats of machines that have started together spread.
  let inMs = BEAT_MS * Math.random();
  for (let index = 1; !signal.aborted; index++) {
    await wait(inMs, undefined, { signal }).catch(() => undefined);
    const vitals = machineVitals(index);
    const startedMs = performance.now();
    const isBeat = await beat(vitals);
    if (isBeat) {
      note(performance.now() - startedMs);
      inMs = BEAT_MS;
    } else {
      const nextMs = await report(vitals).catch(() => null);
      note(nextMs === null ? "refused" : "report");
      inMs = nextMs ?? BEAT_MS;
    }
  }
  stop();
}

const INTERVAL_MS = 5000;
/** The Worker asks for heartbeats a little more often than the interval. */
const BEAT_MS = 4800;
