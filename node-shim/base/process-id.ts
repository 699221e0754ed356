// Identifies a process by its number and start time, since a later process may have the same number.
import { readFileSync } from "node:fs";
import { codeOf } from "./fault.ts";

/** Returns "pid starttime" of this process. */
export function thisProcess(): string {
  return `${process.pid} ${startTimeOf(process.pid)}`;
}

/** Does the process still run whose thisProcess() was `named`? The machine has not restarted since. */
export function isAlive(named: string): boolean {
  const [pid, startTime] = named.split(" ");
  if (!(Number(pid) > 0)) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    if (codeOf(error) !== "EPERM") return false;
  }
  return startTimeOf(Number(pid)) === (startTime ?? "");
}

/** Reads field 22 of /proc/PID/stat (proc(5)); "" without /proc. The name in field 2 may have spaces. */
function startTimeOf(pid: number): string {
  const stat = processFile(pid, "stat");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

/** Reads /proc/PID/cgroup (cgroups(7)): one line for each hierarchy; "" if the process is gone. */
export function cgroupsOf(pid: string): string {
  return processFile(pid, "cgroup");
}

function processFile(pid: number | string, name: "stat" | "cgroup"): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch (error) {
    // ESRCH: the process ended while it was read.
    if (["ENOENT", "ESRCH"].includes(codeOf(error))) return "";
    throw error;
  }
}
