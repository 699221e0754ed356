// Writes a Node's status when it changed or a periodic write is due: the kubelet's updateNodeStatus over the last known
// Node.
import type { ApiError } from "../../shared/kubernetes/api-error.ts";
import { isJsonObject, type Json, type JsonObject } from "../../shared/kubernetes/json.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { decidedConditions } from "../../shared/node/decided.ts";
import {
  type Heartbeat,
  type HeartbeatState,
  isUpdateStatusPeriodExpired,
  updateNodeStatus,
} from "../../shared/node/heartbeat.ts";
import type { NodeUpdate } from "../../shared/node/update-node.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import { type Failure, failure, type Result, success } from "../../shared/result.ts";
import {
  backOffAfter,
  errorMeanwhile,
  isUrgent,
  MAX_NODE_BYTES,
  repeatedHeartbeatFailure,
  sizeOf,
  spendWrite,
  STATUS_REQUESTS,
} from "./budgets.ts";
import type { TickContext } from "./context.ts";
import {
  decideStatus,
  type DecisionBasis,
  firstBasis,
  lastHeartbeatMs,
  recordDecision,
  type StatusDecision,
} from "./decide-status.ts";
import type { Renewal } from "./lease.ts";
import { distrustKnownNode, readOwnNode } from "./own-node.ts";
import { recordWritten } from "./parts.ts";

/**
 * Starts from the last known Node while that can be relied on: the lease was renewed all the time (else the node
 * controller may have set conditions), no periodic write is due or the Node is watched, no write has an unknown outcome,
 * and it is the first try.
 */
export async function writeStatus(
  context: TickContext,
  { wasFresh, lastContactMs }: Renewal,
  deadlineMs: number,
): Promise<Result<null, ApiError>> {
  const { records, memory, requests } = context;
  const known = records.get("node");
  if (!known) throw new Error("a registered Node that is not known");
  const client = context.client(deadlineMs);
  const nowMs = context.nowMs();
  const { state, period, isDue } = dueStatus(context, nowMs);
  const isSound = wasFresh && !known.readAgain;
  // What others have changed is known where the Node is watched; else a periodic write looks for it first.
  const isKnownEnough = isSound && (!isDue || (await context.isWatched()));
  let last: DecisionBasis | StatusDecision = firstBasis(context, known.node, lastContactMs);
  const decide = (original: Node): NodeUpdate => {
    const decision = decideStatus(context, original, last);
    recordDecision(context, decision);
    last = decision;
    return decision.update;
  };

  const unasked = withoutAsking(context, isKnownEnough, nowMs);
  if (unasked) {
    decide(known.node);
    return unasked;
  }
  const written = await updateNodeStatus(
    {
      readNode: async (attempt) => {
        if (attempt === 0 && isKnownEnough) return success(known.node);
        // For a periodic write, the cache shows early enough what others changed. A Node in doubt is not read from the
        // cache.
        const read = await readOwnNode(context, client, attempt === 0 && isSound);
        // The report is decided about, and recorded in history, even where the apiserver cannot be reached.
        if (attempt === 0 && !read.ok && !context.lost) decide(known.node);
        return read;
      },
      updateNode: decide,
      patchNodeStatus: async (original, patch) => {
        const version = isContestable(patch) ? versionOf(context, original) : undefined;
        if ("update" in last) rememberSent(records, last);
        const patched = await client.patchNodeStatus(original, ofVersion(patch, version));
        if (patched.ok && "held" in last) recordWritten(context, last.held, patched.value);
        return patched;
      },
      ...period,
      mayWrite: (original, node) => mayWrite(context, original, node),
      random: context.random,
      tries: memory.leaseBackOff || memory.statusBackOff ? 1 : requests.tries(),
      // Nothing here mounts volumes, and so nobody waits for that.
      markVolumesAsReportedInUse: () => undefined,
      onRepeatedHeartbeatFailure: () => repeatedHeartbeatFailure(context, "status"),
    },
    state,
  );
  memory.status = state;
  memory.statusBackOff = nextBackOff(context, written.ok ? null : written.error);
  if (!written.ok) return failed(context, last.original, written.error);
  remember(context, known.node, written.value, state);
  return success(null);
}

function nextBackOff({ memory, facts, nowMs, random }: TickContext, error: ApiError | null) {
  return backOffAfter(memory.statusBackOff, error, reportIntervalMs(facts.settings), nowMs(), random);
}

/** Is it time to write the whole status, whether or not it has changed? */
export function isStatusDue(context: TickContext): boolean {
  return dueStatus(context, context.nowMs()).isDue;
}

/** In how many milliseconds; 0: now. */
export function dueInMs(context: Pick<TickContext, "records" | "memory" | "facts">, nowMs: number): number {
  const { state, period, isDue } = dueStatus(context, nowMs);
  const { lastStatusReportTimeMs, delayAfterNodeStatusChangeMs } = state;
  if (isDue || lastStatusReportTimeMs === null) return 0;
  return lastStatusReportTimeMs + period.nodeStatusReportFrequencyMs + delayAfterNodeStatusChangeMs - nowMs;
}

function dueStatus(
  { records, memory, facts }: Pick<TickContext, "records" | "memory" | "facts">,
  nowMs: number,
) {
  const never = { lastStatusReportTimeMs: null, delayAfterNodeStatusChangeMs: 0 };
  const state = heartbeatState(memory.status ?? records.get("node") ?? never, nowMs);
  const { nodeStatusReportFrequencyMs } = facts.settings;
  const period = { now: () => nowMs, nodeStatusReportFrequencyMs };
  return { state, period, isDue: isUpdateStatusPeriodExpired(period, state) };
}

