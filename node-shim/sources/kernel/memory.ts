// Reads how much memory and swap the machine has, from /proc/meminfo. memory-signal.ts reads how much is in use.
import { success } from "../../../shared/result.ts";
import { type Reading, readKernelFile, unreadable } from "../../base/reading.ts";

interface Memory {
  memoryBytes: number;
  swapBytes: number;
}

/** MemTotal and SwapTotal; without either there is no reading (cAdvisor GetMachineMemoryCapacity, …SwapCapacity). */
export function memory(root: string): Reading<Memory> {
  const file = readKernelFile(root, "/proc/meminfo");
  if (!file.ok) return file;
  const total = /MemTotal:\s*(\d+) kB/.exec(file.value);
  const swap = /SwapTotal:\s*(\d+) kB/.exec(file.value);
  if (total === null || swap === null) return unreadable("/proc/meminfo has no MemTotal or no SwapTotal");
  return success({ memoryBytes: Number(total[1]) * 1024, swapBytes: Number(swap[1]) * 1024 });
}
