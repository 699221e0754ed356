// Renews a Node's lease with a fresh report: by a PUT of the lease in memory; after an eviction by GET and PUT.
import { type ApiError, type ApiResult, isConflict, isNotFound } from "../../shared/kubernetes/api-error.ts";
import type { LeaseClient } from "../../shared/kubernetes/client.ts";
import { parseMicroTime } from "../../shared/kubernetes/micro-time.ts";
import type { Lease, Node } from "../../shared/kubernetes/types.ts";
import type { HeartbeatState } from "../../shared/node/heartbeat.ts";
import { nextRenewTime, NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import { OWNER_ANNOTATION, UNWATCHED_LABEL } from "../../shared/node/ownership.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { success } from "../../shared/result.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { MachineLog } from "../log.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import {
  backOffAfter,
  budgetText,
  emptyBudget,
  errorMeanwhile,
  isFull,
  parseBudget,
  repeatedHeartbeatFailure,
  type RequestBudget,
  type StatusBudget,
} from "./budgets.ts";
import type { TickMemory } from "./memory.ts";
import { distrustKnownNode, type Loss, noteLapse, OwnReader, registeredUid } from "./own-node.ts";
import { awaySinceMs } from "./phase.ts";
import { type LeaseSteps, syncLease } from "./sync-lease.ts";

export interface RenewingMachine {
  name: string;
  deployment: string;
  facts: Pick<Facts, "settings">;
  report: Pick<Report, "noAnswerSeconds">;
  records: NodeRecordStore;
  requests: Pick<RequestBudget, "allows">;
  client: (withinMs: number) => KubeClient;
  log: MachineLog;
  nowMs: () => number;
  /** Returns a random number below 1. Typically Math.random. */
  random: () => number;
}

type LeaseMemory = Pick<
  TickMemory,
  "lease" | "renewedAtMs" | "leaseBackOff" | "repeatedFailures" | "status" | "budget"
>;

/** The evidence whether the known Node is still current. */
export interface LastContact {
  /** true if the last renewal was within a lease duration; if not, the node controller may have set conditions. */
  wasFresh: boolean;
  /** The time of the last renewal, and so of the previous report; the present time if that renewal is too old. */
  lastContactMs: number;
}

export interface Renewal extends LastContact {
  renewed: boolean;
  /** The last failure, even if the renewal succeeded in the end; null if no request failed. */
  error: ApiError | null;
  /** Present if another writer has the Node or the lease. */
  lost?: Loss;
  /** The fields of the memory that have changed. */
  memory: LeaseMemory;
}

/** The most PUTs in a renewal. After a conflict, the lease is read and written once more. */
const MAX_UPDATES = 2;
/** How far a renewTime may be ahead of this clock. A later renewTime does not show when the lease was written. */
const CLOCK_TOLERANCE_MS = 2000;

