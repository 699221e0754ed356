// Gathers all facts and vitals of this machine.
import { reservationFault } from "../../shared/from-report/parsed-settings.ts";
import { machineInfoOf } from "../../shared/from-report/reported-status.ts";
import { parseDuration } from "../../shared/go/duration.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import { vitalsWithinSchema } from "../../shared/protocol/fit.ts";
import { printableTexts } from "../../shared/protocol/printable.ts";
import type { Clearing, Problems } from "../../shared/protocol/problems.ts";
import type { SIGNALS, Vitals } from "../../shared/protocol/report.ts";
import type { Settings } from "../../shared/protocol/settings.ts";
import { valueOr } from "../../shared/result.ts";
import { monotonicMs, pause, wallMs } from "../base/clock.ts";
import { orWarn, type Reading, warnOncePerSource, type Warn, withoutEcho } from "../base/reading.ts";
import type { Configuration, LoadedConfiguration } from "../config/config.ts";
import { runtimeErrors, type RuntimeReader } from "../sources/cri/monitor.ts";
import { attachLimits } from "../sources/csi/attach-limits.ts";
import { keptFeatures } from "../sources/features/features.ts";
import { hostBelow } from "../sources/features/host.ts";
import { memoryAvailable, oomKills, pidAvailable } from "../sources/kernel/signals.ts";
import { diskReader, type ServedFilesCheck } from "../sources/kernel/served-files.ts";
import type { FileSystem, FileSystemReader } from "../sources/kernel/storage.ts";
import type { ProblemDetectors } from "../sources/problems/detectors.ts";
import { type KernelUsage, readUsage } from "../sources/kernel/usage.ts";
import { volumeScanner } from "../sources/kernel/volumes.ts";
import { type ContainerRuntime, watchContainerRuntime } from "./container-runtime.ts";
import { machineDetectors, machineExtras } from "./extras.ts";
import { reportFitter } from "./fit.ts";
import { FACT_GROUPS, type FactsOptions, gatherMachine, type Note } from "./fact-groups.ts";
import { configurationNotes, type MachineFlags, type MachineSettings, machineSettings } from "./settings.ts";
import { pinnedKeysFault } from "./pinned-keys.ts";
import { systemSources } from "./system-sources.ts";
import type { TransportChoice } from "./transport.ts";

/** Milliseconds between two reads of the eviction signals: upstream evictionMonitoringPeriod. */
const SIGNALS_EVERY_MS = 10_000;

export interface Machine {
  /** The Node's name. */
  name: string;
  configuration: Configuration;
  /** The source of each field of the configuration. */
  sources: LoadedConfiguration["sources"];
  settings: Settings;
  /** All settings, with those that are no part of the facts. */
  own: MachineSettings;
  transport: TransportChoice;
  /** Reads the machine's usage; null if the machine does not send it. */
  readUsage: (() => Promise<KernelUsage>) | null;
  /** The shutdown's grace period in milliseconds. With 0, the shim does not watch for a shutdown. */
  shutdownGracePeriodMs: number;
  /** Throws if this machine has less than its configuration reserves. */
  setUp: () => Promise<void>;
  /** Gathers facts and vitals. The first call begins the runtime's watch. With "wait", also waits for slow sources. */
  gather: (wait?: "wait") => Promise<{ facts: Facts; vitals: Vitals }>;
  /** The probes that read vitals between two reports. */
  probes: readonly Probe[];
  /** Registers `see`, called when the runtime's status or a problem has changed. Starts the problem detectors. */
  listen: (see: (seen: Seen) => void) => void;
  /** Ends conditions of problem detectors for an operator. Returns the types of those that it has ended. */
  clear: (orders: readonly Clearing[]) => string[];
  close: () => void;
}

