// The machines of a soak, in processes of their own, and what they say.
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";

/** Theirs are the names `sim-FROM` … `sim-TO`. */
export interface MachinesWish {
  url: string;
  joinToken: string;
  from: number;
  to: number;
}

/** What machines of one process did since they said so last. */
export interface MachinesReport {
  /** Now. */
  onSocket: number;
  /** How long each answer took, to a report or a heartbeat. */
  answersMs: number[];
  /** Of reports, by whichever way. */
  failures: string[];
  /** Sockets that were lost, and why. */
  ends: string[];
  /** When sockets were there, in milliseconds since 1970. */
  opened: { name: string; atMs: number }[];
  /** How late the process was itself. */
  lagMs: number;
  /** Since it started. */
  cpuSeconds: number;
}

export interface SoakFleet {
  /** What all of them said since the last time. */
  take: () => MachinesReport;
  /** Of all of them, since they started. */
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
