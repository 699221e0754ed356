// Runs the recordings of a kubelet's simulated life: registration, heartbeats and fast updates over time.
import { fastNodeStatusUpdate, syncNodeStatus } from "../upstream/node-status-loop.ts";
import { type HeartbeatState, readyConditionOf } from "../../../shared/node/heartbeat.ts";
import { mustParseQuantity } from "../../../shared/kubernetes/quantity/parse.ts";
import { initialNode } from "../../../shared/node/initial-node.ts";
import type { ApiResult } from "../../../shared/kubernetes/api-error.ts";
import { parseIpSloppy } from "../../../shared/kubernetes/ip.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { nodeStatusSetters, type StatusSources } from "../../../shared/setters/pipeline.ts";
import type { Setter } from "../../../shared/setters/setter.ts";
import { updateNode } from "../../../shared/node/update-node.ts";
import { createFakeApiserver, type FakeApiserver } from "../fake-apiserver.ts";
import type { Family, Json } from "../family.ts";
import { builtNode, registerWithApiserver } from "../registration-loop.ts";
import { failure, type Result, success } from "../../../shared/result.ts";

/** The memory of the played kubelet, and the input of the current step. */
interface Kubelet {
  given: Json;
  server: FakeApiserver;
  nowMs: number;
  facts: Json;
  podCIDR: string;
  registered: boolean;
  lister: Node | null;
  rands: number;
  memory: StatusSources["memory"];
  heartbeat: HeartbeatState;
  containerRuntimeReadyExpected: boolean;
  heard: Heard;
}

interface Heard {
  events: Json[];
  markedVolumes: Json[];
  repeatedHeartbeatFailures: number;
  runtimeStatusCalls: number;
  podCIDRUpdates: string[];
  tracker: string[];
  sleepsMs: number[];
}

const nothingHeard = (): Heard => ({
  events: [],
  markedVolumes: [],
  repeatedHeartbeatFailures: 0,
  runtimeStatusCalls: 0,
  podCIDRUpdates: [],
  tracker: [],
  sleepsMs: [],
});

const nodeStatusTimeline: Family = {
  async run(given) {
    const kubelet: Kubelet = {
      given,
      server: createFakeApiserver(false),
      nowMs: Date.parse(given.start),
      facts: given.facts,
      podCIDR: given.podCIDR,
      registered: false,
      lister: null,
      rands: 0,
      memory: { rebootEvent: { emitted: false }, schedulable: { lastNodeUnschedulable: false } },
      heartbeat: { lastStatusReportTimeMs: null, delayAfterNodeStatusChangeMs: 0 },
      containerRuntimeReadyExpected: false,
      heard: nothingHeard(),
    };
    if (given.existingNode) kubelet.server.store("nodes", given.existingNode);
    const steps: Json[] = [];
    for (const step of given.steps) steps.push(await runStep(kubelet, step));
    return { steps };
  },
};

async function runStep(kubelet: Kubelet, step: Json): Promise<Json> {
  const { given, server } = kubelet;
  kubelet.nowMs += step.advanceMs;
  kubelet.facts = { ...kubelet.facts, ...step.facts };
  if (step.serverPatch && server.stored("nodes", given.nodeName)) {
    server.edit("nodes", given.nodeName, step.serverPatch);
  }
  if (step.listerSync) kubelet.lister = structuredClone(server.stored("nodes", given.nodeName)) ?? null;
  server.force(step.outcomes);
  kubelet.heard = nothingHeard();
  const result = step.action === "sync" ? await sync(kubelet) : await fast(kubelet, step);
  const { lastStatusReportTimeMs, delayAfterNodeStatusChangeMs } = kubelet.heartbeat;
  return {
    ...result,
    ...kubelet.heard,
    calls: server.takeCalls(),
    lastStatusReportTime: lastStatusReportTimeMs === null ? null : rfc3339(lastStatusReportTimeMs),
    delayAfterNodeStatusChangeNs: Math.round(delayAfterNodeStatusChangeMs * 1e6),
  };
}

async function sync(kubelet: Kubelet): Promise<Json> {
  await syncNodeStatus(heartbeatSteps(kubelet), kubelet.heartbeat, () => ensureRegistered(kubelet));
  return {};
}

async function fast(kubelet: Kubelet, { action, factsAfterRuntimeUpdate }: Json): Promise<Json> {
  const completed = await fastNodeStatusUpdate(
    heartbeatSteps(kubelet),
    kubelet.heartbeat,
    action === "fastTimeout",
    () => {
      kubelet.heard.runtimeStatusCalls++;
      kubelet.facts = { ...kubelet.facts, ...factsAfterRuntimeUpdate };
      return Promise.resolve();
    },
    () => sync(kubelet),
  );
  kubelet.containerRuntimeReadyExpected ||= completed;
  return { completed, containerRuntimeReadyExpected: kubelet.containerRuntimeReadyExpected };
}

async function ensureRegistered(kubelet: Kubelet): Promise<boolean> {
  const { given, server, heard } = kubelet;
  if (!given.registerNode || kubelet.registered) return true;
  const loop = await registerWithApiserver(server.client, () => firstNode(kubelet));
  heard.sleepsMs.push(...loop.sleepsMs);
  heard.tracker.push(...loop.tracker);
  kubelet.registered = true;
  return true;
}

