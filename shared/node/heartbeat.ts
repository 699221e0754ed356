// Writes a Node's status when it has changed or a periodic write is due, and retries. Mirrors updateNodeStatus and what it
// calls in upstream's kubelet_node_status.go.
import type { ApiResult } from "../kubernetes/api-error.ts";
import type { NodeClient } from "../kubernetes/client.ts";
import { createNodeStatusPatch } from "../kubernetes/patch/node-status-patch.ts";
import type { Node, NodeCondition } from "../kubernetes/types.ts";
import type { NodeUpdate } from "./update-node.ts";
import { failure, success } from "../result.ts";

/** Upstream nodeStatusUpdateRetry. */
export const NODE_STATUS_UPDATE_TRIES = 5;

/** Outlives a heartbeat. The functions below update it. */
export interface HeartbeatState {
  /** Milliseconds since 1970; null: this process has not written the status. */
  lastStatusReportTimeMs: number | null;
  /** Shifts the next periodic write, so that a fleet's writes do not coincide. Exact to a nanosecond. */
  delayAfterNodeStatusChangeMs: number;
}

export interface HeartbeatSteps {
  /** Returns the Node to start from. Attempt 0 may use the last known Node; later attempts read it from the apiserver. */
  readNode(attempt: number): Promise<ApiResult<Node>>;
  /** Typically update-node's `updateNode` with the setters; called once per try. */
  updateNode(original: Node): NodeUpdate;
  patchNodeStatus: NodeClient["patchNodeStatus"];
  /** Called before a write. False: it has to wait, and a later write has what changed. Upstream: true. */
  mayWrite?(original: Node, node: Node): boolean;
  /** Milliseconds since 1970. */
  now(): number;
  /** At least 0, less than 1. */
  random(): number;
  nodeStatusReportFrequencyMs: number;
  /** Tries in a row at most; absent: upstream's 5. */
  tries?: number;
  markVolumesAsReportedInUse(volumes: readonly string[]): void;
  onRepeatedHeartbeatFailure(): void;
}

export interface Heartbeat {
  outcome: "unchanged" | "patched" | "withheld";
  /** As the apiserver returned it. */
  node: Node;
  /** The texts of the setters that failed. */
  errors: string[];
}

/** Upstream updateNodeStatus: up to 5 tries in a row, unless `tries` is less. */
export async function updateNodeStatus(
  steps: HeartbeatSteps,
  state: HeartbeatState,
): Promise<ApiResult<Heartbeat>> {
  let tried = await tryUpdateNodeStatus(steps, state, 0);
  for (let attempt = 1; attempt < (steps.tries ?? NODE_STATUS_UPDATE_TRIES) && !tried.ok; attempt++) {
    tried = await tryUpdateNodeStatus(steps, state, attempt);
    if (!tried.ok) steps.onRepeatedHeartbeatFailure();
  }
  return tried;
}

/** One try: writes the status if it has changed or a periodic write is due. */
export async function tryUpdateNodeStatus(
  steps: HeartbeatSteps,
  state: HeartbeatState,
  attempt: number,
): Promise<ApiResult<Heartbeat>> {
  const read = await steps.readNode(attempt);
  if (!read.ok) return read;
  const original = read.value;
  const { node, changed, errors } = steps.updateNode(original);
  if (!changed && !isUpdateStatusPeriodExpired(steps, state)) {
    markVolumesFromNode(steps, node);
    return success({ outcome: "unchanged", node: original, errors });
  }
  if (steps.mayWrite?.(original, node) === false)
    return success({ outcome: "withheld", node: original, errors });
  const isPeriodic = !changed && state.lastStatusReportTimeMs !== null;
  state.delayAfterNodeStatusChangeMs = isPeriodic ? 0 : calculateDelayMs(steps);
  const patched = await patchNodeStatus(steps, state, original, node);
  if (!patched.ok) return patched;
  markVolumesFromNode(steps, patched.value);
  return success({ outcome: "patched", node: patched.value, errors });
}

/** Returns true if the status has to be written although nothing changed. */
export function isUpdateStatusPeriodExpired(
  steps: Pick<HeartbeatSteps, "now" | "nodeStatusReportFrequencyMs">,
  { lastStatusReportTimeMs, delayAfterNodeStatusChangeMs }: HeartbeatState,
): boolean {
  if (lastStatusReportTimeMs === null) return true;
  return (
    steps.now() - lastStatusReportTimeMs >= steps.nodeStatusReportFrequencyMs + delayAfterNodeStatusChangeMs
  );
}

/** Upstream calculateDelay: up to half the period earlier or later, in whole nanoseconds. */
export function calculateDelayMs(
  steps: Pick<HeartbeatSteps, "random" | "nodeStatusReportFrequencyMs">,
): number {
  return Math.trunc(steps.nodeStatusReportFrequencyMs * 1e6 * (steps.random() - 0.5)) / 1e6;
}

/** Upstream patchNodeStatus; records when the status was written. */
export async function patchNodeStatus(
  steps: HeartbeatSteps,
  state: HeartbeatState,
  original: Node,
  node: Node,
): Promise<ApiResult<Node>> {
  const patch = createNodeStatusPatch(original, node);
  if (!patch.ok) return failure({ kind: "unanswered", message: patch.error });
  const patched = await steps.patchNodeStatus(original, patch.value);
  if (patched.ok) state.lastStatusReportTimeMs = steps.now();
  return patched;
}

function markVolumesFromNode(steps: HeartbeatSteps, node: Node): void {
  steps.markVolumesAsReportedInUse(node.status?.volumesInUse ?? []);
}

/** Upstream GetNodeCondition for Ready. */
export function readyConditionOf(node: Node): NodeCondition | undefined {
  return node.status?.conditions?.find(({ type }) => type === "Ready");
}
