// Converts the kubelet's stats summary to eviction signals.
import type { Observations } from "../../../shared/resources/eviction.ts";

/** The parts of a stats summary that eviction reads. Numbers are unsigned 64-bit; null if unknown. */
export interface StatsSummary {
  memory?: MemoryStats | null;
  /** The memory of the cgroup of all pods. */
  podsMemory?: MemoryStats | null;
  nodeFs?: FsStats | null;
  imageFs?: FsStats | null;
  containerFs?: FsStats | null;
  rlimit?: { maxPID?: bigint | null; running?: bigint | null } | null;
}

interface MemoryStats {
  availableBytes?: bigint | null;
  workingSetBytes?: bigint | null;
}

interface FsStats {
  availableBytes?: bigint | null;
  capacityBytes?: bigint | null;
  inodesFree?: bigint | null;
  inodes?: bigint | null;
}

type Observation = readonly [available: bigint, capacity: bigint];

/** Returns the signals of a stats summary, like upstream's makeSignalObservations. */
export function observationsOfSummary(summary: StatsSummary): Observations {
  const { memory, podsMemory, nodeFs, imageFs, containerFs, rlimit } = summary;
  const observed = {
    "memory.available": ofMemory(memory),
    "allocatableMemory.available": ofMemory(podsMemory),
    "nodefs.available": pair(nodeFs?.availableBytes, nodeFs?.capacityBytes),
    "nodefs.inodesFree": pair(nodeFs?.inodesFree, nodeFs?.inodes),
    "imagefs.available": pair(imageFs?.availableBytes, imageFs?.capacityBytes),
    "imagefs.inodesFree": pair(imageFs?.inodesFree, imageFs?.inodes),
    "containerfs.available": pair(containerFs?.availableBytes, containerFs?.capacityBytes),
    "containerfs.inodesFree": pair(containerFs?.inodesFree, containerFs?.inodes),
    "pid.available": ofPids(rlimit?.maxPID, rlimit?.running),
  };
  return observed;
}

/**
 * Returns the observation of memory. As upstream, the capacity is the available part plus the used part, not the
 * machine's memory.
 */
function ofMemory(memory: MemoryStats | null | undefined): Observation | undefined {
  const available = memory?.availableBytes ?? null;
  const workingSet = memory?.workingSetBytes ?? null;
  return available === null || workingSet === null ? undefined : pair(available, available + workingSet);
}

function ofPids(max: bigint | null | undefined, running: bigint | null | undefined): Observation | undefined {
  if (max === null || max === undefined || running === null || running === undefined) return undefined;
  return pair(max - running, max);
}

/** Returns an amount and its capacity. Go converts to int64 without a check, so larger numbers wrap. */
function pair(
  available: bigint | null | undefined,
  capacity: bigint | null | undefined,
): Observation | undefined {
  if (available === null || available === undefined || capacity === null || capacity === undefined)
    return undefined;
  return [BigInt.asIntN(64, available), BigInt.asIntN(64, capacity)];
}
