import { describe, test } from "vitest";
import type { NodeCondition, NodeStatus } from "../../../shared/kubernetes/types.ts";
import { type Errors, readyCondition } from "../../../shared/setters/ready.ts";
import { BEFORE, condition, expectOutcome, NOW, runSetter } from "./run-setter.ts";

const CAPACITY = { cpu: "2", memory: "4Gi", pods: "110", "ephemeral-storage": "10Gi" };
const READY = "kubelet is posting ready status";
const wasReady = condition("Ready", "True", "KubeletReady", READY);
const wasNotReady = condition("Ready", "False", "KubeletNotReady", "runtime is down");

const ready = (since: string, message = READY): NodeCondition => ({
  ...condition("Ready", "True", "KubeletReady", message),
  lastHeartbeatTime: NOW,
  lastTransitionTime: since,
});
const notReady = (since: string, message: string): NodeCondition => ({
  ...condition("Ready", "False", "KubeletNotReady", message),
  lastHeartbeatTime: NOW,
  lastTransitionTime: since,
});

interface Situation {
  name: string;
  before?: NodeCondition[];
  capacity?: NodeStatus["capacity"];
  runtime?: Errors;
  network?: Errors;
  storage?: Errors;
  shutdown?: Errors;
  soft?: string;
  isolation?: boolean;
  /** The reason why AppArmor is off, or null; absent for today's kubelet, which does not check it. */
  appArmor?: string | null;
  after: NodeCondition[];
  events?: string[];
}

const situations: Situation[] = [
  {
    name: "new, ready → True, without an event: nothing has changed yet",
    after: [ready(NOW)],
  },
  {
    name: "still ready → a heartbeat alone",
    before: [wasReady],
    after: [ready(BEFORE)],
  },
  {
    name: "transition to not ready → False as of now, with the error, and an event",
    before: [wasReady],
    runtime: "runtime is down",
    after: [notReady(NOW, "runtime is down")],
    events: ["Normal NodeNotReady"],
  },
  {
    name: "transition to ready → True as of now, and an event",
    before: [wasNotReady],
    after: [ready(NOW)],
    events: ["Normal NodeReady"],
  },
  {
    name: "not ready for another reason → the message changes, the transition time does not, no event",
    before: [wasNotReady],
    network: "cni is not initialized",
    after: [notReady(BEFORE, "cni is not initialized")],
  },
  {
    name: "the node controller wrote Unknown, the machine is back → True as of now, and an event",
    before: [condition("Ready", "Unknown", "NodeStatusUnknown")],
    after: [ready(NOW)],
    events: ["Normal NodeReady"],
  },
  {
    name: "several sources fail → each text once, in brackets, in the order runtime, network, storage, shutdown",
    runtime: ["runtime is down", "no sandbox"],
    network: "runtime is down",
    storage: "CSINode is not there",
    shutdown: "node is shutting down",
    after: [notReady(NOW, "[runtime is down, no sandbox, CSINode is not there, node is shutting down]")],
  },
  {
    name: "the machine shuts down → not ready, though nothing is broken",
    before: [wasReady],
    shutdown: "node is shutting down",
    after: [notReady(NOW, "node is shutting down")],
    events: ["Normal NodeNotReady"],
  },
  {
    name: "no memory and no ephemeral-storage in the capacity → not ready: both are named",
    capacity: { cpu: "2", pods: "110" },
    after: [notReady(NOW, "missing node capacity for resources: memory, ephemeral-storage")],
  },
  {
    name: "no ephemeral-storage, but local storage is not isolated → ready",
    capacity: { cpu: "2", memory: "4Gi", pods: "110" },
    isolation: false,
    after: [ready(NOW)],
  },
  {
    name: "a missing feature that a kubelet does not require → ready, with a warning",
    soft: "CPU hardcapping unsupported",
    after: [ready(NOW, `${READY}. WARNING: CPU hardcapping unsupported`)],
  },
  {
    name: "a kubelet that requires AppArmor, which is on → ready, and the message names it",
    appArmor: null,
    after: [ready(NOW, `${READY}. AppArmor enabled`)],
  },
];

describe("readyCondition", () => {
  test.each(situations)("$name", (situation) => {
    const { before, capacity = CAPACITY, appArmor, isolation = true, after, events = [] } = situation;
    const outcome = runSetter(
      ({ recordStatusEvent }) =>
        readyCondition(
          NOW,
          () => situation.runtime ?? null,
          () => situation.network ?? null,
          () => situation.storage ?? null,
          () => situation.soft ?? null,
          () => situation.shutdown ?? null,
          recordStatusEvent,
          isolation,
          appArmor === undefined ? undefined : () => appArmor,
        ),
      { status: { capacity, ...(before && { conditions: before }) } },
    );
    expectOutcome(outcome, { status: { capacity, conditions: after }, events });
  });
});
