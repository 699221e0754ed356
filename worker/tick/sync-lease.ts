// Renews or creates a lease, waiting only if its caller allows it. Mirrors component-helpers/apimachinery/lease `sync`.
import {
  type ApiError,
  type ApiResult,
  isAlreadyExists,
  isConflict,
  isNotFound,
} from "../../shared/kubernetes/api-error.ts";
import type { LeaseClient } from "../../shared/kubernetes/client.ts";
import type { Lease, Node } from "../../shared/kubernetes/types.ts";
import { type LeaseOptions, newLease, withOwner } from "../../shared/node/lease.ts";
import { success } from "../../shared/result.ts";

const FIRST_BACK_OFF_MS = 200;
const MAX_BACK_OFF_MS = 7_000;

export interface LeaseSteps {
  client: LeaseClient;
  options: LeaseOptions;
  /** Returns the next renewTime. Typically nextRenewTime of `base`; upstream: now. */
  renewTime(base: Lease | null): string;
  /** Returns the Node that owns the lease. Called while the lease has no owner; upstream reads the Node by a GET. */
  readOwner(): Promise<ApiResult<Node>>;
  /** true for a new Node, whose lease is created without a GET. Upstream: false. */
  isNew: boolean;
  /** The largest number of PUTs in a row. Upstream (maxUpdateRetries): 5. */
  maxUpdates: number;
  /** Waits before the lease is read again; returns false to give up until the next sync, as upstream at shutdown. */
  backOff(delayMs: number): Promise<boolean>;
  onRepeatedHeartbeatFailure(): void;
}

interface LeaseSync {
  /** The lease for the next renewal, which then needs no GET; null if the lease must be read. */
  latest: Lease | null;
  renewed: boolean;
  /** The last failure, even if the sync succeeded in the end; null if there was none. */
  error: ApiError | null;
}

/** Mirrors upstream's controller.sync: PUTs the last written lease, or else reads or creates the lease and PUTs it. */
export async function syncLease(steps: LeaseSteps, latest: Lease | null): Promise<LeaseSync> {
  const first = latest === null ? null : await retryUpdateLease(steps, latest);
  if (first && (first.renewed || first.gaveUp)) return withoutGaveUp(first);
  const ensured = await backoffEnsureLease(steps);
  const error = ensured.error ?? first?.error ?? null;
  if (ensured.gaveUp) return { latest: first ? first.latest : latest, renewed: false, error };
  if (ensured.lease === null || ensured.created) {
    return { latest: ensured.lease, renewed: ensured.created, error };
  }
  const second = await retryUpdateLease(steps, ensured.lease);
  return withoutGaveUp({ ...second, error: second.error ?? error });
}

interface UpdatedLease extends LeaseSync {
  gaveUp: boolean;
}

function withoutGaveUp({ latest, renewed, error }: UpdatedLease): LeaseSync {
  return { latest, renewed, error };
}

interface EnsuredLease {
  lease: Lease | null;
  created: boolean;
  error: ApiError | null;
  gaveUp: boolean;
}

async function backoffEnsureLease(steps: LeaseSteps): Promise<EnsuredLease> {
  let error: ApiError | null = null;
  for (let delayMs = FIRST_BACK_OFF_MS; ; delayMs = Math.min(delayMs * 2, MAX_BACK_OFF_MS)) {
    const ensured = await ensureLease(steps);
    if (ensured.ok) return { ...ensured.value, error: ensured.value.error ?? error, gaveUp: false };
    error = ensured.error;
    if (!(await steps.backOff(delayMs))) return { lease: null, created: false, error, gaveUp: true };
  }
}

/** Returns the lease, created if missing. A missing lease with an unreadable owner waits for the next sync. */
async function ensureLease(steps: LeaseSteps): Promise<ApiResult<Omit<EnsuredLease, "gaveUp">>> {
  const { leaseName, leaseNamespace } = steps.options;
  if (steps.isNew) {
    const created = await createLease(steps);
    if (created.ok || !isAlreadyExists(created.error)) return created;
  }
  const found = await steps.client.getLease(leaseNamespace, leaseName);
  if (found.ok) return success({ lease: found.value, created: false, error: null });
  return isNotFound(found.error) ? createLease(steps) : found;
}

async function createLease(steps: LeaseSteps): ReturnType<typeof ensureLease> {
  const prepared = await prepareLease(steps, null);
  if (!prepared.ok) return success({ lease: null, created: false, error: prepared.error });
  const creation = await steps.client.createLease(prepared.value);
  return creation.ok ? success({ lease: creation.value, created: true, error: null }) : creation;
}

async function retryUpdateLease(steps: LeaseSteps, latest: Lease): Promise<UpdatedLease> {
  let base: Lease | null = latest;
  let error: ApiError | null = null;
  for (let attempt = 0; attempt < steps.maxUpdates; attempt++) {
    const prepared = await prepareLease(steps, base);
    const updated = prepared.ok ? await steps.client.updateLease(prepared.value) : prepared;
    if (updated.ok) return { latest: updated.value, renewed: true, error, gaveUp: false };
    error = updated.error;
    if (prepared.ok && isConflict(error)) {
      const ensured = await backoffEnsureLease(steps);
      if (ensured.gaveUp) return { latest, renewed: false, error: ensured.error, gaveUp: true };
      base = ensured.lease;
    } else if (attempt > 0) steps.onRepeatedHeartbeatFailure();
  }
  // The next sync needs the lease that was read after a conflict: it would else meet the same conflict again.
  return { latest: base, renewed: false, error, gaveUp: false };
}

/** Returns the lease to write. Fails if the lease has no owner, since such a lease would outlive its Node. */
async function prepareLease(steps: LeaseSteps, base: Lease | null): Promise<ApiResult<Lease>> {
  const lease = newLease(base, steps.options, steps.renewTime(base));
  if ((lease.metadata?.ownerReferences ?? []).length > 0) return success(lease);
  const owner = await steps.readOwner();
  return owner.ok ? success(withOwner(lease, owner.value)) : owner;
}
