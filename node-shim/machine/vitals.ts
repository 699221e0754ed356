// Gathers the vitals: the eviction signals, the kernel's OOM kills, and the errors of the container runtime. Decides
// nothing.
import type { SIGNALS, Vitals } from "../../shared/protocol/report.ts";
import { memoryAvailable } from "../sources/kernel/memory-signal.ts";
import { oomKills } from "../sources/kernel/oom-kills.ts";
import { pidAvailable } from "../sources/kernel/pid-signal.ts";
import type { Reading } from "../base/reading.ts";
import { runtimeErrors, type RuntimeReader } from "../sources/cri/runtime-reader.ts";
import type { FileSystem, FileSystemReader } from "../sources/kernel/storage.ts";
import { orWarn, type Warn } from "../base/warn.ts";

type SignalName = (typeof SIGNALS)[number];
type Observation = Reading<[available: number, capacity: number]>;

interface VitalsOptions {
  root: string;
  /** The folder whose file system is nodefs; it need not exist. */
  nodefsPath: string;
  readFileSystem: FileSystemReader;
  containerRuntime: RuntimeReader;
  warn: Warn;
}

/** The container runtime reports where imagefs is; without a runtime there is none. Never rejects. */
export async function gatherVitals({
  root,
  nodefsPath,
  readFileSystem,
  containerRuntime,
  warn,
}: VitalsOptions): Promise<Vitals> {
  const runtime = containerRuntime();
  const nodefs = await readFileSystem(nodefsPath);
  const imagefs = runtime?.imageFsPath === undefined ? null : await readFileSystem(runtime.imageFsPath);
  const observations: [SignalName, Observation][] = [
    ["memory.available", memoryAvailable(root)],
    ...fileSystemSignals("nodefs", nodefs),
    ...(imagefs ? fileSystemSignals("imagefs", imagefs) : []),
    ["pid.available", pidAvailable(root)],
  ];
  const signals: Vitals["signals"] = {};
  for (const [name, observation] of observations) {
    const signal = orWarn(observation, name, warn);
    if (signal !== undefined) signals[name] = signal;
  }
  const kills = orWarn(oomKills(root), "OOM kills", warn);
  return { signals, ...(kills !== undefined && { oomKills: kills }), ...runtimeErrors(runtime) };
}

function fileSystemSignals(
  name: "nodefs" | "imagefs",
  fileSystem: Reading<FileSystem>,
): [SignalName, Observation][] {
  return [
    [`${name}.available`, fileSystem.ok ? fileSystem.value.bytes : fileSystem],
    [`${name}.inodesFree`, fileSystem.ok ? fileSystem.value.inodes : fileSystem],
  ];
}
