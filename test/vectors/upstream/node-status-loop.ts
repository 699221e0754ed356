// The parts of the kubelet's loop around updateNodeStatus that the Worker, which reports wake, does not have: the
// recordings of a kubelet's life ask for them.
import type { ApiResult } from "../../../shared/kubernetes/api-error.ts";
import {
  type Heartbeat,
  type HeartbeatState,
  type HeartbeatSteps,
  patchNodeStatus,
  readyConditionOf,
  updateNodeStatus,
} from "../../../shared/node/heartbeat.ts";

/** Upstream syncNodeStatus: registers first where that is still to be done, and updates only then. */
export async function syncNodeStatus(
  steps: HeartbeatSteps,
  state: HeartbeatState,
  ensureRegistered: () => Promise<boolean>, // true at once where nothing is to be registered
): Promise<ApiResult<Heartbeat> | "not registered"> {
  if (!(await ensureRegistered())) return "not registered";
  return updateNodeStatus(steps, state);
}

/**
 * Upstream fastNodeStatusUpdate: right after start, writes the status as soon as the node has become ready and not
 * with the next period. Returns whether that is done, or no longer worth trying (`timeout`).
 */
export async function fastNodeStatusUpdate(
  steps: HeartbeatSteps,
  state: HeartbeatState,
  timeout: boolean,
  updateRuntimeUp: () => Promise<void>, // asks the runtime for its status now
  syncNodeStatus: () => Promise<unknown>, // what is left when the Node that was known turns out to be stale
): Promise<boolean> {
  if (timeout) return true;
  const read = await steps.readNode(0);
  if (!read.ok) return false;
  const readyBefore = readyConditionOf(read.value)?.status;
  if (readyBefore === undefined || readyBefore === "True") return readyBefore !== undefined;
  await updateRuntimeUp();
  const { node, changed } = steps.updateNode(read.value);
  const readyNow = readyConditionOf(node)?.status;
  if (!changed || readyNow === undefined || readyNow === "False") return false;
  const patched = await patchNodeStatus(steps, state, read.value, node);
  if (!patched.ok) await syncNodeStatus();
  return true;
}
