// Makes machines' updates to the fleet index without node objects: summaries, and their changes.
import type { FleetState } from "../../../shared/fleet/state.ts";
import type { MachineSummary, MachineUpdate, UpdateEntry } from "../../../shared/fleet/summary.ts";
import type { PendingMachine } from "../../../shared/protocol/operator-answers.ts";

/** 2026-01-01T00:00:00Z */
export const FLEET_START_MS = Date.UTC(2026, 0, 1);

/** Returns the summary of a machine without a fault. `change` replaces fields. */
export const IN_MAINTENANCE = {
  type: "MaintenanceInProgress",
  status: "True",
  reason: "AdminRequested",
  message: "until 2026-01-01T04:00:00Z, by alice: new disk",
  sinceMs: FLEET_START_MS,
};

export function summaryOf(index: number, change: Partial<MachineSummary> = {}): MachineSummary {
  const site = `site-${index % 40}`;
  const sinceMs = FLEET_START_MS + index;
  const condition = (type: string, status: string, reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
    sinceMs,
  });
  return {
    state: "ready",
    sinceMs,
    phase: "registered",
    why: "",
    conditions: [
      condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory"),
      condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
      condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
      condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ],
    labels: {
      "kubernetes.io/hostname": `machine-${index}`,
      "kubernetes.io/arch": "amd64",
      "kubernetes.io/os": "linux",
      "rollcall.dev/machine": "",
      "rollcall.dev/deployment": "made-up",
      site,
      tier: index % 10 === 0 ? "gpu" : "edge",
    },
    isUnschedulable: false,
    versions: {
      shim: index % 20 === 0 ? "0.0.9" : "0.1.0",
      kernel: "6.1.0-21-amd64",
      os: "Debian GNU/Linux 12 (bookworm)",
      runtime: "containerd://1.6.20",
      architecture: "amd64",
    },
    addresses: [
      { type: "InternalIP", address: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}` },
      { type: "Hostname", address: `machine-${index}` },
    ],
    address: `203.0.${index % 40}.7`,
    capacity: { cpu: "4", memory: "8019464Ki", pods: "110" },
    skewMs: 0,
    silentSinceMs: null,
    boot: `boot-${index}`,
    process: `process-${index}`,
    transport: "http",
    withheld: "",
    key: {
      thumbprint: `thumbprint-${index}`.padEnd(43, "0"),
      token: "token-1",
      pinnedAtMs: sinceMs,
      isUsed: true,
    },
    createdMs: FLEET_START_MS,
    ...change,
  };
}

/** A machine that waits for approval. */
export const PENDING: PendingMachine = {
  name: "x",
  token: "t",
  thumbprint: "p",
  machineID: "",
  systemUUID: "",
  address: "",
  askedAt: "",
  expiresAt: "",
  pinned: null,
};

export const machineName = (index: number) => `machine-${String(index).padStart(6, "0")}`;

/** Returns a machine's update with the number `version` and these lines of history. */
export function updateOf(
  index: number,
  version: number,
  change: Partial<MachineSummary> = {},
  entries: UpdateEntry[] = [],
): MachineUpdate {
  return { name: machineName(index), generation: 1, version, summary: summaryOf(index, change), entries };
}

/** Returns a line of history about a change of state. */
export function stateEntry(id: number, from: FleetState, to: FleetState, atMs: number): UpdateEntry {
  return { id, atMs, kind: "state", text: `${from} → ${to}` };
}

/** Returns the finalizer of MurmurHash3: 32 bits that look random and are identical in each run. */
export function spread(number: number): number {
  let bits = number;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/**
 * Returns the creation time of one of 100,000 Nodes: one Node in each interval of two minutes, at any time within
 * it.
 */
export function createdMsOf(place: number): number {
  return FLEET_START_MS - (100_000 - place) * 120_000 + (spread(place) % 120) * 1000;
}

/** Returns a summary whose times, addresses and keys differ like those of real machines, and compress badly. */
export function spreadSummaryOf(index: number, change: Partial<MachineSummary> = {}): MachineSummary {
  const hash = (salt: number) => spread(index * 8 + salt);
  const sinceMs = FLEET_START_MS - (hash(1) % 2_592_000_000);
  const made = summaryOf(index, { sinceMs });
  const address = `10.${hash(2) % 256}.${hash(3) % 256}.${hash(4) % 256}`;
  return {
    ...made,
    labels: { ...made.labels, "kubernetes.io/hostname": machineName(index) },
    addresses: [
      { type: "InternalIP", address },
      { type: "Hostname", address: machineName(index) },
    ],
    capacity: { ...made.capacity, memory: `${8_000_000 + (hash(5) % 64) * 1024}Ki` },
    createdMs: createdMsOf(index),
    ...change,
  };
}
