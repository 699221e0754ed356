// Writes a Node's status if it has changed or a write is due, and retries. Mirrors upstream's updateNodeStatus.
import type { ApiResult } from "../kubernetes/api-error.ts";
import type { NodeClient } from "../kubernetes/client.ts";
import { createNodeStatusPatch } from "../kubernetes/patch/node-status-patch.ts";
import type { Node, NodeCondition } from "../kubernetes/types.ts";
import type { NodeUpdate } from "./update-node.ts";
import { failure, success } from "../result.ts";

/** The number of tries in a row (upstream nodeStatusUpdateRetry). */
export const NODE_STATUS_UPDATE_TRIES = 5;

/** The state between heartbeats, which the functions below update. */
export interface HeartbeatState {
  /** The time of the last write, in milliseconds since 1970; null if this process has not written the status yet. */
  lastStatusReportTimeMs: number | null;
  /** The shift of the next periodic write, so that a fleet's writes do not coincide; exact to a nanosecond. */
  delayAfterNodeStatusChangeMs: number;
}

export interface HeartbeatSteps {
  /** Returns the Node to update. Attempt 0 may use the last known Node; later attempts read from the apiserver. */
  readNode(attempt: number): Promise<ApiResult<Node>>;
  /** Runs the setters on the Node, once in each try. Typically `updateNode` of update-node.ts. */
  updateNode(original: Node): NodeUpdate;
  patchNodeStatus: NodeClient["patchNodeStatus"];
  /** Called before a write; if false, the write is skipped, and a later one has the change. Upstream always writes. */
  mayWrite?(original: Node, node: Node): Promise<boolean>;
  /** Returns the time in milliseconds since 1970. */
  now(): number;
  /** Returns a random number, at least 0 and less than 1. */
  random(): number;
  nodeStatusReportFrequencyMs: number;
  /** The largest number of tries in a row; NODE_STATUS_UPDATE_TRIES if absent. */
  tries?: number;
  markVolumesAsReportedInUse(volumes: readonly string[]): void;
  onRepeatedHeartbeatFailure(): void;
}

export interface Heartbeat {
  outcome: "unchanged" | "patched" | "withheld";
  /** The Node that the apiserver returned. */
  node: Node;
  /** The errors of the setters that failed. */
  errors: string[];
}

/** Writes the status in up to `tries` attempts in a row (upstream updateNodeStatus). */
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

/** Makes one attempt: writes the status if it has changed or a periodic write is due. */
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
  if ((await steps.mayWrite?.(original, node)) === false)
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

/** Returns a random delay of up to half the period, of either sign, in whole nanoseconds (upstream calculateDelay). */
export function calculateDelayMs(
  steps: Pick<HeartbeatSteps, "random" | "nodeStatusReportFrequencyMs">,
): number {
  return Math.trunc(steps.nodeStatusReportFrequencyMs * 1e6 * (steps.random() - 0.5)) / 1e6;
}

/** Sends the patch of the status, and stores the time of the write in `state` (upstream patchNodeStatus). */
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

/** Returns the condition Ready; undefined if the Node lacks it (upstream GetNodeCondition). */
export function readyConditionOf(node: Node): NodeCondition | undefined {
  return node.status?.conditions?.find(({ type }) => type === "Ready");
}
