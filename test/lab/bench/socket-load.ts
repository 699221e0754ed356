// Plays machines that send heartbeats over sockets to a Worker on loopback: real sessions on one gateway. Each
// heartbeat causes one lease renewal. In a round each machine sends one heartbeat, at its pace by the Worker's clock,
// which moves ahead between rounds.
import type { Progress } from "./benchmark.ts";
import type { LoadRound } from "./heartbeat-load.ts";
import { machineFacts, machineVitals } from "./machine.ts";
import { someAtOnce } from "./some-at-once.ts";
import { startSocketMachine } from "./socket-machine.ts";
import type { RunningWorker } from "./workerd.ts";

export const SOCKETS = 256;
/** Milliseconds between two heartbeats of a machine. */
const BEAT_MS = 9600;
/** The number of requests at once, which is the same as over HTTP. */
export const AT_ONCE = 32;
/** The number of machines that start at once: small, because the apiserver in this process registers them. */
const STARTS_AT_ONCE = 8;
const ATTEMPTS = 3;

export interface SocketLoad {
  round: () => Promise<LoadRound>;
  stop: () => void;
}

/**
 * Returns facts with a status period of a day: a status that falls due during the measurement would need a report.
 */
function factsOfLoad() {
  const { settings, ...facts } = machineFacts();
  return { ...facts, settings: { ...settings, nodeStatusReportFrequencyMs: 24 * 3_600_000 } };
}

/** Starts the machines of the load. The Worker must run ahead-entry.ts. */
export async function startSocketLoad(
  worker: RunningWorker,
  prefix: string,
  progress: Progress,
): Promise<SocketLoad> {
  let aheadMs = 0;
  const nowMs = () => Date.now() + aheadMs;
  const facts = factsOfLoad();
  const names = Array.from({ length: SOCKETS }, (_, index) => `${prefix}-${index}`);
  const machines = await someAtOnce(STARTS_AT_ONCE, names, (name, index) => {
    progress(`${index} of ${SOCKETS} machines`);
    return startSocketMachine(worker, { name, facts, nowMs });
  });
  await someAtOnce(STARTS_AT_ONCE, machines, ({ open }) => open());
  let beats = 0;
  const ahead = async () => {
    await fetch(`${worker.url}/ahead/${BEAT_MS}`);
    aheadMs += BEAT_MS;
  };
  /**
   * Measures one round. Returns null if lease loans have ended, as they do after five minutes; all machines have
   * new loans then.
   */
  const attempt = async (): Promise<LoadRound | null> => {
    await ahead();
    const vitals = machineVitals(++beats);
    const [cpuBefore, startedMs] = [worker.cpuMicroseconds(), performance.now()];
    const taken = await someAtOnce(AT_ONCE, machines, ({ beat }) => beat(vitals));
    const seconds = (performance.now() - startedMs) / 1000;
    const cpuMicroseconds = (worker.cpuMicroseconds() - cpuBefore) / SOCKETS;
    if (!taken.includes(false)) return { heartbeatsPerSecond: SOCKETS / seconds, cpuMicroseconds };
    await ahead();
    await someAtOnce(AT_ONCE, machines, ({ report }) => report(vitals));
    return null;
  };
  const round = async () => {
    for (let left = ATTEMPTS; left > 0; left--) {
      const measured = await attempt();
      if (measured) return measured;
    }
    throw new Error(`machines were told to report in ${ATTEMPTS} rounds`);
  };
  const stop = () => {
    for (const machine of machines) machine.stop();
  };
  return { round, stop };
}
