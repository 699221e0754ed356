// Renews a Node's lease when a fresh report comes: by one PUT while the object is warm, with a GET first after an
// eviction.
import { type ApiError, type ApiResult, isConflict, isNotFound } from "../../shared/kubernetes/api-error.ts";
import type { LeaseClient } from "../../shared/kubernetes/client.ts";
import { parseMicroTime } from "../../shared/kubernetes/micro-time.ts";
import type { Lease } from "../../shared/kubernetes/types.ts";
import type { HeartbeatState } from "../../shared/node/heartbeat.ts";
import { type LeaseSteps, nextRenewTime, NODE_LEASE_NAMESPACE, syncLease } from "../../shared/node/lease.ts";
import { OWNER_ANNOTATION } from "../../shared/node/ownership.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import { success } from "../../shared/result.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import {
  backOffAfter,
  budgetText,
  emptyBudget,
  errorMeanwhile,
  isFull,
  parseBudget,
  repeatedHeartbeatFailure,
  type StatusBudget,
} from "./budgets.ts";
import type { TickContext, TickMemory } from "./context.ts";
import { distrustKnownNode, noteLapse, readLease, readOwnNode, registeredUid } from "./own-node.ts";
import { awaySinceMs } from "./phase.ts";

export interface Renewal {
  renewed: boolean;
  /** The last failure on the way; overcome when `renewed`. */
  error: ApiError | null;
  /**
   * Was the renewal before this one within a lease duration? If not, the node controller may have set conditions since.
   */
  wasFresh: boolean;
  /** When that renewal was, and so the report before this one; now, where it was not fresh. */
  lastContactMs: number;
}

/** A PUT that conflicts is tried once more after a GET. */
const MAX_UPDATES = 2;
/** A renewTime that is further ahead than this proves nothing about when it was written. */
const CLOCK_TOLERANCE_MS = 2000;

/** Reads the last renewal, decides whether the known Node can still be relied on, and writes the next renewal. */
export async function renewLease(context: TickContext, deadlineMs: number): Promise<Renewal> {
  const { memory, facts, nowMs, records, requests, created } = context;
  const uid = registeredUid(records);
  const kube = context.client(deadlineMs);
  const client = leaseClient(context, kube, uid);

  const inMemory = memory.lease && isOwnedBy(memory.lease, uid) ? memory.lease : null;
  const isKnown = inMemory !== null || created !== undefined;
  const notNow = errorMeanwhile(memory.leaseBackOff, nowMs());
  if (notNow || !requests.allows("lease", isKnown ? 1 : 2))
    return notRenewed(context, inMemory, notNow ?? null);
  const found = isKnown ? null : await client.getLease(NODE_LEASE_NAMESPACE, context.name);
  const last = lastRenewal(memory, inMemory ?? (found?.ok ? found.value : null));

  const durationMs = facts.settings.nodeLeaseDurationSeconds * 1000;
  // Nobody can have set conditions of a new Node.
  const isFresh = () => created !== undefined || isWithin(last.renewedAtMs, durationMs, nowMs());
  const isRead = found === null || found.ok || isNotFound(found.error);
  if (last.status) memory.status = last.status;
  memory.budget ??= budgetOf(inMemory, found, nowMs());
  if (isRead && !isFresh() && isStatusWritten(context)) {
    if (hasLapsed(context, last.renewedAtMs, durationMs)) noteLapse(records);
    else distrustKnownNode(records);
  }

  const synced = await syncLease(leaseSteps(context, withFirstAnswer(client, found), kube), inMemory);
  memory.lease = synced.latest;
  if (synced.renewed) memory.renewedAtMs = nowMs();
  memory.leaseBackOff = backOffAfter(
    memory.leaseBackOff,
    synced.renewed ? null : synced.error,
    reportIntervalMs(facts.settings),
    nowMs(),
    context.random,
  );
  if (synced.error && !synced.renewed) context.log("lease not renewed", synced.error);
  const contact = contactBefore(last.renewedAtMs, isFresh(), nowMs());
  return { renewed: synced.renewed, error: synced.error, ...contact };
}

/**
 * Is it known that there was no renewal for the lease's duration? Where the lease is gone, an object that was evicted knows
 * it by the apiserver that was away, or from the machine: a shim that restarts has its Node registered as well.
 */
