// Sets the condition Ready from all errors that keep a node from running pods.
import type { NodeCondition, NodeStatus } from "../kubernetes/types.ts";
import type { RecordStatusEvent, Setter } from "./setter.ts";

/** The text of one error, a list of errors (an aggregate, which may contain aggregates), or null for no error. */
export type Errors = string | null | readonly Errors[];

const REQUIRED_CAPACITIES = ["cpu", "memory", "pods"];
const REQUIRED_CAPACITIES_WITH_ISOLATION = [...REQUIRED_CAPACITIES, "ephemeral-storage"];

/** Returns the setter of Ready (upstream nodestatus.ReadyCondition). Older releases also check AppArmor. */
export function readyCondition(
  now: string,
  runtimeErrors: () => Errors, // typically the vitals' errors.runtime
  networkErrors: () => Errors, // typically the vitals' errors.network
  storageErrors: () => Errors, // typically the vitals' errors.storage
  softRequirements: () => string | null, // typically a feature that the container manager lacks, as a warning
  nodeShutdownManagerErrors: () => Errors, // typically "node is shutting down", or none
  recordStatusEvent: RecordStatusEvent,
  localStorageCapacityIsolation: boolean,
  validateAppArmorHost?: () => string | null, // returns why AppArmor is off, or null
): Setter {
  return (node) => {
    const errors = flatten([runtimeErrors(), networkErrors(), storageErrors(), nodeShutdownManagerErrors()]);
    const missing = missingCapacities(node.status, localStorageCapacityIsolation);
    if (missing.length > 0) errors.push(`missing node capacity for resources: ${missing.join(", ")}`);

    const ready = errors.length === 0;
    let message = ready ? "kubelet is posting ready status" : aggregate(errors);
    if (ready && validateAppArmorHost && validateAppArmorHost() === null) message += ". AppArmor enabled";
    const soft = softRequirements();
    if (soft !== null) message += `. WARNING: ${soft}`;

    const transitioned = putReady(node.status, now, ready, message);
    if (transitioned) recordStatusEvent("Normal", ready ? "NodeReady" : "NodeNotReady");
    return null;
  };
}

/** Updates the first condition Ready, or appends one. Returns true if an existing condition's status has changed. */
function putReady(status: NodeStatus, now: string, ready: boolean, message: string): boolean {
  const conditions = status.conditions ?? [];
  const index = conditions.findIndex(({ type }) => type === "Ready");
  const previous = conditions[index];
  const condition: NodeCondition = {
    type: "Ready",
    status: ready ? "True" : "False",
    lastHeartbeatTime: now,
    lastTransitionTime: now,
    reason: ready ? "KubeletReady" : "KubeletNotReady",
    // Go leaves an empty message out of JSON.
    ...(message !== "" && { message }),
  };
  if (!previous) {
    status.conditions = [...conditions, condition];
    return false;
  }
  const transitioned = previous.status !== condition.status;
  if (!transitioned && previous.lastTransitionTime !== undefined) {
    condition.lastTransitionTime = previous.lastTransitionTime;
  }
  status.conditions = conditions.with(index, condition);
  return transitioned;
}

function missingCapacities({ capacity = {} }: NodeStatus, localStorageCapacityIsolation: boolean): string[] {
  const required = localStorageCapacityIsolation ? REQUIRED_CAPACITIES_WITH_ISOLATION : REQUIRED_CAPACITIES;
  return required.filter((resource) => capacity[resource] === undefined);
}

function flatten(errors: Errors): string[] {
  if (errors === null) return [];
  return typeof errors === "string" ? [errors] : errors.flatMap(flatten);
}

/** Returns the text of apimachinery's errors.Aggregate: each text once, several texts in brackets. */
function aggregate(errors: string[]): string {
  const texts = [...new Set(errors)];
  return texts.length === 1 ? texts.join("") : `[${texts.join(", ")}]`;
}
