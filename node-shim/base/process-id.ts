// Identifies a process by its ID and start time, since a later process may get the same ID.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { codeOf } from "./fault.ts";

/** Returns "pid starttime" of this process. */
export function thisProcess(): string {
  return `${process.pid} ${startTimeOf(process.pid)}`;
}

/** Returns whether the process that thisProcess() named still runs. `named` must be of the machine's current boot. */
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

/** Reads field 22 of /proc/PID/stat, the start time (proc(5)); "" without /proc. Field 2 may contain spaces. */
function startTimeOf(pid: number): string {
  const stat = processFile(pid, "stat");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

/** Reads /proc/PID/cgroup (cgroups(7)), which has one line for each hierarchy; "" if the process has ended. */
export function cgroupsOf(pid: string): string {
  return processFile(pid, "cgroup");
}

/** Returns the ID of another process with `word` in its command line that has `path` open; null if there is none. */
export function processWith(word: string, path: string): string | null {
  const others = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  const isUser = (pid: string) => processFile(pid, "cmdline").includes(word) && openPaths(pid).includes(path);
  return others.find(isUser) ?? null;
}

/** Returns the paths that a process has open; none if the process has ended, or is another user's. */
function openPaths(pid: string): string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((name) => {
      try {
        return readlinkSync(`${folder}/${name}`);
      } catch {
        return "";
      }
    });
  } catch {
    return [];
  }
}

function processFile(pid: number | string, name: "stat" | "cgroup" | "cmdline"): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch (error) {
    // ESRCH means that the process ended during the read.
    if (["ENOENT", "ESRCH"].includes(codeOf(error))) return "";
    throw error;
  }
}