/** Reads the last renewal, decides whether the known Node is still current, and writes the next renewal. */
export async function renewLease(
  machine: RenewingMachine,
  before: LeaseMemory,
  deadlineMs: number,
  created?: Node, // the Node, if this tick has created it
): Promise<Renewal> {
  const { facts, nowMs, records, requests, deployment } = machine;
  const uid = registeredUid(records);
  const inMemory = before.lease && isOwnedBy(before.lease, uid) ? before.lease : null;
  const isKnown = inMemory !== null || created !== undefined;
  const notNow = errorMeanwhile(before.leaseBackOff, nowMs());
  if (notNow || !requests.allows("lease", isKnown ? 1 : 2))
    return notRenewed(machine, before, inMemory, notNow ?? null);
  const client = machine.client(deadlineMs);
  const own = new OwnReader(machine, client);
  const found = isKnown ? null : await readLease(own, uid);

  const base = inMemory ?? (found?.ok ? found.value : null);
  const renewedAtMs = before.renewedAtMs ?? renewedAtOf(base);
  const status = before.status ?? statusReportOf(base);
  const budget = before.budget ?? budgetOf(base, found, nowMs());
  const durationMs = facts.settings.nodeLeaseDurationSeconds * 1000;
  // No controller can have set conditions of a Node that this tick has created.
  const isFresh = () => created !== undefined || isWithin(renewedAtMs, durationMs, nowMs());
  const isRead = found === null || found.ok || isNotFound(found.error);
  // A Node whose status was never written is read before the first write in any case.
  const isWritten = (status ?? records.get("node"))?.lastStatusReportTimeMs !== null;
  if (isRead && !isFresh() && isWritten) {
    if (hasLapsed(machine, renewedAtMs, durationMs)) noteLapse(records);
    else distrustKnownNode(records);
  }

  let { repeatedFailures } = before;
  const { latest, renewed, error } = await syncLease(
    {
      ...leaseSteps(machine, created),
      client: {
        getLease: firstAnswer(found, () => readLease(own, uid)),
        ...leaseWriter(client, (lease) => {
          const isListed = isUnwatched(records, durationMs, nowMs());
          return withCarried(lease, { status, budget, listedBy: isListed ? deployment : null }, nowMs());
        }),
      },
      readOwner: async () => (created ? success(created) : own.readNode()),
      maxUpdates: before.leaseBackOff ? 1 : MAX_UPDATES,
      onRepeatedHeartbeatFailure: () => {
        repeatedFailures = repeatedHeartbeatFailure(repeatedFailures, "lease", machine.log);
      },
    },
    inMemory,
  );
  const memory: LeaseMemory = {
    lease: latest,
    ...(renewed && { renewedAtMs: nowMs() }),
    leaseBackOff: backOffAfter(before.leaseBackOff, renewed ? null : error, machine),
    repeatedFailures,
    status,
    budget,
  };
  if (error && !renewed) machine.log("lease not renewed", error);
  const contact = contactOf(renewedAtMs, isFresh(), nowMs());
  return { renewed, error, ...contact, ...(own.lost && { lost: own.lost }), memory };
}

function leaseWriter(client: KubeClient, carried: (lease: Lease) => Lease): Omit<LeaseClient, "getLease"> {
  const createLease = (lease: Lease) => client.createLease(carried(lease));
  // A PUT without a resourceVersion would overwrite any lease.
  const updateLease = (lease: Lease) =>
    lease.metadata?.resourceVersion ? client.updateLease(carried(lease)) : createLease(lease);
  return { createLease, updateLease };
}

function leaseSteps(
  { name, deployment, facts, nowMs }: RenewingMachine,
  created: Node | undefined,
): Pick<LeaseSteps, "options" | "renewTime" | "isNew" | "backOff"> {
  return {
    options: {
      leaseName: name,
      leaseNamespace: NODE_LEASE_NAMESPACE,
      holderIdentity: name,
      annotations: { [OWNER_ANNOTATION]: deployment },
      leaseDurationSeconds: facts.settings.nodeLeaseDurationSeconds,
    },
    renewTime: (base) => nextRenewTime(nowMs() * 1000, base),
    isNew: created !== undefined,
    // The lease is not read and written again here, because the next report tries again.
    backOff: () => Promise.resolve(false),
  };
}

/** Reads the lease. Leaves out an owner that is another Node: syncLease then checks the Node before it writes. */
async function readLease(own: OwnReader, uid: string | undefined): Promise<ApiResult<Lease>> {
  const found = await own.readLease();
  if (!found.ok || isOwnedBy(found.value, uid)) return found;
  const { ownerReferences: _, ...metadata } = found.value.metadata ?? {};
  return success({ ...found.value, metadata });
}

/** Returns a function that first returns the answer of an earlier GET, and in later calls reads the lease. */
function firstAnswer(first: ApiResult<Lease> | null, read: () => Promise<ApiResult<Lease>>) {
  let answer = first;
  return () => {
    const found = answer;
    answer = null;
    return found ? Promise.resolve(found) : read();
  };
}

/**
 * Returns true if the lease certainly was not renewed for its duration. If an evicted object finds no lease, the
 * duration is compared with the apiserver's failure and the machine's time without an answer.
 */
