// Puts together what rarely changes about this machine. What cannot be read is left out and said; nothing is decided.
import type { Facts } from "../../shared/protocol/facts.ts";
import { addresses, type AddressSources } from "../sources/kernel/addresses.ts";
import { logicalCores } from "../sources/kernel/cores.ts";
import { hugePages } from "../sources/kernel/huge-pages.ts";
import { bootID, machineID, systemUUID } from "../sources/kernel/ids.ts";
import { memory } from "../sources/kernel/memory.ts";
import { osImage } from "../sources/kernel/os-image.ts";
import { architecture } from "../sources/kernel/platform.ts";
import type { Reading } from "../base/reading.ts";
import { runtimeFacts, type RuntimeReader } from "../sources/cri/runtime-facts.ts";
import type { FileSystemReader } from "../sources/kernel/storage.ts";
import { orWarn, type Warn } from "../base/warn.ts";

/** Told where a fact was read, where it may be one of several places: the fact's JSON Pointer, and the place. */
export type Note = (pointer: string, source: string) => void;

export interface FactsOptions extends Omit<AddressSources, "hostname"> {
  settings: Facts["settings"];
  /** The folder whose file system is nodefs; it need not exist. */
  nodefsPath: string;
  kernel: string; // typically os.release()
  os: string; // typically process.platform
  arch: string; // typically process.arch
  /** Of the kernel, asked once as the kubelet does; absent: nothing tells. */
  cpuHardcapping?: boolean | undefined;
  readFileSystem: FileSystemReader;
  containerRuntime: RuntimeReader;
  /** Typically a volumeScanner's. */
  volumes: () => Promise<Facts["volumes"]>;
  attachLimits: () => Promise<Facts["attachLimits"]>;
  warn: Warn;
  note?: Note;
}

/** Never rejects; costs no more than its slowest source. */
export async function gatherFacts(options: FactsOptions): Promise<Facts> {
  const { root, settings, warn, note, cpuHardcapping } = options;
  const [machine, image, found, fileSystem, volumes, limits] = await Promise.all([
    gatherMachine(root, warn, note),
    osImage(root),
    addresses({ ...options, hostname: settings.hostname }, warn),
    options.readFileSystem(options.nodefsPath),
    options.volumes(),
    options.attachLimits(),
  ]);
  const nodefs = orWarn(fileSystem.ok ? fileSystem.value.bytes : fileSystem, "nodefs", warn);
  noted(image, "/versions/osImage", note);
  return {
    settings,
    platform: { os: options.os, architecture: architecture(options.arch) },
    ...(machine && { machine }),
    // cAdvisor's ContainerOsVersion says Unknown as well.
    versions: { kernel: options.kernel, osImage: orWarn(image, "OS image", warn) ?? "Unknown" },
    ...runtimeFacts(options.containerRuntime()),
    ...(found && { addresses: found }),
    ...(nodefs && { storage: { nodefsCapacityBytes: nodefs[1] } }),
    ...(cpuHardcapping !== undefined && { cgroups: { cpuHardcapping } }),
    ...(volumes && { volumes }),
    ...(limits && { attachLimits: limits }),
  };
}

/** Whole or absent: a capacity of zero must never come from a file that could not be read. */
export async function gatherMachine(root: string, warn: Warn, note?: Note): Promise<Facts["machine"]> {
  const id = noted(await machineID(root), "/machine/machineID", note);
  const uuid = noted(await systemUUID(root), "/machine/systemUUID", note);
  const cores = orWarn(noted(logicalCores(root), "/machine/cores", note), "cores", warn);
  const total = orWarn(memory(root), "memory", warn);
  const pages = orWarn(hugePages(root), "huge pages", warn);
  if (cores === undefined || total === undefined || pages === undefined) return undefined;
  return {
    machineID: orWarn(id, "machine ID", warn) ?? "",
    systemUUID: orWarn(uuid, "system UUID", warn) ?? "",
    bootID: orWarn(noted(bootID(root), "/machine/bootID", note), "boot ID", warn) ?? "",
    cores,
    ...total,
    hugePages: pages,
  };
}

function noted<T>(reading: Reading<T>, pointer: string, note: Note | undefined): Reading<T> {
  if (reading.ok && reading.source !== undefined) note?.(pointer, reading.source);
  return reading;
}
