// Makes setters of what a report has beyond a kubelet's facts: hardware and drop-ins, as labels, resources and
// conditions.
import { type DropIns, isDropInLabel } from "../protocol/drop-ins.ts";
import type { Facts } from "../protocol/facts.ts";
import { inventoryLabels, isInventoryLabel } from "../protocol/inventory.ts";
import { type ReportedStatus, timestamp } from "./reported-status.ts";
import { factConditions } from "../setters/fact-conditions.ts";
import { factLabels } from "../setters/fact-labels.ts";
import { factResources } from "../setters/fact-resources.ts";
import type { Setter } from "../setters/setter.ts";

const NO_DROP_INS: DropIns = { resources: {}, labels: {}, conditions: [], working: 0, failures: [] };

export function factSetters({ facts, vitals, nowMs }: ReportedStatus): Setter[] {
  const { dropIns, devices } = facts;
  const setters = [factLabels(labelsOf(facts), isFactLabel)];
  if (dropIns === undefined) return setters;
  const { resources } = dropIns ?? NO_DROP_INS;
  const announced = [...Object.keys(devices?.capacity ?? {}), ...(devices?.removed ?? [])];
  setters.push(factResources(resources, announced));
  // A shim that has just started has not run its drop-ins yet: the Node keeps the conditions that it has.
  const remaining = dropIns === null ? {} : vitals.remainingSeconds;
  if (remaining) setters.push(factConditions(timestamp(nowMs), dropIns ?? NO_DROP_INS, remaining));
  return setters;
}

function labelsOf({ settings, inventory, dropIns }: Facts): Record<string, string> {
  return {
    ...dropIns?.labels,
    ...(settings.inventoryLabels && inventory ? inventoryLabels(inventory) : {}),
  };
}

function isFactLabel(key: string): boolean {
  return isInventoryLabel(key) || isDropInLabel(key);
}
