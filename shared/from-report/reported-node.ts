// Turns a report into setters, events and the initial Node. Includes the kubelet's setters and those of rollcall.
import { formatSeconds } from "../kubernetes/micro-time.ts";
import type { Node, ResourceList, Taint } from "../kubernetes/types.ts";
import {
  ATTACH_DETACH_ANNOTATION,
  CLOUD_LABELS,
  defaultLabels,
  EXTERNAL_CLOUD_TAINT,
  type InitialNode,
  initialNode,
  isSameTaint,
  KEEP_TERMINATED_POD_VOLUMES_ANNOTATION,
} from "../node/initial-node.ts";
import { FACTS_ONLY_TAINT, NO_LOAD_BALANCER_LABEL } from "../node/ownership.ts";
import { draftOf, REQUIRED_LABELS, setNodeStatus } from "../node/update-node.ts";
import { type DropIns, isDropInLabel } from "../protocol/drop-ins.ts";
import type { Facts } from "../protocol/facts.ts";
import { inventoryLabels, isInventoryLabel } from "../protocol/inventory.ts";
import type { Grant } from "../protocol/join-tokens.ts";
import { DEFAULT_SETTINGS } from "../protocol/settings.ts";
import type { Result } from "../result.ts";
import { customSetters } from "../setters/custom.ts";
import { evictionThresholdEvent } from "../setters/eviction-threshold-event.ts";
import { factAnnotations } from "../setters/fact-annotations.ts";
import { factConditions } from "../setters/fact-conditions.ts";
import { factLabels, nodeLabels } from "../setters/fact-labels.ts";
import { factResources } from "../setters/fact-resources.ts";
import { gracefulShutdown } from "../setters/graceful-shutdown.ts";
import { imageFilesystemEvent } from "../setters/image-filesystem-event.ts";
import { permanentLabels } from "../setters/listed-labels.ts";
import { machineWords } from "../setters/machine-words.ts";
import { setNodeInfo } from "../setters/node-info.ts";
import { nodeStatusSetters } from "../setters/pipeline.ts";
import type { DraftNode, Setter } from "../setters/setter.ts";
import { shutdownEvent } from "../setters/shutdown-event.ts";
import { systemOomEvent } from "../setters/system-oom-event.ts";
import { unmeasuredConditions } from "../setters/unmeasured.ts";
import {
  cloudFactsOf,
  cloudLabelsOf,
  isExternalCloud,
  NOTHING_REMEMBERED,
  reportedSources,
  type ReportedStatus,
  timestamp,
} from "./reported-status.ts";
import { featureLabels } from "./feature-labels.ts";
import { parsedSettings } from "./parsed-settings.ts";

/** Returns all setters in their order. The report is their source. */
export function reportedSetters(reported: ReportedStatus): Setter[] {
  const setters = nodeStatusSetters(reportedSources(reported), customSetters);
  const { signals, shuttingDown = false } = reported.vitals;
  const shutdown = gracefulShutdown(timestamp(reported.nowMs), shuttingDown);
  setters.push(unmeasuredConditions(signals), machineWords, ...factSetters(reported), shutdown);
  return reported.facts.runtime === null ? [...setters, withoutContainerRuntime] : setters;
}

/** Returns the resources that a kubelet here would set as allocatable, even on a bystander; null without the facts. */
export function kubeletsAllocatable(
  reported: Omit<ReportedStatus, "memory" | "recordEvent">,
  node: Node,
): ResourceList | null {
  const memory = structuredClone(NOTHING_REMEMBERED);
  const draft = draftOf({ ...node, status: { ...node.status, allocatable: {} } });
  setNodeStatus(draft, reportedSetters({ ...reported, memory, recordEvent: () => undefined }));
  // The Node's capacity lacks resources that the machine's join token does not allow.
  const { capacity = {} } = node.status ?? {};
  const found = Object.entries(draft.status.allocatable ?? {}).filter(
    ([name]) => capacity[name] !== undefined,
  );
  return found.length === 0 ? null : Object.fromEntries(found);
}

/**
 * Returns setters that record the events of a registered kubelet. These setters run before all others, so that a
 * shutdown's event precedes NotReady, and a threshold's event its condition.
 */
export function reportedEvents({ facts, vitals, memory, recordEvent }: ReportedStatus): Setter[] {
  const [, capacityBytes] = vitals.signals["imagefs.available"] ?? [];
  const { thresholds } = parsedSettings(facts.settings);
  return [
    systemOomEvent(memory.oom, vitals.oomKills, facts.machine?.bootID, recordEvent),
    shutdownEvent(memory.shutdown, vitals.shuttingDown ?? false, recordEvent),
    imageFilesystemEvent(memory.imageFilesystem, capacityBytes, recordEvent),
    evictionThresholdEvent(memory.reclaim, thresholds, () => memory.eviction.metThresholds, recordEvent),
  ];
}

