// Writes a Node's status if it changed or a periodic write is due. Mirrors the kubelet's updateNodeStatus.
import type { ApiError, ApiResult } from "../../shared/kubernetes/api-error.ts";
import { isJsonObject, type Json, type JsonObject } from "../../shared/kubernetes/json.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { decidedConditions } from "../../shared/node/decided.ts";
import {
  type Heartbeat,
  type HeartbeatState,
  isUpdateStatusPeriodExpired,
  updateNodeStatus,
} from "../../shared/node/heartbeat.ts";
import { ownParts } from "../../shared/node/parts.ts";
import type { NodeUpdate } from "../../shared/node/update-node.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import { success } from "../../shared/result.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { MachineLog } from "../log.ts";
import type { Stored } from "../storage/journal.ts";
import type { NodeRecords, NodeRecordStore } from "../storage/records.ts";
import {
  backOffAfter,
  errorMeanwhile,
  isUrgent,
  MAX_NODE_BYTES,
  repeatedHeartbeatFailure,
  type RequestBudget,
  sizeOf,
  spendWrite,
  STATUS_BUDGET,
  STATUS_REQUESTS,
} from "./budgets.ts";
import {
  type DecidingMachine,
  type DecisionBasis,
  decideStatus,
  firstBasis,
  lastHeartbeatMs,
  recordDecision,
  type StatusDecision,
} from "./decide-status.ts";
import type { LastContact } from "./lease.ts";
import type { TickMemory } from "./memory.ts";
import { type TurningMachine, waitForTurn } from "./node-turn.ts";
import { distrustKnownNode, type Loss, OwnReader } from "./own-node.ts";
import { recordWritten } from "./parts.ts";

export interface WritingMachine extends DecidingMachine, Stored, TurningMachine {
  requests: Pick<RequestBudget, "allows" | "tries">;
  /** Returns true if the cluster object reports each change of the Node by another writer. Never rejects. */
  isWatched: () => Promise<boolean>;
  /** Returns the cluster's minor version; undefined if it is not known. */
  clusterMinor: () => number | undefined;
  client: (withinMs: number) => KubeClient;
  log: MachineLog;
}

type StatusMemory = Omit<TickMemory, "lease" | "renewedAtMs" | "registrationDelayMs" | "lookedAtMs">;

export interface StatusWrite {
  /** The apiserver's error; null if the status is written, unchanged, or must wait. */
  error: ApiError | null;
  isWritten: boolean;
  /** Present if another writer has the Node. */
  lost?: Loss;
  memory: StatusMemory;
}

export function writeStatus(
  machine: WritingMachine,
  before: StatusMemory,
  contact: LastContact,
  deadlineMs: number,
): Promise<StatusWrite> {
  const known = machine.records.get("node");
  if (!known) return Promise.reject(new Error("a registered Node that is not known"));
  return new OneWrite(machine, before, known, contact, deadlineMs).run();
}

/**
 * One write of the status. Starts from a GET of the Node, or from the last known Node if all of these hold: the
 * lease was renewed without a gap (else the node controller may have set conditions), no periodic write is due or
 * the Node is watched, no write has an unknown outcome, and it is the first attempt.
 */
class OneWrite {
  readonly #machine: WritingMachine;
  readonly #known: NodeRecords["node"];
  readonly #client: KubeClient;
  readonly #own: OwnReader;
  readonly #isSound: boolean;
  #isKnownEnough = false;
  #newMinor: number | undefined;
  #last: DecisionBasis | StatusDecision;
  #memory: StatusMemory;

  constructor(
    machine: WritingMachine,
    memory: StatusMemory,
    known: NodeRecords["node"],
    { wasFresh, lastContactMs }: LastContact,
    deadlineMs: number,
  ) {
    this.#machine = machine;
    this.#memory = { ...memory };
    this.#known = known;
    this.#client = machine.client(deadlineMs);
    this.#own = new OwnReader(machine, this.#client);
    this.#isSound = wasFresh && !known.readAgain;
    this.#last = firstBasis(machine.records, memory.setters, known.node, lastContactMs);
  }

