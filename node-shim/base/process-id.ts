// Names a process so that a later one with the same number is not taken for it, and tells whether it still runs.
import { readFileSync } from "node:fs";
import { codeOf } from "./fault.ts";

/** "pid starttime" of this process. */
export function thisProcess(): string {
  return `${process.pid} ${startTimeOf(process.pid)}`;
}

/** `named` is what thisProcess returned in some process since the machine's last start. */
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

/** Field 22 of /proc/PID/stat (proc(5)); "" where there is no /proc. The name in field 2 may hold spaces. */
function startTimeOf(pid: number): string {
  const stat = processFile(pid, "stat");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

/** /proc/PID/cgroup (cgroups(7)): one line for each hierarchy; "" where the process is gone. */
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
