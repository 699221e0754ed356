// Decides when a silent machine's Node gets Ready Unknown, the only status that an alarm writes: in a cluster without a
// node controller no other program writes it, and a node controller writes it later.
import { isBystander } from "../../shared/node/bystander.ts";
import { readyConditionOf } from "../../shared/node/heartbeat.ts";
import { NODE_STATUS_UNKNOWN } from "../../shared/node/unready.ts";
import { type Unready, UNREADY } from "../../shared/fleet/unready.ts";
import { clusterObject, type Environment, isMarkingOn } from "../env.ts";
import { withDeadline } from "../kube/deadline.ts";
import type { NodeRecordStore } from "../storage/records.ts";

const ASK_WITHIN_MS = 1000;
/** The wait before the cluster object is asked again is as long as the silence, within these limits. */
const AGAIN_MS = { least: 10_000, most: 300_000 } as const;

/**
 * Returns Ready of the machine's Node; null unless the machine is silent, and its Node runs no pods and is not Unknown.
 * Also replaces the text about clones, once they no longer report.
 */
export function silentReady(env: Environment, records: NodeRecordStore): Unready | null {
  if (!isMarkingOn(env) || !env.KUBE_URL) return null;
  const silentSinceMs = records.get("silentSinceMs") ?? null;
  const [node, enrolment] = [records.get("node")?.node, records.get("enrolment")];
  const isRegistered = records.get("registration")?.phase === "registered";
  if (silentSinceMs === null || !isRegistered || !node || !enrolment) return null;
  const ready = readyConditionOf(node);
  const isOutdated = ready?.status === "Unknown" && ready.reason === UNREADY.cloned.reason;
  if (ready?.status === "Unknown" && !isOutdated) return null;
  // A node controller that changes Ready of a Node with pods also marks the pods as not ready.
  if (!isOutdated && !isBystander(node, enrolment.withoutFactsOnlyTaint)) return null;
  const since = new Date(silentSinceMs).toISOString().replace(/\.\d+/, "");
  return { reason: NODE_STATUS_UNKNOWN, message: `The machine has not reported since ${since}.` };
}

/** Returns the milliseconds until the Node may be written, or until the next question; null if it must not be written. */
export async function waitToMark(
  env: Environment,
  records: NodeRecordStore,
  nowMs: number,
): Promise<number | null> {
  if (silentReady(env, records) === null) return null;
  // An earlier version of the cluster object, as during a deploy, lacks the method.
  const ask = async () => clusterObject(env).silentNodeTurn();
  const asked = withDeadline<number | null>(ASK_WITHIN_MS, ask, null, env.timer).catch(() => null);
  const silentForMs = nowMs - (records.get("silentSinceMs") ?? nowMs);
  return (await asked) ?? Math.min(Math.max(silentForMs, AGAIN_MS.least), AGAIN_MS.most);
}