  async run(): Promise<StatusWrite> {
    const { records, requests, facts, log, random, isBetweenReports } = this.#machine;
    const nowMs = this.#machine.nowMs();
    const { state, period, isDue } = dueStatus({ records, memory: this.#memory, facts }, nowMs);
    // A watched Node needs no read before a periodic write, because the known version has other writers' changes. But the
    // watch does not report the removal of a label whose value another writer has kept.
    const isUpToDate = async () => (await this.#machine.isWatched()) && records.get("others") === undefined;
    this.#isKnownEnough = this.#isSound && (!isDue || (await isUpToDate()));
    // A change of the cluster's version waits for the periodic write: all machines learn of it at the same time.
    if (isDue) this.#newMinor = this.#machine.clusterMinor();
    const unasked = this.#withoutAsking(nowMs);
    if (unasked) return unasked;
    const { leaseBackOff, statusBackOff } = this.#memory;
    const written = await updateNodeStatus(
      {
        readNode: (attempt) => this.#readNode(attempt),
        updateNode: (original) => this.#decide(original),
        patchNodeStatus: (original, patch) => this.#patch(original, patch),
        ...period,
        // A write between reports has no heartbeat, so that it neither is nor delays the periodic write.
        ...(isBetweenReports && { now: () => state.lastStatusReportTimeMs ?? nowMs }),
        mayWrite: (original, node) => this.#mayWrite(original, node),
        random,
        tries: leaseBackOff || statusBackOff ? 1 : requests.tries(),
        // The Worker mounts no volumes, so it reports none as in use.
        markVolumesAsReportedInUse: () => undefined,
        onRepeatedHeartbeatFailure: () => {
          const { repeatedFailures } = this.#memory;
          this.#memory.repeatedFailures = repeatedHeartbeatFailure(repeatedFailures, "status", log);
        },
      },
      state,
    );
    const error = written.ok ? null : written.error;
    this.#memory.status = state;
    this.#memory.statusBackOff = backOffAfter(statusBackOff, error, this.#machine);
    if (written.ok) this.#recordHeartbeat(written.value, state);
    else this.#recordFailure(written.error);
    const isWritten = written.ok && written.value.outcome === "patched";
    return { error, isWritten, ...(this.#own.lost && { lost: this.#own.lost }), memory: this.#memory };
  }

  /** Returns the outcome of the write if the apiserver must not be asked now; undefined if a request may be sent. */
  #withoutAsking(nowMs: number): StatusWrite | undefined {
    const error = errorMeanwhile(this.#memory.statusBackOff, nowMs) ?? null;
    const mayAsk = this.#isKnownEnough || this.#machine.requests.allows("node", STATUS_REQUESTS);
    if (!error && mayAsk) return undefined;
    if (!error) this.#withhold(ASKS_TOO_OFTEN);
    this.#decide(this.#known.node);
    return { error, isWritten: false, memory: this.#memory };
  }

  #decide(original: Node): NodeUpdate {
    const machine = { ...this.#machine, newMinor: this.#newMinor };
    const decision = decideStatus(machine, this.#memory, original, this.#last);
    Object.assign(this.#memory, recordDecision(this.#machine, decision));
    this.#last = decision;
    return decision.update;
  }

  async #readNode(attempt: number): Promise<ApiResult<Node>> {
    const isFirst = attempt === 0;
    if (isFirst && this.#isKnownEnough) return success(this.#known.node);
    // For a periodic write, the apiserver's cache is recent enough. A Node in doubt must be read from etcd.
    const read = await this.#own.readNode(isFirst && this.#isSound);
    // If the apiserver does not answer, the status is decided from the known Node, so that history has the report.
    if (isFirst && !read.ok && !this.#own.lost) this.#decide(this.#known.node);
    return read;
  }

  async #patch(original: Node, patch: JsonObject): Promise<ApiResult<Node>> {
    const last = this.#last;
    const version = isContestable(patch) ? this.#versionOf(original) : undefined;
    if ("update" in last) recordSent(this.#machine.records, last);
    const patched = await this.#client.patchNodeStatus(original, ofVersion(patch, version));
    if (patched.ok && "held" in last)
      this.#memory.written = recordWritten(this.#machine, last.held, patched.value);
    return patched;
  }

  /** Returns the Node's last read or written version. The stored version may be older: heartbeats do not store it. */
  #versionOf(original: Node): string | undefined {
    const isKnown = original === this.#machine.records.get("node")?.node;
    return (isKnown ? this.#memory.nodeVersion : undefined) ?? original.metadata?.resourceVersion;
  }

  /** Spends a write's cost, even if the write fails: etcd may have stored it. Returns false if the write must wait. */
  async #mayWrite(original: Node, node: Node): Promise<boolean> {
    const { requests, nowMs } = this.#machine;
    const bytes = sizeOf(node);
    if (bytes > MAX_NODE_BYTES) return this.#withhold(TOO_LARGE);
    if (!requests.allows("node")) return this.#withhold(ASKS_TOO_OFTEN);
    const urgent = isUrgent(original, node);
    const left = spendWrite(this.#memory.budget, { bytes, urgent }, nowMs());
    if (!left) return this.#withhold(CHANGES_TOO_OFTEN);
    const extraBytes = urgent || left.bytes >= STATUS_BUDGET.ownBytes ? 0 : bytes;
    const held = await waitForTurn(this.#machine, node, extraBytes);
    if (held) return this.#withhold(held.message);
    this.#memory.budget = left;
    return true;
  }

  /** Notes that the status is not written now. Adds a line to the history, unless it was withheld before. Returns false. */
  #withhold(why: string): false {
    const { journal, nowMs } = this.#machine;
    if (this.#memory.withheld === undefined) journal.note("apiserver", why, nowMs());
    this.#memory.withheld = why;
    return false;
  }

  /** Logs a failed write. Stores another writer's changed Node, so that the next attempt repeats no event. */
  #recordFailure(error: ApiError): void {
    const { records, log } = this.#machine;
    const known = records.get("node");
    const { original } = this.#last;
    if (known && original !== known.node) records.put("node", { ...known, node: original });
    distrustKnownNode(records);
    log("status not written", error);
  }

  #recordHeartbeat({ outcome, node, errors }: Heartbeat, state: HeartbeatState): void {
    const { records, log, nowMs } = this.#machine;
    if (outcome === "patched") this.#memory.heartbeatMs = lastHeartbeatMs(node);
    if (node !== this.#known.node) this.#memory.nodeVersion = node.metadata?.resourceVersion;
    if (outcome !== "withheld") this.#memory.withheld = undefined;
    const setterErrors = errors.join("; ");
    if (setterErrors !== (this.#memory.setterErrors ?? ""))
      log(setterErrors === "" ? "setters: well" : `setters: ${setterErrors}`);
    this.#memory.setterErrors = setterErrors;
    // The Node also differs if a later attempt showed that the apiserver had applied a patch without an answer.
    const isOld = Math.abs(nowMs() - (this.#known.lastStatusReportTimeMs ?? 0)) >= ANNOTATIONS_EVERY_MS;
    if (records.get("node")?.readAgain || !isSameButForTimes(node, this.#known.node, isOld))
      records.put("node", { node, ...state, readAgain: false });
  }
}

const TOO_LARGE = `its Node would be larger than ${MAX_NODE_BYTES} bytes: it is not written`;
const ASKS_TOO_OFTEN = "its requests to the apiserver are used up: what changed is written later";
const CHANGES_TOO_OFTEN = "its Node changes too often: what changed is written later";

/** The data that shows when the status is due. */
interface DueStatus {
  records: NodeRecordStore;
  memory: Pick<TickMemory, "status">;
  facts: Pick<Facts, "settings">;
}

/** Returns true if the whole status must be written, whether or not it has changed. */
export function isStatusDue(known: DueStatus, nowMs: number): boolean {
  return dueStatus(known, nowMs).isDue;
}

/** Returns the milliseconds until the whole status is due; 0 if the status is due now. */
export function dueInMs(known: DueStatus, nowMs: number): number {
  const { state, period, isDue } = dueStatus(known, nowMs);
  const { lastStatusReportTimeMs, delayAfterNodeStatusChangeMs } = state;
  if (isDue || lastStatusReportTimeMs === null) return 0;
  return lastStatusReportTimeMs + period.nodeStatusReportFrequencyMs + delayAfterNodeStatusChangeMs - nowMs;
}

function dueStatus({ records, memory, facts }: DueStatus, nowMs: number) {
  const never = { lastStatusReportTimeMs: null, delayAfterNodeStatusChangeMs: 0 };
  const { lastStatusReportTimeMs: lastMs, delayAfterNodeStatusChangeMs } =
    memory.status ?? records.get("node") ?? never;
  // A time ahead of the clock, which was put back, does not show when the next write is due.
  const isAhead = lastMs !== null && lastMs > nowMs;
  const state: HeartbeatState = {
    lastStatusReportTimeMs: isAhead ? null : lastMs,
    delayAfterNodeStatusChangeMs,
  };
  const { nodeStatusReportFrequencyMs } = facts.settings;
  const period = { now: () => nowMs, nodeStatusReportFrequencyMs };
  return { state, period, isDue: isUpdateStatusPeriodExpired(period, state) };
}

/** Marks the Node to be read again if the object is evicted before the answer. Call it before a write. */
function recordSent(records: NodeRecordStore, { original, update }: StatusDecision): void {
  const known = records.get("node");
  if (!known || !update.changed) return;
  records.put("node", { ...known, node: original, readAgain: true, sent: decidedConditions(update.node) });
}

/** The least time between two stored Nodes that differ only in other writers' annotations, such as a machine's load. */
const ANNOTATIONS_EVERY_MS = 3_600_000;

/** Returns true if the Nodes differ only in heartbeats and bookkeeping, which are not worth a row of SQLite. */
function isSameButForTimes(a: Node, b: Node, hasAllAnnotations: boolean): boolean {
  return a === b || lastingText(a, hasAllAnnotations) === lastingText(b, hasAllAnnotations);
}

const PASSING = new Set(["lastHeartbeatTime", "resourceVersion", "managedFields"]);

function lastingText(node: Node, hasAllAnnotations: boolean): string {
  const annotations = hasAllAnnotations ? node.metadata?.annotations : ownParts(node, "annotation");
  const lasting = { ...node, metadata: { ...node.metadata, annotations } };
  return JSON.stringify(lasting, (key, value: unknown) => (PASSING.has(key) ? undefined : value));
}

/** The conditions that only the kubelet writes. */
const OWN_CONDITIONS = new Set<unknown>(["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]);

/**
 * Returns true if another writer may have set a part of this status patch since the Node was read. Such a patch has
 * the Node's version as a precondition. After a conflict, the next attempt reads the Node and leaves that part.
 */
export function isContestable({ metadata, status, spec }: JsonObject): boolean {
  const { labels, annotations } = objectOf(metadata);
  const { capacity, allocatable, addresses, conditions } = objectOf(status);
  if (labels ?? annotations ?? spec ?? capacity ?? allocatable ?? addresses) return true;
  return (
    Array.isArray(conditions) &&
    conditions.some((condition) => !OWN_CONDITIONS.has(objectOf(condition)["type"]))
  );
}

/** Returns the patch with the version as a precondition; without a version, the patch has none, like a kubelet's. */
export function ofVersion(patch: JsonObject, resourceVersion: string | undefined): JsonObject {
  if (resourceVersion === undefined) return patch;
  return { ...patch, metadata: { ...objectOf(patch["metadata"]), resourceVersion } };
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