function hasLapsed(
  { records, report, nowMs }: RenewingMachine,
  renewedAtMs: number | undefined,
  durationMs: number,
): boolean {
  const awayMs = nowMs() - (awaySinceMs(records) ?? nowMs());
  return renewedAtMs !== undefined || Math.max(awayMs, 1000 * (report.noAnswerSeconds ?? 0)) > durationMs;
}

function contactOf(renewedAtMs: number | undefined, wasFresh: boolean, nowMs: number): LastContact {
  return { wasFresh, lastContactMs: wasFresh && renewedAtMs !== undefined ? renewedAtMs : nowMs };
}

/** Returns the evidence, between two reports, that the last renewal in memory gives about the known Node. */
export function lastContact(
  renewedAtMs: number | undefined,
  leaseSeconds: number,
  nowMs: number,
): LastContact {
  return contactOf(renewedAtMs, isWithin(renewedAtMs, leaseSeconds * 1000, nowMs), nowMs);
}

/** Returns the result without a renewal: the apiserver fails, or the request budget is used up. */
function notRenewed(
  { facts, nowMs }: RenewingMachine,
  before: LeaseMemory,
  inMemory: Lease | null,
  error: ApiError | null,
): Renewal {
  const renewedAtMs = before.renewedAtMs ?? renewedAtOf(inMemory);
  const contact = lastContact(renewedAtMs, facts.settings.nodeLeaseDurationSeconds, nowMs());
  // After an eviction the rest of the machine's status budget is unknown, so the budget counts as empty.
  const budget = before.budget ?? (inMemory === null ? emptyBudget(nowMs()) : undefined);
  return { renewed: false, error, ...contact, memory: { budget } };
}

function isWithin(renewedAtMs: number | undefined, durationMs: number, nowMs: number): boolean {
  if (renewedAtMs === undefined) return false;
  const elapsedMs = nowMs - renewedAtMs;
  return elapsedMs <= durationMs && elapsedMs >= -CLOCK_TOLERANCE_MS;
}

/** Returns the lease's renewTime in milliseconds since 1970; undefined if the lease has none. */
export function renewedAtOf(lease: Lease | null): number | undefined {
  const time = lease?.spec?.renewTime;
  return time === undefined ? undefined : parseMicroTime(time) / 1000;
}

/** Returns the lease that a gateway may write next, except for its renewTime; null if the lease must be read first. */
export function lentLease({
  memory: { lease, status, budget },
  facts,
  records,
  nowMs,
}: {
  memory: Pick<TickMemory, "lease" | "status" | "budget">;
  facts: Pick<Facts, "settings">;
  records: NodeRecordStore;
  nowMs: () => number;
}): Lease | null {
  if (!lease?.metadata?.resourceVersion || !isOwnedBy(lease, registeredUid(records))) return null;
  const { nodeLeaseDurationSeconds: leaseDurationSeconds } = facts.settings;
  const next = { ...lease, spec: { ...lease.spec, leaseDurationSeconds } };
  return withCarried(next, { status, budget, listedBy: null }, nowMs());
}

/** The annotation with the last status write, as `Unix milliseconds + shift`. A renewal stores it at no extra cost. */
const STATUS_REPORT_ANNOTATION = "rollcall.dev/status-report";
/** The annotation with the text of the status budget. */
const BUDGET_ANNOTATION = "rollcall.dev/status-budget";

/** Returns true if neither a gateway nor an alarm notices the machine's silence when its lease expires. */
export function isUnwatched(records: NodeRecordStore, leaseMs: number, nowMs: number): boolean {
  return !records.get("lent") && (records.get("opening")?.untilMs ?? 0) - nowMs <= leaseMs;
}

interface Carried {
  status: HeartbeatState | undefined;
  budget: StatusBudget | undefined;
  /** The deployment whose cluster object must notice the lease's end; null if a gateway or an alarm does. */
  listedBy: string | null;
}

/**
 * Adds annotations with data that an eviction would lose: the last status write, and the budget unless it is full.
 * Adds or removes UNWATCHED_LABEL.
 */