function hasLapsed(
  { records, report, nowMs }: TickContext,
  renewedAtMs: number | undefined,
  durationMs: number,
): boolean {
  const awayMs = nowMs() - (awaySinceMs(records) ?? nowMs());
  return renewedAtMs !== undefined || Math.max(awayMs, 1000 * (report.noAnswerSeconds ?? 0)) > durationMs;
}

function contactBefore(
  renewedAtMs: number | undefined,
  wasFresh: boolean,
  nowMs: number,
): Pick<Renewal, "wasFresh" | "lastContactMs"> {
  return { wasFresh, lastContactMs: wasFresh && renewedAtMs !== undefined ? renewedAtMs : nowMs };
}

/** Between reports: how far the known Node can be relied on by the last renewal, as far as it is in memory. */
export function lastRenewalStanding({
  memory,
  facts,
  nowMs,
}: TickContext): Pick<Renewal, "wasFresh" | "lastContactMs"> {
  const durationMs = facts.settings.nodeLeaseDurationSeconds * 1000;
  return contactBefore(memory.renewedAtMs, isWithin(memory.renewedAtMs, durationMs, nowMs()), nowMs());
}

/** The apiserver is not asked: it failed just now, or the machine reports more often than a lease has to be renewed. */
function notRenewed(
  { memory, facts, nowMs }: TickContext,
  inMemory: Lease | null,
  error: ApiError | null,
): Renewal {
  // An evicted object does not know what the machine may still have written.
  if (inMemory === null) memory.budget ??= emptyBudget(nowMs());
  const { renewedAtMs } = lastRenewal(memory, inMemory);
  const wasFresh = isWithin(renewedAtMs, facts.settings.nodeLeaseDurationSeconds * 1000, nowMs());
  return { renewed: false, error, ...contactBefore(renewedAtMs, wasFresh, nowMs()) };
}

/** From memory or, after an eviction, from the lease. */
function lastRenewal(
  { renewedAtMs, status }: TickMemory,
  base: Lease | null,
): { renewedAtMs: number | undefined; status: HeartbeatState | undefined } {
  return { renewedAtMs: renewedAtMs ?? renewedAtOf(base), status: status ?? statusReportOf(base) };
}

function isWithin(renewedAtMs: number | undefined, durationMs: number, nowMs: number): boolean {
  if (renewedAtMs === undefined) return false;
  const elapsedMs = nowMs - renewedAtMs;
  return elapsedMs <= durationMs && elapsedMs >= -CLOCK_TOLERANCE_MS;
}

/** A Node whose status was never written is read anyway. */
function isStatusWritten({ memory, records }: TickContext): boolean {
  return (memory.status ?? records.get("node"))?.lastStatusReportTimeMs !== null;
}

function leaseSteps(context: TickContext, client: LeaseClient, kube: KubeClient): LeaseSteps {
  const { name, deployment, facts, created, nowMs } = context;
  return {
    client,
    options: {
      leaseName: name,
      leaseNamespace: NODE_LEASE_NAMESPACE,
      holderIdentity: name,
      annotations: { [OWNER_ANNOTATION]: deployment },
      leaseDurationSeconds: facts.settings.nodeLeaseDurationSeconds,
    },
    renewTime: (base) => nextRenewTime(nowMs() * 1000, base),
    readOwner: async () => (created ? success(created) : readOwnNode(context, kube)),
    isNew: created !== undefined,
    maxUpdates: context.memory.leaseBackOff ? 1 : MAX_UPDATES,
    // The next report tries again; nothing waits here.
    backOff: () => Promise.resolve(false),
    onRepeatedHeartbeatFailure: () => repeatedHeartbeatFailure(context, "lease"),
  };
}

/** A client whose first GET returns `first`, the answer to a GET that was made already. */
function withFirstAnswer(client: LeaseClient, first: ApiResult<Lease> | null): LeaseClient {
  let answer = first;
  return {
    ...client,
    getLease: (namespace, name) => {
      const found = answer;
      answer = null;
      return found ? Promise.resolve(found) : client.getLease(namespace, name);
    },
  };
}

/** When it was renewed, as it says, in milliseconds since 1970; undefined: it does not. */
export function renewedAtOf(base: Lease | null): number | undefined {
  const time = base?.spec?.renewTime;
  return time === undefined ? undefined : parseMicroTime(time) / 1000;
}

