// Makes machines in the form of the feed, for tests of the fleet's view.
import type { FeedMachine } from "../../../../shared/fleet/feed-view.ts";
import type { PendingMachine } from "../../../../shared/protocol/operator-answers.ts";

export function feedMachine(name: string, change: Partial<FeedMachine> = {}): FeedMachine {
  return {
    name,
    state: "ready",
    sinceMs: Date.parse("2026-11-23T12:00:00Z"),
    silentSinceMs: null,
    phase: "registered",
    why: "",
    conditions: { Ready: "True" },
    isUnschedulable: false,
    skewMs: 0,
    labels: {},
    versions: { shim: "0.1.0", kernel: "", os: "", runtime: "", architecture: "" },
    addresses: [],
    address: "",
    capacity: {},
    withheld: "",
    token: "",
    isUsed: true,
    transport: "http",
    createdMs: null,
    ...change,
  };
}

export function pendingMachine(name: string, change: Partial<PendingMachine> = {}): PendingMachine {
  return {
    name,
    token: "",
    thumbprint: `key of ${name}`,
    machineID: "",
    systemUUID: "",
    address: "",
    askedAt: "2026-11-23T13:00:00Z",
    expiresAt: "2026-11-24T13:00:00Z",
    pinned: null,
    ...change,
  };
}