function withCarried(lease: Lease, { status, budget, listedBy }: Carried, nowMs: number): Lease {
  const at = status?.lastStatusReportTimeMs ?? null;
  const {
    [STATUS_REPORT_ANNOTATION]: before,
    [BUDGET_ANNOTATION]: _budget,
    ...others
  } = lease.metadata?.annotations ?? {};
  const written = at === null ? undefined : `${at} ${status?.delayAfterNodeStatusChangeMs}`;
  const report = status ? written : before;
  const annotations = {
    ...others,
    ...(report !== undefined && { [STATUS_REPORT_ANNOTATION]: report }),
    ...(budget && !isFull(budget, nowMs) && { [BUDGET_ANNOTATION]: budgetText(budget) }),
  };
  const { [UNWATCHED_LABEL]: _listed, ...otherLabels } = lease.metadata?.labels ?? {};
  const labels = { ...otherLabels, ...(listedBy !== null && { [UNWATCHED_LABEL]: listedBy }) };
  return { ...lease, metadata: { ...lease.metadata, annotations, labels } };
}

/** Returns the status budget after an eviction: full if no lease exists, empty if the lease cannot be read. */
function budgetOf(
  base: Lease | null,
  found: ApiResult<Lease> | null,
  nowMs: number,
): StatusBudget | undefined {
  if (found && !found.ok) return isNotFound(found.error) ? undefined : emptyBudget(nowMs);
  return budgetInLease(base, nowMs);
}

/** Returns the status budget as of the lease's last renewal; undefined (full) if the lease has no budget. */
export function budgetInLease(lease: Lease | null | undefined, nowMs: number): StatusBudget | undefined {
  return parseBudget(lease?.metadata?.annotations?.[BUDGET_ANNOTATION], nowMs);
}

/** Returns the time of the last status write from the lease; undefined if the annotation is absent or invalid. */
function statusReportOf(lease: Lease | null): HeartbeatState | undefined {
  const [at, shift, ...rest] = (lease?.metadata?.annotations?.[STATUS_REPORT_ANNOTATION] ?? "")
    .split(" ")
    .map(Number);
  if (!at || shift === undefined || rest.length > 0 || !Number.isFinite(at + shift)) return undefined;
  return { lastStatusReportTimeMs: at, delayAfterNodeStatusChangeMs: shift };
}

function isOwnedBy({ metadata }: Lease, uid: string | undefined): boolean {
  return uid !== undefined && (metadata?.ownerReferences ?? []).some((owner) => owner.uid === uid);
}

/** The annotation that `touchLease` changes, because a PUT without a change would keep the lease's version. */
const TOUCHED_ANNOTATION = "rollcall.dev/recalled";
/** The number of attempts to write the lease. A gateway may write between GET and PUT, but once in several seconds. */
const TRIES = 4;

/**
 * Writes a lease without renewing it, so that a gateway with the lease's former version cannot write the lease any
 * more. Leaves the lease of another Node alone. Returns false if a gateway may still be able to write the lease.
 */
export async function touchLease(
  client: Pick<KubeClient, "getLease" | "updateLease">,
  name: string,
  uid: string | undefined, // the uid of the machine's Node
  nowMs: number,
): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries++) {
    const outcome = await touchOnce(client, name, uid, nowMs);
    if (outcome !== "conflict") return outcome === "touched";
  }
  return false;
}

async function touchOnce(
  client: Pick<KubeClient, "getLease" | "updateLease">,
  name: string,
  uid: string | undefined,
  nowMs: number,
): Promise<"touched" | "conflict" | "failed"> {
  const found = await client.getLease(NODE_LEASE_NAMESPACE, name);
  // No gateway can write a lease that does not exist: a gateway does not create leases.
  if (!found.ok) return isNotFound(found.error) ? "touched" : "failed";
  const { metadata } = found.value;
  if (!isOwnedBy(found.value, uid) || !metadata?.resourceVersion) return "touched";
  const annotations = { ...metadata.annotations, [TOUCHED_ANNOTATION]: new Date(nowMs).toISOString() };
  const written = await client.updateLease({ ...found.value, metadata: { ...metadata, annotations } });
  if (written.ok) return "touched";
  return isConflict(written.error) ? "conflict" : "failed";
}