/**
 * A lease belongs to the Node that was registered. One that belongs to another Node of this name counts as without an
 * owner: syncLease then reads the Node first, and writes the lease only where that is ours.
 */
function leaseClient(context: TickContext, client: KubeClient, uid: string | undefined): LeaseClient {
  return {
    ...client,
    createLease: (lease) => client.createLease(withWhatRides(lease, context)),
    getLease: async () => {
      const found = await readLease(context, client);
      if (!found.ok || isOwnedBy(found.value, uid)) return found;
      const { ownerReferences: _, ...metadata } = found.value.metadata ?? {};
      return success({ ...found.value, metadata });
    },
    // A PUT without a resourceVersion would write over whatever is there.
    updateLease: (lease) => {
      const written = withWhatRides(lease, context);
      return lease.metadata?.resourceVersion ? client.updateLease(written) : client.createLease(written);
    },
  };
}

/** The lease of this Node as somebody else may write it next, but for its renewTime; null: it would have to be read first. */
export function lentLease(
  context: Pick<TickContext, "memory" | "nowMs" | "records" | "facts">,
): Lease | null {
  const { memory, facts, records } = context;
  const { lease } = memory;
  if (!lease?.metadata?.resourceVersion || !isOwnedBy(lease, registeredUid(records))) return null;
  const { nodeLeaseDurationSeconds: leaseDurationSeconds } = facts.settings;
  return withWhatRides({ ...lease, spec: { ...lease.spec, leaseDurationSeconds } }, context);
}

/** `milliseconds since 1970 + shift`: when the Node's status was written last. A renewal stores it at no extra cost. */
const STATUS_REPORT_ANNOTATION = "rollcall.dev/status-report";

/** What the machine may still have written, see status-budget.ts. */
const BUDGET_ANNOTATION = "rollcall.dev/status-budget";

/** With what an eviction would lose. A budget that is full again need not be there. */
function withWhatRides(
  lease: Lease,
  { memory: { status, budget }, nowMs }: Pick<TickContext, "memory" | "nowMs">,
): Lease {
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
    ...(budget && !isFull(budget, nowMs()) && { [BUDGET_ANNOTATION]: budgetText(budget) }),
  };
  return { ...lease, metadata: { ...lease.metadata, annotations } };
}

/** After an eviction: one that is not there says nothing, one that cannot be read counts as one with nothing left. */
function budgetOf(
  inMemory: Lease | null,
  found: ApiResult<Lease> | null,
  nowMs: number,
): StatusBudget | undefined {
  if (found && !found.ok) return isNotFound(found.error) ? undefined : emptyBudget(nowMs);
  return budgetInLease(inMemory ?? found?.value, nowMs);
}

/** What the machine could still have written when the lease was; undefined: full. */
export function budgetInLease(lease: Lease | null | undefined, nowMs: number): StatusBudget | undefined {
  return parseBudget(lease?.metadata?.annotations?.[BUDGET_ANNOTATION], nowMs);
}

/** undefined where the annotation is absent or invalid. */
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

// Writes a Node's lease without renewing it, so that whoever has its last version cannot write it any more.

/** A PUT that changes nothing leaves the version as it is. */
const TOUCHED_ANNOTATION = "rollcall.dev/recalled";
/** Who is to be kept from it may write it between our GET and our PUT, and not more often than every few seconds. */
const TRIES = 4;

/** `uid`: of the Node; the lease of another one is left alone. False: somebody may still be able to write it. */
export async function touchLease(
  client: Pick<KubeClient, "getLease" | "updateLease">,
  name: string,
  uid: string | undefined,
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
  // Nobody creates one under an order.
  if (!found.ok) return isNotFound(found.error) ? "touched" : "failed";
  const { metadata } = found.value;
  const isOurs = (metadata?.ownerReferences ?? []).some((owner) => owner.uid === uid);
  if (!isOurs || !metadata?.resourceVersion) return "touched";
  const annotations = { ...metadata.annotations, [TOUCHED_ANNOTATION]: new Date(nowMs).toISOString() };
  const written = await client.updateLease({ ...found.value, metadata: { ...metadata, annotations } });
  if (written.ok) return "touched";
  return isConflict(written.error) ? "conflict" : "failed";
}
