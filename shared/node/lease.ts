// Renews a machine's lease, or creates it. Decides when to give up; waits only where the caller lets it.
// Mirrors component-helpers/apimachinery/lease, with the kubelet's SetNodeOwnerFunc.
import {
  type ApiResult,
  type ApiError,
  isAlreadyExists,
  isConflict,
  isNotFound,
} from "../kubernetes/api-error.ts";
import type { LeaseClient } from "../kubernetes/client.ts";
import { formatMicroTime, parseMicroTime } from "../kubernetes/micro-time.ts";
import type { Lease, Node } from "../kubernetes/types.ts";
import { success } from "../result.ts";

export const NODE_LEASE_NAMESPACE = "kube-node-lease";
const FIRST_BACK_OFF_MS = 200;
const MAX_BACK_OFF_MS = 7_000;

export interface LeaseOptions {
  leaseName: string;
  leaseNamespace: string;
  /** Written at creation; an existing lease keeps its holder. */
  holderIdentity: string;
  /** Also written at creation: they name the owner. Upstream has none. */
  annotations?: Record<string, string>;
  leaseDurationSeconds: number;
}

export interface LeaseSteps {
  client: LeaseClient;
  options: LeaseOptions;
  /** MicroTime of the renewal that follows `base`; upstream: now. See nextRenewTime. */
  renewTime(base: Lease | null): string;
  /** The Node that shall own the lease; asked while the lease has no owner. Upstream GETs it. */
  readOwner(): Promise<ApiResult<Node>>;
  /** The Node is new, so that no lease is expected: it is created without a GET before. Upstream: false. */
  isNew: boolean;
  /** How many PUTs in a row; upstream (maxUpdateRetries): 5. */
  maxUpdates: number;
  /** Waits before the lease is read again; false: give up for now, which upstream does only at shutdown. */
  backOff(delayMs: number): Promise<boolean>;
  onRepeatedHeartbeatFailure(): void;
}

export interface LeaseSync {
  /** The lease to remember for the next renewal, which then needs no GET; null: GET it first. */
  latest: Lease | null;
  /** Has a write succeeded? */
  renewed: boolean;
  /** The last failure on the way, whether or not it was overcome. */
  error: ApiError | null;
}

/** Upstream controller.newLease: a lease to create (`base` null), or `base` renewed. */
export function newLease(base: Lease | null, options: LeaseOptions, renewTime: string): Lease {
  const { leaseName, leaseNamespace, holderIdentity, annotations, leaseDurationSeconds } = options;
  const { metadata, spec, ...rest } = base ?? {
    metadata: { name: leaseName, namespace: leaseNamespace, ...(annotations && { annotations }) },
    spec: { holderIdentity },
  };
  return { ...rest, metadata: { ...metadata }, spec: { ...spec, leaseDurationSeconds, renewTime } };
}

/** Upstream SetNodeOwnerFunc. */
export function withOwner(lease: Lease, node: Node): Lease {
  const { name = "", uid = "" } = node.metadata ?? {};
  const owner = { apiVersion: "v1", kind: "Node", name, uid };
  return { ...lease, metadata: { ...lease.metadata, ownerReferences: [owner] } };
}

/**
 * The MicroTime of a renewal: now, but always later than the last one, even where that is ahead of our clock.
 * Controllers that watch a lease only look whether it changes.
 */
export function nextRenewTime(nowMicros: number, base: Lease | null): string {
  const last = base?.spec?.renewTime;
  return formatMicroTime(last ? Math.max(nowMicros, parseMicroTime(last) + 1) : nowMicros);
}

/**
 * Upstream controller.sync: PUTs the lease that was written last. Only when that fails it reads or creates the lease,
 * and PUTs again.
 */
export async function syncLease(steps: LeaseSteps, latest: Lease | null): Promise<LeaseSync> {
  const first = latest === null ? null : await retryUpdateLease(steps, latest);
  if (first && (first.renewed || first.gaveUp)) return withoutGaveUp(first);
  const ensured = await backoffEnsureLease(steps);
  const error = ensured.error ?? first?.error ?? null;
  if (ensured.gaveUp) return { latest, renewed: false, error };
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

/** A missing lease that cannot be prepared, for want of an owner, is no failure: the next sync tries again. */
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
  return { latest, renewed: false, error, gaveUp: false };
}

/** A lease without an owner is not written: deleting the Node would leave it behind. */
async function prepareLease(steps: LeaseSteps, base: Lease | null): Promise<ApiResult<Lease>> {
  const lease = newLease(base, steps.options, steps.renewTime(base));
  if ((lease.metadata?.ownerReferences ?? []).length > 0) return success(lease);
  const owner = await steps.readOwner();
  return owner.ok ? success(withOwner(lease, owner.value)) : owner;
}
