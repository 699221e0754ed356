// Puts together what changes all the time: the eviction signals. What they mean for the Node is not decided here.
import type { SIGNALS, Vitals } from "../../shared/protocol.ts";
import { memoryAvailable } from "./memory-signal.ts";
import { pidAvailable } from "./pid-signal.ts";
import type { Reading } from "./reading.ts";
import type { FileSystemReader } from "./storage.ts";
import { orWarn, type Warn } from "./warn.ts";

type SignalName = (typeof SIGNALS)[number];
type Observation = Reading<[available: number, capacity: number]>;

interface VitalsOptions {
  root: string;
  /** The folder whose file system is nodefs; it need not exist. */
  nodefsPath: string;
  readFileSystem: FileSystemReader;
  warn: Warn;
}

/** The signals of a machine without a container runtime, and so without imagefs. Never rejects. */
export async function gatherVitals({
  root,
  nodefsPath,
  readFileSystem,
  warn,
}: VitalsOptions): Promise<Vitals> {
  const nodefs = await readFileSystem(nodefsPath);
  const observations: [SignalName, Observation][] = [
    ["memory.available", memoryAvailable(root)],
    ["nodefs.available", "value" in nodefs ? nodefs.value.bytes : nodefs],
    ["nodefs.inodesFree", "value" in nodefs ? nodefs.value.inodes : nodefs],
    ["pid.available", pidAvailable(root)],
  ];
  const signals: Vitals["signals"] = {};
  for (const [name, observation] of observations) {
    const signal = orWarn(observation, name, warn);
    if (signal !== undefined) signals[name] = signal;
  }
  return { signals };
}