function firstNode(kubelet: Kubelet): Node {
  const { nodeName, hostname, nodeLabels } = kubelet.given;
  const options = {
    nodeName,
    hostname,
    nodeLabels,
    goos: "linux",
    goarch: "amd64",
    registerWithTaints: [],
    externalCloudProvider: false,
    enableControllerAttachDetach: false,
    providerID: "",
    declaredFeatures: null,
  };
  return builtNode(initialNode(options, setters(kubelet)));
}

function heartbeatSteps(kubelet: Kubelet) {
  const { given, server, heard } = kubelet;
  return {
    readNode: (attempt: number) =>
      attempt === 0 ? Promise.resolve(listed(kubelet)) : server.client.getNode(given.nodeName),
    updateNode: (original: Node) =>
      updateNode(original, (cidrs) => updatePodCIDR(kubelet, cidrs), "linux", "amd64", setters(kubelet)),
    patchNodeStatus: async (...request: Parameters<typeof server.client.patchNodeStatus>) => {
      const patched = await server.client.patchNodeStatus(...request);
      const isReady = patched.ok && readyConditionOf(patched.value)?.status === "True";
      if (isReady) heard.tracker.push("nodeReady");
      return patched;
    },
    now: () => kubelet.nowMs,
    random: () => given.rand[kubelet.rands++ % given.rand.length],
    nodeStatusReportFrequencyMs: given.nodeStatusReportFrequencyMs,
    markVolumesAsReportedInUse: (volumes: readonly string[]) => heard.markedVolumes.push(volumes),
    onRepeatedHeartbeatFailure: () => {
      heard.repeatedHeartbeatFailures++;
    },
  };
}

function listed({ lister, given }: Kubelet): ApiResult<Node> {
  if (lister !== null) return success(lister);
  const message = `node ${JSON.stringify(given.nodeName)} not found`;
  return failure({ kind: "status", status: { code: 404, reason: "NotFound", message } });
}

/** Sets the pod CIDR like upstream's Kubelet.updatePodCIDR. */
function updatePodCIDR(kubelet: Kubelet, cidrs: string): Result<boolean> {
  if (kubelet.podCIDR === cidrs) return success(false);
  kubelet.heard.podCIDRUpdates.push(cidrs);
  const error = kubelet.facts.updatePodCIDRError;
  if (error !== null) return failure(`failed to update pod CIDR: ${error}`);
  kubelet.podCIDR = cidrs;
  return success(true);
}

function setters({ given, facts, nowMs, memory, heard }: Kubelet): Setter[] {
  return nodeStatusSetters(
    {
      nodeName: given.nodeName,
      hostname: given.hostname,
      now: rfc3339(Math.floor(nowMs / 1000) * 1000),
      recordEvent: (type, reason, message) => heard.events.push({ type, reason, message }),
      custom: {},
      addresses: {
        nodeIPs: facts.nodeIPs.map((ip: string) => parseIpSloppy(ip)),
        validateNodeIP: () => null,
        externalCloudProvider: false,
        resolveAddress: neverAsked,
        lookupIP: neverAsked,
      },
      machine: {
        maxPods: facts.maxPods,
        podsPerCore: 0,
        info: () => success(machineInfo(facts.machineInfo)),
        capacity: () => ({ "ephemeral-storage": mustParseQuantity(facts.ephemeralStorage) }),
        devicePluginResources: () => ({ capacity: {}, allocatable: {}, removed: [] }),
        allocatableReservation: () => ({}),
        runningInUserNamespace: () => undefined,
        localStorageCapacityIsolation: true,
      },
      versions: () => success({ kernelVersion: facts.kernelVersion, osImage: facts.osImage }),
      kubeletVersion: facts.kubeletVersion,
      daemonEndpoints: { kubeletEndpoint: { Port: facts.kubeletPort } },
      nodeStatusMaxImages: facts.nodeStatusMaxImages,
      images: () => success(facts.images.map((image: Json) => ({ ...image, sizeBytes: image.size }))),
      goos: "linux",
      goarch: "amd64",
      runtime: {
        type: () => facts.runtimeType,
        version: () => success(facts.runtimeVersion),
        handlers: () => [],
        features: () => null,
      },
      pressure: {
        memory: () => facts.memoryPressure,
        disk: () => facts.diskPressure,
        pid: () => facts.pidPressure,
      },
      errors: {
        runtime: () => facts.runtimeErrors,
        network: () => facts.networkErrors,
        storage: () => facts.storageErrors,
        softRequirements: () => null,
        nodeShutdownManager: () => facts.nodeShutdownManagerErrors,
      },
      volumes: { synced: () => facts.volumesSynced, inUse: () => facts.volumesInUse },
      memory,
    },
    [],
  );
}

function neverAsked(): never {
  throw new Error("DNS and the default interface are not to be consulted");
}

const machineInfo = (info: Json) => ({
  ...info,
  memoryCapacityBytes: BigInt(info.memoryCapacity),
  swapCapacityBytes: BigInt(info.swapCapacity),
  hugePages: info.hugePages.map((size: Json) => ({
    pageSizeKiB: BigInt(size.pageSize),
    numPages: BigInt(size.numPages),
  })),
});

/** Formats a time as RFC 3339, with a fraction of a second only if there is one. */
function rfc3339(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.?0*Z$/, "Z");
}

export const timelines: Record<string, Family> = { nodeStatusTimeline };
