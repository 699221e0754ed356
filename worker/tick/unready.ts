// Writes conditions of a machine's Node without a report: Ready Unknown, which no report that counts can set, and those
// of a maintenance. The lease is not renewed, and no other part of the Node is written.
import { type ApiError, isConflict } from "../../shared/kubernetes/api-error.ts";
import { transitions } from "../../shared/fleet/history-lines.ts";
import type { Unready } from "../../shared/fleet/unready.ts";
import { isOfOperators } from "../../shared/kubernetes/lifecycle-conditions.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { isBystander } from "../../shared/node/bystander.ts";
import { decidedConditions } from "../../shared/node/decided.ts";
import { readyConditionOf } from "../../shared/node/heartbeat.ts";
import { type ConditionChange, conditionsPatch, missingConditions } from "../../shared/node/maintenance.ts";
import { unreadyCondition } from "../../shared/node/unready.ts";
import { recordNodeStatusEvent } from "../../shared/setters/record-node-status-event.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { MachineLog } from "../log.ts";
import type { Stored } from "../storage/journal.ts";
import type { Enrolment } from "../storage/records.ts";
import { maintenanceFor } from "./maintenance.ts";
import { distrustKnownNode, isNodeMissing, OwnReader } from "./own-node.ts";
import { isReady } from "./phase.ts";
import { ofVersion } from "./status.ts";

export interface UnreadyMachine extends Stored {
  name: string;
  deployment: string;
  enrolment: Pick<Enrolment, "withoutFactsOnlyTaint">;
  /** The version of the Node that was last read or written; undefined for the stored version. */
  nodeVersion: string | undefined;
  /** Makes a client whose requests count towards the machine's budget. */
  client: () => KubeClient;
  log: MachineLog;
  nowMs: () => number;
}

export type UnreadyOutcome =
  /** The Node has the conditions. `nodeVersion`: the Node's version after a write or a read. */
  | { kind: "done"; nodeVersion?: string | undefined }
  /** The Node runs pods, and Ready is not Unknown yet. The node controller must make that change itself. */
  | { kind: "waits" }
  /** The machine has no Node, or lost its Node. The next report that counts records a loss. */
  | { kind: "no Node" }
  | { kind: "failed"; error: ApiError };

/**
 * Writes the conditions by one request, with the known version as a precondition: another writer may have the Node by
 * now. After a conflict the Node is read and written once more. `unready`: null if Ready stays.
 */
export async function writeUnready(
  machine: UnreadyMachine,
  unready: Unready | null,
): Promise<UnreadyOutcome> {
  const { records, nodeVersion } = machine;
  const known = records.get("registration")?.phase === "registered" ? records.get("node")?.node : undefined;
  if (!known) return { kind: "no Node" };
  const client = machine.client();
  let written = await patch(machine, client, known, nodeVersion ?? known.metadata?.resourceVersion, unready);
  if (written.kind === "failed" && isConflict(written.error)) {
    const own = new OwnReader(machine, client);
    const read = await own.readNode();
    if (own.lost) return lost(machine);
    written = read.ok
      ? await patch(machine, client, read.value, read.value.metadata?.resourceVersion, unready)
      : failed(read.error);
  }
  if (written.kind === "failed") machine.log("status not written", written.error);
  return written;
}

async function patch(
  machine: UnreadyMachine,
  client: KubeClient,
  original: Node,
  version: string | undefined,
  unready: Unready | null,
): Promise<UnreadyOutcome> {
  const { name, records, journal, enrolment, nowMs } = machine;
  const ready = unready && unreadyCondition(original, unready, nowMs());
  // When the node controller itself makes this change, it also marks the Node's pods as not ready.
  const isForPods = !isBystander(original, enrolment.withoutFactsOnlyTaint);
  const waits = ready !== null && isForPods && readyConditionOf(original)?.status !== "Unknown";
  const missing = missingConditions(maintenanceFor(records, original), original);
  const wanted: ConditionChange[] = [
    ...missing.map((each) => ({ ...each })),
    ...(ready && !waits ? [ready] : []),
  ];
  if (wanted.length === 0) {
    if (waits) return { kind: "waits" };
    store(machine, original);
    return { kind: "done", nodeVersion: version };
  }
  const before = decidedConditions(original);
  const sent = [
    ...before
      .filter(({ type }) => missing.every((each) => each.type !== type))
      .map((each) => (ready && !waits && each.type === "Ready" ? { ...each, status: "Unknown" } : each)),
    ...missing,
  ];
  const known = records.get("node");
  // After an eviction, the object recognises its own write by `sent`.
  if (known) records.put("node", { ...known, node: original, readAgain: true, sent });
  const patched = await client.patchNodeStatus(
    original,
    ofVersion(conditionsPatch(original, wanted), version),
  );
  if (!patched.ok) return isNodeMissing(patched.error, name) ? lost(machine) : failed(patched.error);
  const node = patched.value;
  store(machine, node);
  // The history has the lines about a maintenance since its order.
  const after = decidedConditions(node).filter(({ type }) => !isOfOperators(type));
  for (const text of transitions(before, after))
    journal.note("condition", `by the Worker, without a report: ${text}`, nowMs());
  const recordEvent = recordNodeStatusEvent(name, (type, reason, message) =>
    journal.tell({ type, reason, message }, nowMs()),
  );
  if (isReady(original) && !isReady(node)) recordEvent("Normal", "NodeNotReady");
  return { kind: "done", nodeVersion: node.metadata?.resourceVersion };
}

function store({ records }: UnreadyMachine, node: Node): void {
  const known = records.get("node");
  if (!known) return;
  const { sent: _, ...same } = known;
  records.put("node", { ...same, node, readAgain: false });
}

function lost({ records }: UnreadyMachine): UnreadyOutcome {
  distrustKnownNode(records);
  return { kind: "no Node" };
}

const failed = (error: ApiError): UnreadyOutcome => ({ kind: "failed", error });
