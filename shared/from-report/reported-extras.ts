// Makes setters of what a report has beyond the setters of a kubelet: labels and annotations, which a kubelet writes at
// registration alone, and what follows from hardware and drop-ins.
import { type DropIns, isDropInLabel } from "../protocol/drop-ins.ts";
import type { Facts } from "../protocol/facts.ts";
import { inventoryLabels, isInventoryLabel } from "../protocol/inventory.ts";
import { DEFAULT_SETTINGS } from "../protocol/settings.ts";
import {
  ATTACH_DETACH_ANNOTATION,
  CLOUD_LABELS,
  defaultLabels,
  KEEP_TERMINATED_POD_VOLUMES_ANNOTATION,
} from "../node/initial-node.ts";
import { NO_LOAD_BALANCER_LABEL } from "../node/ownership.ts";
import { REQUIRED_LABELS } from "../node/update-node.ts";
import { cloudLabelsOf } from "./reported-cloud.ts";
import { type ReportedStatus, timestamp } from "./reported-status.ts";
import { factAnnotations } from "../setters/fact-annotations.ts";
import { factConditions } from "../setters/fact-conditions.ts";
import { factLabels, nodeLabels } from "../setters/fact-labels.ts";
import { factResources } from "../setters/fact-resources.ts";
import { permanentLabels } from "../setters/listed-labels.ts";
import type { Setter } from "../setters/setter.ts";

const NO_DROP_INS: DropIns = { resources: {}, labels: {}, conditions: [], working: 0, failures: [] };

export function factSetters({ facts, vitals, nowMs }: ReportedStatus): Setter[] {
  const { dropIns, devices } = facts;
  const setters = [...metadataSetters(facts)];
  if (dropIns === undefined) return setters;
  const { resources } = dropIns ?? NO_DROP_INS;
  const announced = [...Object.keys(devices?.capacity ?? {}), ...(devices?.removed ?? [])];
  setters.push(factResources(resources, announced));
  // A shim that has just started has not run its drop-ins yet: the Node keeps the conditions that it has.
  const remaining = dropIns === null ? {} : vitals.remainingSeconds;
  if (remaining) setters.push(factConditions(timestamp(nowMs), dropIns ?? NO_DROP_INS, remaining));
  return setters;
}

/** Every report needs them, and facts rarely change: they are kept by the facts object, which must therefore never change. */
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

/** As at registration, the configuration may say otherwise. Without those that updateNode sets. */
function defaultLabelsOf({ settings, platform }: Facts): Record<string, string> {
  const { hostname, nodeLabels = {} } = settings;
  const { os: goos, architecture: goarch } = platform;
  const labels: Record<string, string> = {};
  for (const [key, value] of Object.entries(defaultLabels({ hostname, goos, goarch })))
    if (!REQUIRED_LABELS.includes(key)) labels[key] = nodeLabels[key] ?? value;
  return labels;
}

function factLabelsOf({ settings, inventory, dropIns }: Facts): Record<string, string> {
  return {
    ...dropIns?.labels,
    ...(settings.inventoryLabels && inventory ? inventoryLabels(inventory) : {}),
  };
}

interface NodeLabels {
  wanted: Record<string, string>;
  isUndecided: (key: string) => boolean;
}

/** Of the configuration and the cloud, whose word counts as at registration; without `others`. */
function nodeLabelsOf(facts: Facts, others: Readonly<Record<string, string>>): NodeLabels {
  const ofCloud = cloudLabelsOf(facts);
  const isUndecided = (key: string) =>
    ofCloud === null && CLOUD_LABELS.includes(key) && others[key] === undefined;
  const isOthersToSay = (key: string) =>
    others[key] !== undefined || REQUIRED_LABELS.includes(key) || key === NO_LOAD_BALANCER_LABEL;
  const said = Object.entries({ ...facts.settings.nodeLabels, ...ofCloud });
  const wanted = said.filter(([key]) => !isOthersToSay(key) && !isUndecided(key));
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