/** Returns this machine. Throws, with the setting to change, for invalid flags. */
export async function thisMachine(flags: MachineFlags, warn: Warn, note?: Note): Promise<Machine> {
  const own = machineSettings(flags);
  const { name, configuration, active, sources, nodeIPs, rootDir, docker, settings } = own;
  warnOfSettings(own, warn);
  const runtime = runtimeOnDemand(active, docker, warn);
  const once = warnOncePerSource(warn);
  const limits = attachLimits({
    rootDir,
    nowMs: monotonicMs,
    sleep: (ms) => pause(ms, { ref: false }),
    warn: once,
  });
  const options: FactsOptions = {
    ...systemSources(rootDir),
    nodeName: name,
    nodeIPs,
    settings,
    containerRuntime: runtime.snapshot,
    volumes: volumeScanner(rootDir, once),
    attachLimits: limits.read,
    ...featuresOf(own, warn),
    warn: warnOncePerSource(withoutEcho(warn)),
    ...(note && { note }),
  };
  const detectors = machineDetectors(own.problemDetectors, flags.state, warn);
  const extras = machineExtras(flags, configuration.nodeStatusUpdateFrequencyMs, warn, note, detectors);
  const fit = reportFitter(warn);
  const steady = steadyMemory(monotonicMs);
  const gather = async (wait?: "wait") => {
    const [{ facts: added, vitals }] = await Promise.all([extras(wait), runtime.asked()]);
    return fit({
      facts: steady(await gatherFacts({ ...options, extras: added })),
      vitals: { ...(await gatherVitals(options)), ...vitals },
    });
  };
  const { containerRuntimeEndpoint, shutdownGracePeriod } = active;
  return {
    name,
    configuration,
    sources,
    settings,
    own,
    transport: own.transport,
    readUsage: usageReader(own),
    shutdownGracePeriodMs: valueOr(parseDuration(shutdownGracePeriod), 0),
    setUp: () => requireReservations(options),
    gather,
    probes: [
      {
        everyMs: SIGNALS_EVERY_MS,
        read: async () => vitalsWithinSchema(await gatherVitals(options)).vitals,
      },
      ...(docker === null && containerRuntimeEndpoint === "" ? [] : [{ everyMs: null, read: runtime.read }]),
    ],
    listen: listenTo(runtime, detectors),
    clear: (orders) => detectors?.clear(orders) ?? [],
    close: () => [detectors, runtime, limits].forEach((each) => each?.close()),
  };
}

function listenTo(runtime: Pick<Machine, "listen">, detectors: ProblemDetectors | null): Machine["listen"] {
  return (see) => {
    runtime.listen(see);
    detectors?.start((problems) => see({ problems: problemsText(problems) }));
  };
}

function warnOfSettings(own: MachineSettings, warn: Warn): void {
  for (const note of configurationNotes(own)) warn("configuration", note);
  const fault = pinnedKeysFault(own.questionsFrom);
  if (fault !== null) warn("pinned keys", fault);
  for (const [name, read] of own.ownQuestions)
    if (!read.ok) warn("questions", `${name} is off: ${read.error}`);
}

/** Returns the reader of the machine's usage; null if the machine does not send it, or never has a socket for it. */
function usageReader({ sendsUsage, transport }: MachineSettings): Machine["readUsage"] {
  if (!sendsUsage || transport === "http") return null;
  // A reader of its own: a sensor that hangs delays no fact.
  const readDisk = diskReader("/");
  return () => readUsage("/", readDisk);
}

/** Returns the reader of the features, unless --features names none. */
function featuresOf(
  { features: names, name: nodeName }: MachineSettings,
  warn: Warn,
): Pick<FactsOptions, "features"> {
  if (names.length === 0) return {};
  const host = hostBelow("/");
  return { features: keptFeatures({ names, nodeName, host, nowMs: monotonicMs, wallMs, warn }) };
}

/** The least milliseconds between two changes of the memory's size: a balloon changes the size every few seconds. */
export const MEMORY_EVERY_MS = 300_000;

/**
 * Returns a function that reports a changed size of memory or swap at once, and each further change MEMORY_EVERY_MS after
 * the last one at the earliest: each change costs a full report, a patch and a line of history.
 */
export function steadyMemory(nowMs: () => number): (facts: Facts) => Facts {
  let shown: Pick<NonNullable<Facts["machine"]>, "memoryBytes" | "swapBytes"> | undefined;
  let changedMs = -Infinity;
  return (facts) => {
    if (facts.machine === undefined) return facts;
    const { memoryBytes, swapBytes } = facts.machine;
    const isChange = shown && (shown.memoryBytes !== memoryBytes || shown.swapBytes !== swapBytes);
    if (isChange && nowMs() - changedMs < MEMORY_EVERY_MS)
      return { ...facts, machine: { ...facts.machine, ...shown } };
    if (isChange) changedMs = nowMs();
    shown = { memoryBytes, swapBytes };
    return facts;
  };
}

/** Returns functions that read the container runtime. The first read begins the watch of the runtime. */
function runtimeOnDemand(
  active: LoadedConfiguration["active"],
  docker: string | null,
  warn: Warn,
): Pick<Machine, "listen" | "close"> & {
  snapshot: FactsOptions["containerRuntime"];
  asked: () => Promise<unknown>;
  read: () => Promise<Seen>;
} {
  let watched: ContainerRuntime | undefined;
  let onFlip: (seen: Seen) => void = () => undefined;
  const snapshot = () => watched?.snapshot() ?? null;
  const seen = () => {
    const runtime = snapshot();
    return { errors: runtime?.errors ?? {}, hasRuntime: runtime !== null };
  };
  return {
    snapshot,
    asked: () => (watched ??= watchContainerRuntime(active, docker, warn, () => onFlip(seen()))).asked,
    read: async () => {
      await watched?.refresh();
      return seen();
    },
    listen: (see) => void (onFlip = see),
    close: () => watched?.close(),
  };
}

