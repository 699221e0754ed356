// Makes one machine as GET /v1/nodes/{name} returns it, for tests of code that reads such answers.
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";

const AT = "2026-01-01T11:00:00Z";

/** Returns a healthy machine. `change` replaces fields. */
export function wholeNode(change: Partial<WholeNode> = {}): WholeNode {
  return {
    name: "edge-7",
    thumbprint: "k",
    phase: "registered",
    isReady: true,
    silentSince: null,
    lastReportAt: "2026-01-01T11:59:55Z",
    runtime: "auto",
    conditions: [
      { type: "MemoryPressure", status: "False", message: "sufficient memory" },
      { type: "Ready", status: "True", message: "posting ready status" },
    ],
    summary: {
      name: "edge-7",
      state: "ready",
      since: AT,
      phase: "registered",
      why: "",
      address: "203.0.113.7",
      versions: { shim: "0.1.0", kernel: "6.1", os: "Debian 12", runtime: "", architecture: "amd64" },
      conditions: [{ type: "Ready", status: "True", reason: "R", message: "m", since: AT }],
      labels: { site: "b" },
      isUnschedulable: false,
      addresses: [{ type: "InternalIP", address: "10.0.0.7" }],
      capacity: { cpu: "4" },
      skewMs: 0,
      silentSince: null,
      boot: "b",
      process: "p",
      transport: "http",
      withheld: "",
      key: { thumbprint: "k", token: "t", pinnedAt: AT, isUsed: true },
    },
    node: { kind: "Node" },
    facts: {},
    vitals: { signals: { "memory.available": [2 ** 31, 2 ** 32], "pid.available": [100, 400] } },
    thresholds: { hard: { "memory.available": "100Mi" }, soft: { "memory.available": "1Gi" } },
    skewMs: 0,
    isSkewed: false,
    transport: "http",
    deadlines: { lease: "2026-01-01T12:00:35Z", status: null, alarm: null },
    outbox: { waiting: 0, oldest: null, dropped: 0 },
    key: { thumbprint: "k", token: "t", pinnedAt: AT, next: null, isRefused: false },
    machine: { machineID: "m", systemUUID: "s" },
    outageSince: null,
    ...change,
  };
}
