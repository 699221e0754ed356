// Plays the kubelet's loop around updateNodeStatus. The Worker has no such loop, because reports wake it; the
// recordings of a kubelet's life need it.
import type { ApiResult } from "../../../shared/kubernetes/api-error.ts";
import {
  type Heartbeat,
  type HeartbeatState,
  type HeartbeatSteps,
  patchNodeStatus,
  readyConditionOf,
  updateNodeStatus,
} from "../../../shared/node/heartbeat.ts";

/** Runs one period like upstream's syncNodeStatus: registers first if needed, and updates only afterwards. */
export async function syncNodeStatus(
  steps: HeartbeatSteps,
  state: HeartbeatState,
  ensureRegistered: () => Promise<boolean>, // true at once if there is nothing to register
): Promise<ApiResult<Heartbeat> | "not registered"> {
  if (!(await ensureRegistered())) return "not registered";
  return updateNodeStatus(steps, state);
}

/**
 * Writes the first status like upstream's fastNodeStatusUpdate: right after the start, as soon as the node has
 * become ready, before the next period. Returns true if the status is written, or no longer worth a try
 * (`timeout`).
 */
export async function fastNodeStatusUpdate(
  steps: HeartbeatSteps,
  state: HeartbeatState,
  timeout: boolean,
  updateRuntimeUp: () => Promise<void>, // reads the runtime's status now
  syncNodeStatus: () => Promise<unknown>, // the fallback if the cached Node is stale
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
