// Makes the same machine for all measurements: its report, and its Node in the apiserver.
import { draftOf } from "../../../shared/node/update-node.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { reportedInitialNode } from "../../../shared/from-report/reported-node.ts";
import { OWNER_ANNOTATION } from "../../../shared/node/ownership.ts";
import { NOTHING_REMEMBERED, type ReportedMemory } from "../../../shared/from-report/reported-status.ts";

export const NAME = "edge-0042.shop-17.example.com";
/** The time of the Node's last write, in milliseconds since 1970. */
export const WRITTEN_AT_MS = Date.UTC(2026, 0, 1);
/** The number of different reports before the reports repeat: even, because some benchmarks alternate. */
export const REPORTS = 64;

const GIB = 2 ** 30;

/** Returns an image with five names, as with registry mirrors. */
function image(index: number): NonNullable<Facts["images"]>[number] {
  const repository = `registry.example.com/platform/component-${index}`;
  const digest = index.toString(16).padStart(64, "0123456789abcdef");
  return {
    repoDigests: [`${repository}@sha256:${digest}`, `mirror.${repository}@sha256:${digest}`],
    repoTags: [`${repository}:v1.${index}.0`, `${repository}:v1.${index}`, `${repository}:stable`],
    sizeBytes: 900_000_000 - index * 12_345_678,
  };
}

/**
 * Returns the facts, as JSON carries them, of a machine with containerd, huge pages, and ten images more than a
 * Node lists.
 */
export function machineFacts(): Facts {
  const facts: Facts = {
    settings: {
      hostname: NAME,
      nodeStatusUpdateFrequencyMs: 10_000,
      nodeStatusReportFrequencyMs: 300_000,
      nodeLeaseDurationSeconds: 40,
      registerWithTaints: null,
      maxPods: 110,
    },
    platform: { os: "linux", architecture: "amd64" },
    machine: {
      machineID: "5f0a3f6d1c8e4f0f9a3f0a3f6d1c8e4f",
      systemUUID: "3c9d7e52-6f1b-4f0e-9f57-21d0c7a4be11",
      bootID: "b0f5d6de-22a1-4a53-8d1c-0f3c1de35a9f",
      cores: 16,
      memoryBytes: 24_684_096 * 1024,
      swapBytes: 8 * GIB,
      hugePages: [
        { pageSizeKiB: 2048, pages: 4 },
        { pageSizeKiB: 1_048_576, pages: 0 },
      ],
    },
    versions: { kernel: "6.1.0-40-amd64", osImage: "Debian GNU/Linux 12 (bookworm)" },
    runtime: { name: "containerd", version: "2.1.9" },
    addresses: {
      nodeIPs: ["10.20.30.42"],
      lookup: ["10.20.30.42"],
      onInterface: ["10.20.30.42"],
      defaultRoute: { ipv4: "10.20.30.42" },
    },
    storage: { nodefsCapacityBytes: 270_553_174_016 },
    images: Array.from({ length: 60 }, (_, index) => image(index)),
    volumes: { synced: true, inUse: [] },
    runtimeHandlers: [
      { name: "", supportsRecursiveReadOnlyMounts: true, supportsUserNamespaces: true },
      { name: "runc", supportsRecursiveReadOnlyMounts: true, supportsUserNamespaces: true },
    ],
    runtimeFeatures: { supplementalGroupsPolicy: true },
  };
  return asReceived(facts);
}

/** Returns vitals without pressure, except for memory if `memoryIsShort`. Each report has other amounts. */
export function machineVitals(index: number, memoryIsShort = false): Vitals {
  return {
    signals: {
      "memory.available": [memoryIsShort ? 50_000_000 + index : 12 * GIB + index * 4096, 24 * GIB],
      "nodefs.available": [160 * GIB - index * 65_536, 270_553_174_016],
      "nodefs.inodesFree": [6_000_000 - index, 6_500_000],
      "imagefs.available": [80 * GIB - index * 65_536, 135_276_587_008],
      "imagefs.inodesFree": [3_000_000 - index, 3_250_000],
      "pid.available": [30_000 - index, 32_768],
    },
  };
}

/** Returns the Node after its registration with these vitals, and the setters' memory. */
export function registeredNode(facts: Facts, vitals: Vitals): { node: Node; memory: ReportedMemory } {
  const memory = structuredClone(NOTHING_REMEMBERED);
  const reported = { name: NAME, facts, vitals, nowMs: WRITTEN_AT_MS, memory, recordEvent: () => undefined };
  const initial = reportedInitialNode(reported, { withoutFactsOnlyTaint: false });
  if (!initial.ok) throw new Error(initial.error);
  const { node, errors } = initial.value;
  if (errors.length > 0) throw new Error(errors.join("; "));
  const known = draftOf(node);
  Object.assign(known.metadata, {
    uid: "f1bd2a4e-0a55-4d0e-8b8e-5f1d9a3c7b21",
    resourceVersion: "184467",
    creationTimestamp: "2026-01-01T00:00:00Z",
    annotations: { [OWNER_ANNOTATION]: "rollcall" },
    managedFields: [
      {
        manager: "rollcall.rollcall",
        operation: "Update",
        apiVersion: "v1",
        time: "2026-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:metadata": { "f:labels": { ".": {}, "f:kubernetes.io/os": {} } } },
      },
    ],
  });
  return { node: asReceived(known), memory };
}

/** Copies a value through JSON: its objects are new, like those from the network or from storage. */
export function asReceived<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}
