// Writes a Node's status when it changed or its time has come: the kubelet's updateNodeStatus over the last known Node.
import type { ApiError } from "../../shared/kubernetes/api-error.ts";
import {
  type Heartbeat,
  type HeartbeatState,
  isUpdateStatusPeriodExpired,
  updateNodeStatus,
} from "../../shared/node/heartbeat.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { NodeUpdate } from "../../shared/node/update-node.ts";
import { decidedConditions } from "../../shared/node/decided.ts";
import type { Renewal } from "./lease.ts";
import { distrustKnownNode, readOwnNode } from "./own-node.ts";
import {
  type DecisionBasis,
  decideStatus,
  firstBasis,
  lastHeartbeatMs,
  recordDecision,
  type StatusDecision,
} from "./decide-status.ts";
import type { TickContext } from "./context.ts";
import { type Failure, failure, type Result, success } from "../../shared/result.ts";

/**
 * Starts from the last known Node while that can be relied on: the lease was renewed all the time (else the node
 * controller may have set conditions), no write is due anyway or came to an unknown end, and it is the first try.
 */
export async function writeStatus(
  context: TickContext,
  { wasFresh, lastContactMs }: Renewal,
  deadlineMs: number,
): Promise<Result<null, ApiError>> {
  const { records, facts, memory } = context;
  const known = records.get("node");
  if (!known) throw new Error("a registered Node that is not known");
  const client = context.client(deadlineMs);
  const nowMs = context.nowMs();
  const state = heartbeatState(memory.status ?? known, nowMs);
  const { nodeStatusReportFrequencyMs } = facts.settings;
  const period = { now: () => nowMs, nodeStatusReportFrequencyMs };
  const isSound = wasFresh && !known.readAgain;
  const isKnownEnough = isSound && !isUpdateStatusPeriodExpired(period, state);
  let last: DecisionBasis | StatusDecision = firstBasis(context, known.node, lastContactMs);
  const decide = (original: Node): NodeUpdate => {
    const decision = decideStatus(context, original, last);
    recordDecision(context, decision);
    last = decision;
    return decision.update;
  };

  const written = await updateNodeStatus(
    {
      readNode: async (attempt) => {
        if (attempt === 0 && isKnownEnough) return success(known.node);
        // A periodic write looks for what others changed, and a moment does not matter; doubt asks for the truth.
        const read = await readOwnNode(context, client, attempt === 0 && isSound);
        // What the machine says is decided, and history, also where nobody can be asked.
        if (attempt === 0 && !read.ok && !context.lost) decide(known.node);
        return read;
      },
      updateNode: decide,
      patchNodeStatus: (original, patch) => {
        if ("update" in last) rememberSent(records, last);
        return client.patchNodeStatus(original, patch);
      },
      ...period,
      random: context.random,
      markVolumesAsReportedInUse: () => undefined,
      onRepeatedHeartbeatFailure: () => context.log("status: another update in a row has failed"),
    },
    state,
  );
  memory.status = state;
  if (!written.ok) return failed(context, last.original, written.error);
  remember(context, known.node, written.value, state);
  return success(null);
}

/** What somebody else has made of the Node is remembered: it must not cause its events with every try. */
function failed(context: TickContext, read: Node, error: ApiError): Failure<ApiError> {
  const known = context.records.get("node");
  if (known && read !== known.node) context.records.put("node", { ...known, node: read });
  distrustKnownNode(context.records);
  context.log("status not written", error);
  return failure(error);
}

/** A fault of the setters that stays is logged once. */
function remember(
  context: TickContext,
  before: Node,
  { outcome, node, errors }: Heartbeat,
  state: HeartbeatState,
): void {
  const { memory, records } = context;
  if (outcome === "patched") memory.heartbeatMs = lastHeartbeatMs(node);
  const setterErrors = errors.join("; ");
  if (setterErrors !== (memory.setterErrors ?? ""))
    context.log(setterErrors === "" ? "setters: well" : `setters: ${setterErrors}`);
  memory.setterErrors = setterErrors;
  // Also where a later try found that an unanswered one had been applied.
  if (records.get("node")?.readAgain || !isSameButForTimes(node, before))
    records.put("node", { node, ...state, readAgain: false });
}

/**
 * An object may be gone before the answer comes: the Node is read again then. Heartbeats alone are not worth a row.
 */
function rememberSent(records: TickContext["records"], { original, update }: StatusDecision): void {
  const known = records.get("node");
  if (!known || !update.changed) return;
  records.put("node", { ...known, node: original, readAgain: true, sent: decidedConditions(update.node) });
}

/** Heartbeats and bookkeeping apart: what a row of SQLite is worth. */
function isSameButForTimes(a: Node, b: Node): boolean {
  return a === b || lastingText(a) === lastingText(b);
}

const PASSING = new Set(["lastHeartbeatTime", "resourceVersion", "managedFields"]);

function lastingText(node: Node): string {
  return JSON.stringify(node, (key, value: unknown) => (PASSING.has(key) ? undefined : value));
}

/** A time ahead of the clock, which was put back, says nothing about when the next write is due. */
function heartbeatState(known: HeartbeatState, nowMs: number): HeartbeatState {
  const { lastStatusReportTimeMs: lastMs, delayAfterNodeStatusChangeMs } = known;
  return {
    lastStatusReportTimeMs: lastMs !== null && lastMs > nowMs ? null : lastMs,
    delayAfterNodeStatusChangeMs,
  };
}
