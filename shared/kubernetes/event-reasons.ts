// Lists the reasons of the events that rollcall records, which `npm run generate` writes into docs/reporting.md.

export interface EventReasonRow {
  type: "Normal" | "Warning";
  /** The occasion of the event, in words for people. */
  when: string;
  /** true if a kubelet records the event as well. */
  isUpstream: boolean;
}

export const EVENT_REASONS = {
  Starting: { type: "Normal", when: "a process of the shim registers the machine", isUpstream: true },
  CgroupV1: { type: "Warning", when: "a process of the shim starts on cgroup v1", isUpstream: true },
  NodeReady: {
    type: "Normal",
    when: "the Node becomes Ready, or is Ready at its creation",
    isUpstream: true,
  },
  NodeNotReady: { type: "Normal", when: "the Node is no longer Ready", isUpstream: true },
  NodeHasSufficientMemory: { type: "Normal", when: "MemoryPressure becomes False", isUpstream: true },
  NodeHasInsufficientMemory: { type: "Normal", when: "MemoryPressure becomes True", isUpstream: true },
  NodeHasNoDiskPressure: { type: "Normal", when: "DiskPressure becomes False", isUpstream: true },
  NodeHasDiskPressure: { type: "Normal", when: "DiskPressure becomes True", isUpstream: true },
  NodeHasSufficientPID: { type: "Normal", when: "PIDPressure becomes False", isUpstream: true },
  NodeHasInsufficientPID: { type: "Normal", when: "PIDPressure becomes True", isUpstream: true },
  NodeSchedulable: { type: "Normal", when: "the Node is uncordoned", isUpstream: true },
  NodeNotSchedulable: { type: "Normal", when: "the Node is cordoned", isUpstream: true },
  Shutdown: {
    type: "Normal",
    when: "the machine begins to shut down, or the shutdown is cancelled",
    isUpstream: true,
  },
  Rebooted: { type: "Warning", when: "the boot ID has changed", isUpstream: true },
  InvalidDiskCapacity: { type: "Warning", when: "the image filesystem has no capacity", isUpstream: true },
  EvictionThresholdMet: {
    type: "Warning",
    when: "an eviction threshold is met, for its whole grace period",
    isUpstream: true,
  },
  SystemOOM: {
    type: "Warning",
    when: "the kernel has killed processes for lack of memory",
    isUpstream: true,
  },
  KubeletSetupFailed: { type: "Warning", when: "the shim ends instead of reporting", isUpstream: true },
  NodeNameTaken: {
    type: "Warning",
    when: "the Node has another owner, or another writer renews its lease",
    isUpstream: false,
  },
  MachineCloned: { type: "Warning", when: "several machines report with one key", isUpstream: false },
  TokenNotRenewed: {
    type: "Warning",
    when: "the renewal of the cluster token fails; the event is about the ServiceAccount",
    isUpstream: false,
  },
  TwoShims: { type: "Warning", when: "several shims report for one machine", isUpstream: false },
} as const satisfies Record<string, EventReasonRow>;

export type EventReason = keyof typeof EVENT_REASONS;

/** The reasons of Warning events, which setters or the Worker itself record. */
export type WarningReason = {
  [Reason in EventReason]: (typeof EVENT_REASONS)[Reason]["type"] extends "Warning" ? Reason : never;
}[EventReason];
