// Calculates how many files workerd has open for a number of machines. The system's limit (ulimit -n) ends workerd.
import { execFileSync } from "node:child_process";

/**
 * The number of files that workerd has open. `machine`: a machine's connection, which counts twice. `enrolling`: in
 * addition for a machine that enrols: a second connection, and the three files of its object's database.
 * `mostEnrolling`: the machines that enrol at the same time, at most.
 */
const FILES = { machine: 2, enrolling: 5, mostEnrolling: 800, others: 100 } as const;

/** Returns the number of files that a program started by this one may have open. */
export function openFiles(): number {
  const limit = execFileSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" }).trim();
  return limit === "unlimited" ? Infinity : Number(limit);
}

/** Returns why the limit `open` is too low for these machines, with the highest value of `flag`; null if it is enough. */
export function filesLack(machines: number, open: number, flag: string): string | null {
  const most = mostMachines(open);
  return machines <= most ? null : lackText(open, flag, most);
}

export const lackText = (open: number, flag: string, most: number) =>
  `workerd may have ${open} files open here (ulimit -n), which is enough for ${flag} ${most}`;

function mostMachines(open: number): number {
  const { machine, enrolling, mostEnrolling, others } = FILES;
  const whileFewEnrol = (open - others) / (machine + enrolling);
  if (whileFewEnrol < mostEnrolling) return Math.max(0, Math.floor(whileFewEnrol));
  return Math.floor((open - others - enrolling * mostEnrolling) / machine);
}
