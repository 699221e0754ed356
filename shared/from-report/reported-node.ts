// Makes a report into setters, events and the initial Node: those of the kubelet, and what rollcall adds to them.
import { EXTERNAL_CLOUD_TAINT, type InitialNode, initialNode, isSameTaint } from "../node/initial-node.ts";
import { draftOf, setNodeStatus } from "../node/update-node.ts";
import type { Node, ResourceList, Taint } from "../kubernetes/types.ts";
import { nodeStatusSetters } from "../setters/pipeline.ts";
import type { Facts } from "../protocol/facts.ts";
import { DEFAULT_SETTINGS } from "../protocol/settings.ts";
import type { Grant } from "../protocol/join-tokens.ts";
import { cloudFactsOf, isExternalCloud } from "./reported-cloud.ts";
import { NOTHING_REMEMBERED, type ReportedStatus, reportedSources } from "./reported-status.ts";
import { factSetters } from "./reported-extras.ts";
import { customSetters } from "../setters/custom.ts";
import { FACTS_ONLY_TAINT, NO_LOAD_BALANCER_LABEL } from "../node/ownership.ts";
import { formatSeconds } from "../kubernetes/micro-time.ts";
import { machineWords } from "../setters/machine-words.ts";
import { setNodeInfo } from "../setters/node-info.ts";
import { shutdownEvent } from "../setters/shutdown-event.ts";
import { evictionThresholdEvent } from "../setters/eviction-threshold-event.ts";
import { imageFilesystemEvent } from "../setters/image-filesystem-event.ts";
import { systemOomEvent } from "../setters/system-oom-event.ts";
import { settingsInForce } from "./settings-in-force.ts";
import type { DraftNode, Setter } from "../setters/setter.ts";
import type { Result } from "../result.ts";

/** All setters in their order, with a report as their source. */
export function reportedSetters(reported: ReportedStatus): Setter[] {
  const setters = nodeStatusSetters(reportedSources(reported), customSetters);
  setters.push(machineWords, ...factSetters(reported));
  return reported.facts.runtime === null ? [...setters, withoutContainerRuntime] : setters;
}

/**
 * Returns what a kubelet of this machine would let pods have of the Node's capacity; null if its facts do not have it. A
 * bystander's Node has 0 of each.
 */
export function kubeletsAllocatable(
  reported: Omit<ReportedStatus, "memory" | "recordEvent">,
  node: Node,
): ResourceList | null {
  const memory = structuredClone(NOTHING_REMEMBERED);
  const draft = draftOf({ ...node, status: { ...node.status, allocatable: {} } });
  setNodeStatus(draft, reportedSetters({ ...reported, memory, recordEvent: () => undefined }));
  // The capacity lacks what the machine's join token does not allow.
  const { capacity = {} } = node.status ?? {};
  const found = Object.entries(draft.status.allocatable ?? {}).filter(
    ([name]) => capacity[name] !== undefined,
  );
  return found.length === 0 ? null : Object.fromEntries(found);
}

/**
 * The events that a registered kubelet records apart from its status. They run before the setters, so that a shutdown
 * is recorded before the NotReady that it causes, and a threshold before its condition.
 */
export function reportedEvents({ facts, vitals, memory, recordEvent }: ReportedStatus): Setter[] {
  const [, capacityBytes] = vitals.signals["imagefs.available"] ?? [];
  const { thresholds } = settingsInForce(facts.settings);
  return [
    systemOomEvent(memory.oom, vitals.oomKills, facts.machine?.bootID, recordEvent),
    shutdownEvent(memory.shutdown, vitals.shuttingDown ?? false, recordEvent),
    imageFilesystemEvent(memory.imageFilesystem, capacityBytes, recordEvent),
    evictionThresholdEvent(memory.reclaim, thresholds, () => memory.eviction.metThresholds, recordEvent),
  ];
}

/**
 * No kubelet runs without a runtime, so upstream has no value for it. kubectl shows an empty version as `<unknown>`.
 */
function withoutContainerRuntime(node: DraftNode): null {
  setNodeInfo(node, { containerRuntimeVersion: "" });
  return null;
}

/**
 * The Node that the machine registers with. Fails while its cloud's metadata are missing. `grant`: what the machine's
 * join token gives and allows.
 */
export function reportedInitialNode(
  reported: ReportedStatus,
  grant: Pick<Grant, "withoutFactsOnlyTaint" | "labels" | "taints">,
  over: (setters: readonly Setter[]) => readonly Setter[] = (setters) => setters, // typically overDecisions
): Result<InitialNode> {
  const { settings, platform } = reported.facts;
  const cloud = cloudFactsOf(reported.facts);
  const isExternal = isExternalCloud(reported.facts);
  const taints = taintsOf(settings.registerWithTaints, grant);
  return initialNode(
    {
      nodeName: reported.name,
      hostname: settings.hostname,
      goos: platform.os,
      goarch: platform.architecture,
      // The apiserver refuses a Node that has a taint twice.
      registerWithTaints: isExternal
        ? taints.filter((taint) => !isSameTaint(taint, EXTERNAL_CLOUD_TAINT))
        : taints,
      externalCloudProvider: isExternal,
      enableControllerAttachDetach:
        settings.enableControllerAttachDetach ?? DEFAULT_SETTINGS.enableControllerAttachDetach,
      nodeLabels: { ...settings.nodeLabels, ...grant.labels, [NO_LOAD_BALANCER_LABEL]: "true" },
      providerID: settings.providerID ?? DEFAULT_SETTINGS.providerID,
      declaredFeatures: null,
      older: {
        unschedulable: settings.registerSchedulable === false,
        networkUnavailable: settings.networkUnavailable ?? false,
        now: formatSeconds(reported.nowMs * 1000),
        keepTerminatedPodVolumes: settings.keepTerminatedPodVolumes ?? false,
        cloud,
      },
    },
    over(reportedSetters(reported)),
  );
}

function taintsOf(
  configured: Facts["settings"]["registerWithTaints"],
  { withoutFactsOnlyTaint, taints: granted = [] }: Pick<Grant, "withoutFactsOnlyTaint" | "taints">,
): Taint[] {
  const isGranted = (taint: Pick<Taint, "key" | "effect">) =>
    granted.some(({ key, effect }) => key === taint.key && effect === taint.effect);
  const own = (configured ?? []).filter((taint) => !isGranted(taint));
  const taints = [...granted, ...own].map(({ key, value = "", effect }) => ({ key, value, effect }));
  if (configured !== null && withoutFactsOnlyTaint) return taints;
  return [FACTS_ONLY_TAINT, ...taints.filter(({ key }) => key !== FACTS_ONLY_TAINT.key)];
}