/**
 * Gathers every fact group, and warns about each unreadable group. Never rejects. Replaces control characters in
 * texts of firmware, programs and runtimes, since the Worker refuses facts that contain them.
 */
export async function gatherFacts(options: FactsOptions): Promise<Facts> {
  const groups = Object.entries(FACT_GROUPS).map(
    async ([name, { read }]) => [name, await read?.(options)] as const,
  );
  const known = (await Promise.all(groups)).filter(([, fact]) => fact !== undefined);
  return printableTexts(Object.fromEntries(known) as Facts);
}

type SignalName = (typeof SIGNALS)[number];
type Observation = Reading<[available: number, capacity: number]>;

interface VitalsOptions {
  root: string;
  /** The folder whose file system is nodefs. The folder need not exist. */
  nodefsPath: string;
  readFileSystem: FileSystemReader;
  checkServed?: ServedFilesCheck;
  containerRuntime: RuntimeReader;
  warn: Warn;
}

/** Gathers eviction signals, OOM kills and runtime errors. Without a runtime, imagefs is unknown. Never rejects. */
export async function gatherVitals({
  root,
  nodefsPath,
  readFileSystem,
  checkServed,
  containerRuntime,
  warn,
}: VitalsOptions): Promise<Vitals> {
  const runtime = containerRuntime();
  const nodefs = await readFileSystem(nodefsPath);
  const imagefs = runtime?.imageFsPath === undefined ? null : await readFileSystem(runtime.imageFsPath);
  // The next reads block the process, so that nothing is awaited between the check and them.
  const hung = await checkServed?.();
  const observations: [SignalName, Observation][] = [
    ["memory.available", hung ?? memoryAvailable(root)],
    ...fileSystemSignals("nodefs", nodefs),
    ...(imagefs ? fileSystemSignals("imagefs", imagefs) : []),
    ["pid.available", hung ?? pidAvailable(root)],
  ];
  const signals: Vitals["signals"] = {};
  for (const [name, observation] of observations) {
    const signal = orWarn(observation, name, warn);
    if (signal !== undefined) signals[name] = signal;
  }
  const kills = orWarn(hung ?? oomKills(root), "OOM kills", warn);
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

/** The vitals that a probe has read. */
export interface Seen extends Partial<Vitals> {
  hasRuntime?: boolean;
  /** The result of `problemsText`. */
  problems?: string;
}

/** Returns a text that differs after each event of a problem detector; "" before the first one. */
export function problemsText(problems: Pick<Problems, "start" | "events"> | undefined): string {
  const last = problems?.events.at(-1);
  return last === undefined ? "" : `${problems?.start} ${last.n}`;
}

/** A source of vitals that the shim reads between two reports. */
export interface Probe {
  /** Milliseconds between two reads. null: a read every 100 ms until the Node's first Ready, and no read afterwards. */
  everyMs: number | null;
  /** Reads the vitals. A slow read delays neither a report nor another probe. Never rejects. */
  read: () => Promise<Seen>;
}

/** Throws, with the setting to change, if this machine has less than its flags and file reserve. */
export async function requireOwnReservations(flags: MachineFlags): Promise<void> {
  const { rootDir, settings } = machineSettings(flags);
  await requireReservations({ ...systemSources(rootDir), settings });
}

/**
 * Throws, with the setting to change, if this machine has less than its configuration reserves, like the kubelet's
 * container manager at its start. Skips unreadable facts: gathering warns about them.
 */
async function requireReservations(
  options: Pick<
    FactsOptions,
    "root" | "settings" | "nodefsPath" | "readFileSystem" | "readDisk" | "checkServed"
  >,
): Promise<void> {
  const { root, settings, nodefsPath, readFileSystem } = options;
  const fileSystem = await readFileSystem(nodefsPath);
  const nodefs = fileSystem.ok ? fileSystem.value.bytes : fileSystem;
  const machine = await gatherMachine(options, () => undefined);
  if (machine === undefined) return;
  const pids = pidAvailable(root);
  const fault = reservationFault(
    settings,
    machineInfoOf(machine),
    nodefs.ok ? nodefs.value[1] : undefined,
    pids.ok ? pids.value[1] : undefined,
  );
  if (fault !== null)
    throw new Error(`${fault} Change kubeReserved, systemReserved, reservedSystemCPUs or evictionHard.`);
}