/** Sets an empty runtime version, which kubectl shows as `<unknown>`: no upstream kubelet runs without a runtime. */
function withoutContainerRuntime(node: DraftNode): null {
  setNodeInfo(node, { containerRuntimeVersion: "" });
  return null;
}

/** Returns the Node that the machine registers within its join token's `grant`. Fails without the cloud's metadata. */
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
      // EXTERNAL_CLOUD_TAINT is removed, because initialNode adds it again and the apiserver refuses duplicates.
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
  const own = (configured ?? []).filter((taint) => !granted.some((each) => isSameTaint(each, taint)));
  const taints = [...granted, ...own].map(({ key, value = "", effect }) => ({ key, value, effect }));
  if (configured !== null && withoutFactsOnlyTaint) return taints;
  return [FACTS_ONLY_TAINT, ...taints.filter(({ key }) => key !== FACTS_ONLY_TAINT.key)];
}

const NO_DROP_INS: DropIns = { resources: {}, labels: {}, conditions: [], working: 0, failures: [] };

/**
 * Returns the setters that rollcall adds to a kubelet's. Labels and annotations stay up to date, although a kubelet
 * writes them only at registration. Further setters write the results of hardware detection and drop-ins.
 */
function factSetters({ facts, vitals, nowMs }: ReportedStatus): Setter[] {
  const { dropIns, devices } = facts;
  const setters = [...metadataSetters(facts)];
  if (dropIns === undefined) return setters;
  const { resources } = dropIns ?? NO_DROP_INS;
  const announced = [...Object.keys(devices?.capacity ?? {}), ...(devices?.removed ?? [])];
  setters.push(factResources(resources, announced));
  // A shim that has just started has not run its drop-ins yet, so the Node keeps the drop-ins' conditions.
  const remaining = dropIns === null ? {} : vitals.remainingSeconds;
  if (remaining) setters.push(factConditions(timestamp(nowMs), dropIns ?? NO_DROP_INS, remaining));
  return setters;
}

/** The setters of labels and annotations, by the facts object, which must never change. The next report reuses them. */
const known = new WeakMap<Facts, readonly Setter[]>();

function metadataSetters(facts: Facts): readonly Setter[] {
  const found = known.get(facts);
  if (found) return found;
  const permanent = defaultLabelsOf(facts);
  const ofFacts = factLabelsOf(facts);
  const { wanted, isUndecided } = nodeLabelsOf(facts, { ...permanent, ...ofFacts });
  const setters = [
    permanentLabels(permanent),
    factLabels(ofFacts, isFactLabel),
    nodeLabels(wanted, isFactLabel, isUndecided),
    factAnnotations(annotationsOf(facts)),
  ];
  known.set(facts, setters);
  return setters;
}

/** Returns the default labels as at registration, with the configuration's values, but without REQUIRED_LABELS. */
function defaultLabelsOf({ settings, platform }: Facts): Record<string, string> {
  const { hostname, nodeLabels = {} } = settings;
  const { os: goos, architecture: goarch } = platform;
  const labels: Record<string, string> = {};
  for (const [key, value] of Object.entries(defaultLabels({ hostname, goos, goarch })))
    if (!REQUIRED_LABELS.includes(key)) labels[key] = nodeLabels[key] ?? value;
  return labels;
}

function factLabelsOf({ settings, inventory, dropIns, features }: Facts): Record<string, string> {
  return {
    ...dropIns?.labels,
    ...(settings.inventoryLabels && inventory ? inventoryLabels(inventory) : {}),
    ...(features && featureLabels(features)),
  };
}

interface NodeLabels {
  wanted: Record<string, string>;
  isUndecided: (key: string) => boolean;
}

/** Returns the configuration's labels, overridden by the cloud's as at registration, without the keys of `others`. */
function nodeLabelsOf(facts: Facts, others: Readonly<Record<string, string>>): NodeLabels {
  const ofCloud = cloudLabelsOf(facts);
  const isUndecided = (key: string) =>
    ofCloud === null && CLOUD_LABELS.includes(key) && !Object.hasOwn(others, key);
  const hasOtherSetter = (key: string) =>
    Object.hasOwn(others, key) || REQUIRED_LABELS.includes(key) || key === NO_LOAD_BALANCER_LABEL;
  const configured = Object.entries({ ...facts.settings.nodeLabels, ...ofCloud });
  const wanted = configured.filter(([key]) => !hasOtherSetter(key) && !isUndecided(key));
  return { wanted: Object.fromEntries(wanted), isUndecided };
}

function isFactLabel(key: string): boolean {
  return isInventoryLabel(key) || isDropInLabel(key);
}

function annotationsOf({ settings }: Facts): Record<string, boolean> {
  const { enableControllerAttachDetach: isAttached = DEFAULT_SETTINGS.enableControllerAttachDetach } =
    settings;
  return {
    [ATTACH_DETACH_ANNOTATION]: isAttached,
    [KEEP_TERMINATED_POD_VOLUMES_ANNOTATION]: settings.keepTerminatedPodVolumes ?? false,
  };
}
