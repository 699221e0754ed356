// Starts the machines of a soak, in processes of their own, and collects their reports.
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";

/** The machines of one process, whose names are `sim-FROM` … `sim-TO`. */
export interface MachinesWish {
  url: string;
  joinToken: string;
  from: number;
  to: number;
  /** true if all machines enrol at once, each at its own pace. */
  isAtOnce: boolean;
}

/** The events of one process's machines since its last message. */
export interface MachinesReport {
  /** The number of machines that are on a socket at present. */
  onSocket: number;
  /** The milliseconds of each answer to a report or a heartbeat. */
  answersMs: number[];
  /** The reasons of failed reports, on either transport. */
  failures: string[];
  /** The reasons why sockets were lost. */
  ends: string[];
  /** The times at which sockets opened, in milliseconds since 1970. */
  opened: { name: string; atMs: number }[];
  /** The delay of the process's own timers, in milliseconds. */
  lagMs: number;
  /** The CPU time of the process since its start, in seconds. */
  cpuSeconds: number;
}

export const NO_EVENTS: MachinesReport = {
  onSocket: 0,
  answersMs: [],
  failures: [],
  ends: [],
  opened: [],
  lagMs: 0,
  cpuSeconds: 0,
};

export interface SoakFleet {
  /** Returns the events of all machines since the last call. */
  take: () => MachinesReport;
  /** Returns the CPU time of all machines' processes since their start, in seconds. */
  cpuSeconds: () => number;
  stop: () => void;
}

export function startFleet(wishes: readonly MachinesWish[], failed: (why: string) => void): SoakFleet {
  const file = join(import.meta.dirname, "machines.ts");
  let isStopped = false;
  const said: MachinesReport[][] = wishes.map(() => []);
  const last: { onSocket: number; cpuSeconds: number }[] = wishes.map(() => ({ onSocket: 0, cpuSeconds: 0 }));
  const processes = wishes.map((wish, at): ChildProcess => {
    const child = fork(file, [JSON.stringify(wish)], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    child.on("message", (report: MachinesReport) => {
      said[at]?.push(report);
      last[at] = report;
    });
    child.once("exit", (code) => {
      if (!isStopped) failed(`machines ended with exit code ${code}`);
    });
    return child;
  });
  const cpuSeconds = () => last.reduce((sum, each) => sum + each.cpuSeconds, 0);
  return {
    cpuSeconds,
    take() {
      const reports = said.flatMap((some) => some.splice(0));
      return {
        onSocket: last.reduce((sum, { onSocket }) => sum + onSocket, 0),
        cpuSeconds: cpuSeconds(),
        answersMs: reports.flatMap(({ answersMs }) => answersMs),
        failures: reports.flatMap(({ failures }) => failures),
        ends: reports.flatMap(({ ends }) => ends),
        opened: reports.flatMap(({ opened }) => opened),
        lagMs: Math.max(0, ...reports.map(({ lagMs }) => lagMs)),
      };
    },
    stop() {
      isStopped = true;
      for (const child of processes) child.kill("SIGKILL");
    },
  };
}
