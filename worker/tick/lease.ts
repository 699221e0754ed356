// Renewal of a Node's lease by a fresh report: one PUT while the object is warm, a GET before it after an eviction.
import type { HeartbeatState } from "../../shared/node/heartbeat.ts";
import type { ApiError } from "../../shared/kubernetes/api-error.ts";
import type { LeaseClient } from "../../shared/kubernetes/client.ts";
import { parseMicroTime } from "../../shared/kubernetes/micro-time.ts";
import type { Lease } from "../../shared/kubernetes/types.ts";
import { nextRenewTime, NODE_LEASE_NAMESPACE, syncLease } from "../../shared/node/lease.ts";
import { OWNER_ANNOTATION } from "../../shared/from-report/reported-node.ts";
import { readLease } from "./claim.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { distrustKnownNode, readOwnNode, registeredUid } from "./own-node.ts";
import type { TickContext } from "./context.ts";
import { success } from "../../shared/result.ts";

export interface Renewal {
  renewed: boolean;
  /** The last failure on the way; overcome when `renewed`. */
  error: ApiError | null;
  /** Was the renewal before this one within a lease duration? If not, the node controller may have spoken meanwhile. */
  wasFresh: boolean;
  /** When that renewal was, and so the report before this one; now, where it was not fresh. */
  heardMs: number;
}

/** A PUT that conflicts is tried once more after a GET. */
const MAX_UPDATES = 2;
/** A renewTime that is further ahead than this proves nothing about when it was written. */
const CLOCK_TOLERANCE_MS = 2000;

export async function renewLease(context: TickContext, deadlineMs: number): Promise<Renewal> {
  const { memory, name, facts, nowMs, records, created } = context;
  const client = context.client(deadlineMs);
  const durationMs = facts.settings.nodeLeaseDurationSeconds * 1000;
  const uid = registeredUid(records);
  let lastRenewalMs = memory.renewedAtMs;
  const wasFresh = () => {
    // Nobody can have spoken of a Node that is new.
    if (created) return true;
    const elapsedMs = lastRenewalMs === undefined ? Number.POSITIVE_INFINITY : nowMs() - lastRenewalMs;
    return elapsedMs <= durationMs && elapsedMs >= -CLOCK_TOLERANCE_MS;
  };
  const isStatusWritten = () => (memory.status ?? records.get("node"))?.lastStatusReportTimeMs !== null;
  const renewTime = (base: Lease | null) => {
    lastRenewalMs ??= renewedAtMs(base);
    memory.status ??= statusReportOf(base);
    // One whose status was never written is read anyway.
    if (!wasFresh() && isStatusWritten()) distrustKnownNode(records);
    return nextRenewTime(nowMs() * 1000, base);
  };
  const synced = await syncLease(
    {
      client: leaseClient(context, client, uid),
      options: {
        leaseName: name,
        leaseNamespace: NODE_LEASE_NAMESPACE,
        holderIdentity: name,
        annotations: { [OWNER_ANNOTATION]: context.deployment },
        leaseDurationSeconds: facts.settings.nodeLeaseDurationSeconds,
      },
      renewTime,
      readOwner: async () => (created ? success(created) : readOwnNode(context, client)),
      isNew: created !== undefined,
      maxUpdates: MAX_UPDATES,
      // The next report tries again; nothing waits here.
      backOff: () => Promise.resolve(false),
      onRepeatedHeartbeatFailure: () => context.log("lease: a second update in a row has failed"),
    },
    memory.lease && isOwnedBy(memory.lease, uid) ? memory.lease : null,
  );
  const fresh = wasFresh();
  const heardMs = fresh && lastRenewalMs !== undefined ? lastRenewalMs : nowMs();
  memory.lease = synced.latest;
  if (synced.renewed) memory.renewedAtMs = nowMs();
  else if (synced.error) context.log("lease not renewed", synced.error);
  return { renewed: synced.renewed, error: synced.error, wasFresh: fresh, heardMs };
}

function renewedAtMs(base: Lease | null): number | undefined {
  const time = base?.spec?.renewTime;
  return time === undefined ? undefined : parseMicroTime(time) / 1000;
}

/**
 * A lease belongs to the Node that was registered. One that belongs to another Node of this name counts as without
 * an owner: before it is written the Node is looked at, and is ours, or nothing is written.
 */
function leaseClient(context: TickContext, client: KubeClient, uid: string | undefined): LeaseClient {
  const status = () => context.memory.status;
  return {
    ...client,
    createLease: (lease) => client.createLease(withStatusReport(lease, status())),
    getLease: async () => {
      const found = await readLease(context, client);
      if (!found.ok || isOwnedBy(found.value, uid)) return found;
      const { ownerReferences: _, ...metadata } = found.value.metadata ?? {};
      return success({ ...found.value, metadata });
    },
    // A PUT without a resourceVersion would write over whatever is there.
    updateLease: (lease) => {
      const written = withStatusReport(lease, status());
      return lease.metadata?.resourceVersion ? client.updateLease(written) : client.createLease(written);
    },
  };
}

/** `milliseconds since 1970 + shift`: when the Node's status was written last. A renewal carries it for nothing. */
const STATUS_REPORT_ANNOTATION = "rollcall.dev/status-report";

function withStatusReport(lease: Lease, status: HeartbeatState | undefined): Lease {
  if (!status) return lease;
  const { lastStatusReportTimeMs: at, delayAfterNodeStatusChangeMs: shift } = status;
  const { [STATUS_REPORT_ANNOTATION]: _before, ...others } = lease.metadata?.annotations ?? {};
  const annotations = at === null ? others : { ...others, [STATUS_REPORT_ANNOTATION]: `${at} ${shift}` };
  return { ...lease, metadata: { ...lease.metadata, annotations } };
}

/** undefined where the lease does not say, or says nonsense. */
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
