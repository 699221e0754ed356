// Makes one machine in the forms of the feed and of GET /v1/nodes/{name}, for tests of its view.
import type { WholeNode } from "../../../../shared/protocol/operator-answers.ts";
import type { FeedMachine } from "../../../../shared/fleet/feed-view.ts";
import type { DiagnosisInput } from "../../../../infra/page/machine/diagnosis.ts";

const AT = "2026-01-01T11:00:00.000Z";
const KEY = { thumbprint: "k", token: "t", pinnedAt: AT };
const VERSIONS = {
  shim: "0.1.0",
  kernel: "6.1",
  os: "Debian 12",
  runtime: "containerd 2.1.4",
  architecture: "amd64",
};

/** Returns a healthy machine. `change` replaces fields. */
export function feedMachine(change: Partial<FeedMachine> = {}): FeedMachine {
  // The machine lacks some fields of the feed, because no view of one machine reads them.
  const machine: Partial<FeedMachine> = {
    name: "edge-7",
    state: "ready",
    sinceMs: Date.parse(AT),
    silentSinceMs: null,
    phase: "registered",
    why: "",
    conditions: { MemoryPressure: "False", Ready: "True" },
    isUnschedulable: false,
    skewMs: 0,
    labels: {},
    versions: VERSIONS,
    addresses: [],
    address: "203.0.113.7",
    capacity: {},
    withheld: "",
    token: "t",
    isUsed: true,
    ...change,
  };
  return machine as FeedMachine;
}

export function knownMachine(change: Partial<WholeNode> = {}): WholeNode {
  return {
    name: "edge-7",
    thumbprint: "k",
    phase: "registered",
    isReady: true,
    silentSince: null,
    lastReportAt: "2026-01-01T11:59:55.000Z",
    runtime: "auto",
    conditions: [
      { type: "MemoryPressure", status: "False", message: "sufficient memory" },
      { type: "Ready", status: "True", message: "posting ready status" },
    ],
    summary: null,
    node: { kind: "Node" },
    facts: {},
    vitals: null,
    thresholds: { hard: {}, soft: {} },
    skewMs: 0,
    isSkewed: false,
    transport: "http",
    deadlines: { lease: "2026-01-01T12:00:35.000Z", status: null, alarm: null },
    outbox: { waiting: 0, oldest: null, dropped: 0 },
    key: { ...KEY, next: null, isRefused: false },
    machine: { machineID: "m", systemUUID: "s" },
    outageSince: null,
    ...change,
  };
}

export function diagnosisInput(change: Partial<DiagnosisInput> = {}): DiagnosisInput {
  return {
    name: "edge-7",
    live: feedMachine(),
    whole: knownMachine(),
    neighbours: null,
    isContested: false,
    answeredMs: 0,
    ...change,
  };
}