/** The outcome where the apiserver is not to be asked now; undefined: ask it. */
function withoutAsking(
  context: TickContext,
  isKnownEnough: boolean,
  nowMs: number,
): Result<null, ApiError> | undefined {
  const error = errorMeanwhile(context.memory.statusBackOff, nowMs);
  if (error) return failure(error);
  if (isKnownEnough || context.requests.allows("node", STATUS_REQUESTS)) return undefined;
  withhold(context, ASKS_TOO_OFTEN);
  return success(null);
}

/** The version of a Node as it was last read or written; the stored one is not renewed with each heartbeat. */
function versionOf({ memory, records }: TickContext, original: Node): string | undefined {
  const isKnown = original === records.get("node")?.node;
  return (isKnown ? memory.nodeVersion : undefined) ?? original.metadata?.resourceVersion;
}

/**
 * Spends what the write costs, whether or not it succeeds: etcd may have it without an answer. What has to wait is recorded
 * once, and comes with a later write.
 */
function mayWrite(context: TickContext, original: Node, node: Node): boolean {
  const { memory, requests } = context;
  const bytes = sizeOf(node);
  if (bytes > MAX_NODE_BYTES) return withhold(context, TOO_LARGE);
  if (!requests.allows("node")) return withhold(context, ASKS_TOO_OFTEN);
  const left = spendWrite(memory.budget, { bytes, urgent: isUrgent(original, node) }, context.nowMs());
  if (!left) return withhold(context, CHANGES_TOO_OFTEN);
  memory.budget = left;
  return true;
}

const TOO_LARGE = `its Node would be larger than ${MAX_NODE_BYTES} bytes: it is not written`;
const ASKS_TOO_OFTEN = "its requests to the apiserver are used up: what changed is written later";
const CHANGES_TOO_OFTEN = "its Node changes too often: what changed is written later";

function withhold({ memory, journal, nowMs }: TickContext, why: string): false {
  if (memory.withheld === undefined) journal.note("apiserver", why, nowMs());
  memory.withheld = why;
  return false;
}

/** Remembers a Node that somebody else has changed, so that it does not cause the same events with every try. */
function failed(context: TickContext, read: Node, error: ApiError): Failure<ApiError> {
  const known = context.records.get("node");
  if (known && read !== known.node) context.records.put("node", { ...known, node: read });
  distrustKnownNode(context.records);
  context.log("status not written", error);
  return failure(error);
}

/** An error of the setters that stays is logged once. */
function remember(
  context: TickContext,
  before: Node,
  { outcome, node, errors }: Heartbeat,
  state: HeartbeatState,
): void {
  const { memory, records } = context;
  if (outcome === "patched") memory.heartbeatMs = lastHeartbeatMs(node);
  if (node !== before) memory.nodeVersion = node.metadata?.resourceVersion;
  if (outcome !== "withheld") delete memory.withheld;
  const setterErrors = errors.join("; ");
  if (setterErrors !== (memory.setterErrors ?? ""))
    context.log(setterErrors === "" ? "setters: well" : `setters: ${setterErrors}`);
  memory.setterErrors = setterErrors;
  // Also where a later try found that a patch without an answer had been applied.
  if (records.get("node")?.readAgain || !isSameButForTimes(node, before))
    records.put("node", { node, ...state, readAgain: false });
}

/**
 * Call it before sending: an object that is evicted before the answer then reads the Node again. Heartbeats alone are
 * not worth a row.
 */
function rememberSent(records: TickContext["records"], { original, update }: StatusDecision): void {
  const known = records.get("node");
  if (!known || !update.changed) return;
  records.put("node", { ...known, node: original, readAgain: true, sent: decidedConditions(update.node) });
}

/** Ignores heartbeats and bookkeeping, which are not worth a row of SQLite. */
function isSameButForTimes(a: Node, b: Node): boolean {
  return a === b || lastingText(a) === lastingText(b);
}

const PASSING = new Set(["lastHeartbeatTime", "resourceVersion", "managedFields"]);

function lastingText(node: Node): string {
  return JSON.stringify(node, (key, value: unknown) => (PASSING.has(key) ? undefined : value));
}

/** A time ahead of the clock, which was set back, does not show when the next write is due. */
function heartbeatState(known: HeartbeatState, nowMs: number): HeartbeatState {
  const { lastStatusReportTimeMs: lastMs, delayAfterNodeStatusChangeMs } = known;
  return {
    lastStatusReportTimeMs: lastMs !== null && lastMs > nowMs ? null : lastMs,
    delayAfterNodeStatusChangeMs,
  };
}

// Which writes of a status may touch what somebody else has set meanwhile: those go to the Node that was decided about, or
// conflict, so that the next try reads what is there and leaves it. The kubelet's own conditions are nobody else's.

const OWN_CONDITIONS = new Set<unknown>(["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]);

/** `patch`: of a Node's status. */
export function isContestable({ metadata, status, spec }: JsonObject): boolean {
  const { labels, annotations } = objectOf(metadata);
  const { capacity, allocatable, addresses, conditions } = objectOf(status);
  if (labels ?? annotations ?? spec ?? capacity ?? allocatable ?? addresses) return true;
  return (
    Array.isArray(conditions) &&
    conditions.some((condition) => !OWN_CONDITIONS.has(objectOf(condition)["type"]))
  );
}

/** The patch with a precondition: the Node's version. Without one, as a kubelet's. */
export function ofVersion(patch: JsonObject, resourceVersion: string | undefined): JsonObject {
  if (resourceVersion === undefined) return patch;
  return { ...patch, metadata: { ...objectOf(patch["metadata"]), resourceVersion } };
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
