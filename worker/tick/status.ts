// Writes a Node's status when it changed or its time has come: the kubelet's updateNodeStatus over the last known Node.
import type { ApiError } from "../../shared/kubernetes/api-error.ts";
import {
  type HeartbeatState,
  isUpdateStatusPeriodExpired,
  updateNodeStatus,
} from "../../shared/node/heartbeat.ts";
import { reportedEvents, reportedSetters } from "../../shared/from-report/reported-node.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { type NodeUpdate, updateNode } from "../../shared/node/update-node.ts";
import { decidedConditions, overDecisions } from "../../shared/node/decided.ts";
import type { Renewal } from "./lease.ts";
import type { OccurredEvent } from "../storage/outbox.ts";
import { distrustKnownNode, readOwnNode } from "./own-node.ts";
import { recalledMemory, storedMemory } from "./setter-memory.ts";
import type { TickContext } from "./context.ts";
import { success } from "../../shared/result.ts";

export interface StatusWritten {
  error: ApiError | null;
}

/**
 * Starts from the last known Node while that can be relied on: the lease was renewed all the time (else the node
 * controller may have set conditions), no write is due anyway or came to an unknown end, and it is the first try.
 */
export async function writeStatus(
  context: TickContext,
  { wasFresh, lastContactMs }: Renewal,
  deadlineMs: number,
): Promise<StatusWritten> {
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
  const decisions = decider(context, known.node, lastContactMs);

  const written = await updateNodeStatus(
    {
      readNode: async (attempt) => {
        if (attempt === 0 && isKnownEnough) return success(known.node);
        // A periodic write looks for what others changed, and a moment does not matter; doubt asks for the truth.
        const read = await readOwnNode(context, client, attempt === 0 && isSound);
        // What the machine says is decided, and history, also where nobody can be asked.
        if (attempt === 0 && !read.ok && !context.lost) decisions.decide(known.node);
        return read;
      },
      updateNode: decisions.decide,
      patchNodeStatus: (original, patch) => {
        rememberSent(records, original, decisions.lastUpdate());
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
  if (!written.ok) {
    // What somebody else has made of the Node is remembered: it must not cause its events with every try.
    const remembered = records.get("node") ?? known;
    if (decisions.lastRead() !== known.node)
      records.put("node", { ...remembered, node: decisions.lastRead() });
    distrustKnownNode(records);
    context.log("status not written", written.error);
    return { error: written.error };
  }
  const { outcome, node } = written.value;
  if (outcome === "patched") memory.heartbeatMs = lastHeartbeatMs(node);
  const errors = written.value.errors.join("; ");
  if (errors !== (memory.setterErrors ?? ""))
    context.log(errors === "" ? "setters: well" : `setters: ${errors}`);
  memory.setterErrors = errors;
  // Also where a later try found that an unanswered one had been applied.
  if (records.get("node")?.readAgain || !isSameButForTimes(node, known.node)) {
    records.put("node", { node, ...state, readAgain: false });
  }
  return { error: null };
}

interface Decider {
  decide: (original: Node) => NodeUpdate;
  /** The Node that was decided about last, as the apiserver has it. */
  lastRead: () => Node;
  /** What was decided about it. */
  lastUpdate: () => NodeUpdate | undefined;
}

/**
 * An object may be gone before the answer comes: the Node is read again then. Heartbeats alone are not worth a row.
 */
function rememberSent(records: TickContext["records"], original: Node, update: NodeUpdate | undefined): void {
  const known = records.get("node");
  if (!known || !update?.changed) return;
  records.put("node", { ...known, node: original, readAgain: true, sent: decidedConditions(update.node) });
}

/** Decisions are in SQLite before they are acted on; a further one starts from them and causes no event again. */
function decider(context: TickContext, known: Node, lastContactMs: number): Decider {
  const { records, facts, report, name } = context;
  const memory = context.memory.setters
    ? structuredClone(context.memory.setters)
    : recalledMemory(records.get("memory"), lastContactMs);
  let events: OccurredEvent[] = [];
  const recordEvent = (type: string, reason: string, message: string) =>
    void events.push({ type, reason, message });
  // Times never go back, whatever this clock says: the row may be older than the last write, and the lease knows of it.
  const writtenMs = Math.max(
    context.memory.heartbeatMs ?? 0,
    context.memory.status?.lastStatusReportTimeMs ?? 0,
  );
  const { os, architecture } = facts.platform;
  let lastKnown = known;
  let lastUpdate: NodeUpdate | undefined;
  return {
    lastRead: () => lastKnown,
    lastUpdate: () => lastUpdate,
    decide: (original) => {
      const nowMs = Math.max(context.nowMs(), writtenMs, lastHeartbeatMs(original));
      const reported = { name, facts, vitals: report.vitals, nowMs, memory, recordEvent };
      const setters = overDecisions(
        [...reportedEvents(reported), ...reportedSetters(reported)],
        lastKnown,
        records.get("decided") ?? [],
        records.get("node")?.sent,
      );
      const update = updateNode(original, () => success(false), os, architecture, setters);
      context.memory.setters = memory;
      // An event tells when it happened by this clock: the moment of the last write has given a name to another one.
      const atMs = context.nowMs();
      context.journal.decide({ node: update.node, memory: storedMemory(memory, nowMs), events, nowMs: atMs });
      events = [];
      lastKnown = original;
      lastUpdate = update;
      return update;
    },
  };
}

function lastHeartbeatMs(node: Node): number {
  const heartbeats = (node.status?.conditions ?? []).map(({ lastHeartbeatTime }) =>
    lastHeartbeatTime ? Date.parse(lastHeartbeatTime) : 0,
  );
  return Math.max(0, ...heartbeats);
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
