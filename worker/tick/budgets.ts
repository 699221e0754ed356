// Limits the load that a machine causes in the cluster: requests to the apiserver, bytes of its Node,
// registrations, and new series of events. A thief of a machine's key decides how often it reports, so each of
// these loads has a budget.
import { NUMBER_RANGES } from "../../shared/deployment/numbers.ts";
import { type ApiError, isFailing } from "../../shared/kubernetes/api-error.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { NODE_STATUS_UPDATE_TRIES, readyConditionOf } from "../../shared/node/heartbeat.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { RequestKind } from "../kube/kube-client.ts";
import type { MachineLog } from "../log.ts";
import { RATE_LIMITS, type TokenBucket, tokensAt } from "../storage/token-bucket.ts";
import type { NodeRecords, NodeRecordStore, RequestsLeft } from "../storage/records.ts";

/**
 * The lease's shares of the requests that a machine may cause at once, and in a minute. Other requests cannot use
 * the lease's shares, since a lease is renewed up to twelve times a minute. `within`: the share in any minute,
 * including a minute that begins with a burst.
 */
const RENEWALS = { atOnce: 0.4, aMinute: 0.6, within: 0.65 } as const;
const OTHERS = { atOnce: 0.6, aMinute: 0.4, within: 0.6 } as const;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const PART_MS = 2000;
/** The share of the burst that events and NodeFeature objects must leave for writes of the Node. */
const KEPT_FROM_EVENTS = 0.2;
/** The share of the burst that needs no stored row: slightly more than the refill before an eviction (10 s). */
const UNRECORDED = 0.2;

/** The requests that must be left for a registration to start: the Node is created or read, adopted and written. */
export const REGISTRATION_REQUESTS = 4;
/** The number of requests of a removal, which reads Node and lease twice and deletes both. */
export const REMOVAL_REQUESTS = 6;
/** The number of requests of one attempt to write the status, which reads and writes the Node. */
export const STATUS_REQUESTS = 2;

/**
 * Returns the requests that are left at this time. If the clock was put back, nothing refills, and earlier requests
 * count as made now. Continue from the returned value: otherwise nothing refills until the clock has caught up.
 */
export function requestsAt(
  left: NodeRecords["requestsLeft"] | undefined,
  aMinute: number,
  nowMs: number,
): RequestsLeft {
  const [renewals, others] = [RENEWALS.atOnce * aMinute, OTHERS.atOnce * aMinute];
  if (!left) return { renewals, others, recent: [], atMs: nowMs };
  const minutes = Math.max(0, nowMs - left.atMs) / MINUTE_MS;
  return {
    renewals: Math.min(renewals, left.renewals + minutes * RENEWALS.aMinute * aMinute),
    others: Math.min(others, left.others + minutes * OTHERS.aMinute * aMinute),
    recent: (left.recent ?? [])
      .filter(({ sinceMs }) => nowMs - sinceMs < MINUTE_MS + PART_MS)
      .map((part) => (part.sinceMs > nowMs ? { ...part, sinceMs: nowMs } : part)),
    atMs: nowMs,
  };
}

/** Returns the number of requests of a kind that are left, maybe a fraction. Both the burst and the minute limit it. */
export function allowance(left: RequestsLeft, asked: RequestKind, aMinute: number): number {
  const share = shareOf(asked);
  const { within } = share === "renewals" ? RENEWALS : OTHERS;
  const kept = asked === "event" || asked === "feature" ? KEPT_FROM_EVENTS * aMinute : 0;
  return Math.min(left[share], within * aMinute - asks(left, share)) - kept;
}

/** Returns the requests that are left after one request, whether or not that request was allowed. */
export function afterRequest(left: RequestsLeft, asked: RequestKind): RequestsLeft {
  const share = shareOf(asked);
  const recent = [...left.recent];
  const last = recent.at(-1);
  const isSame = last !== undefined && left.atMs >= last.sinceMs && left.atMs - last.sinceMs < PART_MS;
  const part = isSame ? last : { sinceMs: left.atMs, renewals: 0, others: 0 };
  if (isSame) recent.pop();
  recent.push({ ...part, [share]: part[share] + 1 });
  return { ...left, [share]: left[share] - 1, recent };
}

function shareOf(asked: RequestKind): "renewals" | "others" {
  return asked === "lease" ? "renewals" : "others";
}

function asks({ recent }: RequestsLeft, share: "renewals" | "others"): number {
  return recent.reduce((sum, part) => sum + part[share], 0);
}

/**
 * The request budget of one name, shared by all machines that have the name in turn. Kept in memory, and in SQLite
 * once many requests are spent, so that an eviction does not refill the budget.
 */
export class RequestBudget {
  readonly #records: NodeRecordStore;
  /** The most requests in a burst, and in a minute. */
  readonly aMinute: number;
  readonly #nowMs: () => number;
  #left: NodeRecords["requestsLeft"] | undefined;

  constructor(records: NodeRecordStore, aMinute: number, nowMs: () => number) {
    this.#records = records;
    this.aMinute = aMinute;
    this.#nowMs = nowMs;
    this.#left = records.get("requestsLeft");
  }

  /**
   * Takes one request from the budget; returns false if the request must not be made. Call it before each request.
   * `mayOverdraw`: the request is made anyway, as with `spend`.
   */
  take(asked: RequestKind, mayOverdraw = false): boolean {
    const isAllowed = this.allows(asked);
    if (isAllowed) this.#left = afterRequest(this.#now(), asked);
    else if (mayOverdraw) this.spend(asked);
    return isAllowed || mayOverdraw;
  }

  /** Counts a request that must be made. The request may overdraw the budget by a minute's requests at most. */
  spend(asked: RequestKind): void {
    const { renewals, others, ...left } = afterRequest(this.#now(), asked);
    const bounded = (share: number) => Math.max(-this.aMinute, share);
    this.#left = { ...left, renewals: bounded(renewals), others: bounded(others) };
  }

  /** The requests that are left now, for the gateway that renews the lease next. */
  get left(): RequestsLeft {
    return this.#now();
  }

  /** Counts the renewals of a gateway. `before`: the budget when the lease was lent, from which time on it refills. */
  spendMeanwhile(renewals: number, before: RequestsLeft): void {
    const spent = requestsAt(
      { ...before, renewals: before.renewals - renewals },
      this.aMinute,
      this.#nowMs(),
    );
    const known = this.#left && this.#left.atMs > before.atMs ? this.#now() : spent;
    this.#left = { ...known, renewals: Math.max(-this.aMinute, spent.renewals) };
  }

  /** Returns true if this number of requests may be made now. */
  allows(asked: RequestKind, count = 1): boolean {
    return allowance(this.#now(), asked, this.aMinute) >= count;
  }

  /** Returns true if an overdraft of this number of requests still keeps the limit of a minute. */
  allowsAnyway(count: number): boolean {
    const left = this.#now();
    const most = (RENEWALS.within + OTHERS.within) * this.aMinute;
    return left.others >= 0 && asks(left, "renewals") + asks(left, "others") + count <= most;
  }

  /** Returns the number of attempts of a status update: upstream's number, or 1 if that could use up the budget. */
  tries(): number {
    return this.allows("node", NODE_STATUS_UPDATE_TRIES * STATUS_REQUESTS) ? NODE_STATUS_UPDATE_TRIES : 1;
  }

  /** Stores the budget if so much is spent that an eviction would matter. Call it at the end of each tick. */
  keep(): void {
    const left = this.#now();
    const kept = requestsAt(this.#records.get("requestsLeft"), this.aMinute, left.atMs);
    if (this.#total(kept) - this.#total(left) > UNRECORDED * this.aMinute)
      this.#records.put("requestsLeft", left);
  }

  /** Returns the milliseconds until the budget has refilled so far that its stored row is no longer needed. */
  keptForMs(): number {
    const { renewals, others } = this.#now();
    if (this.aMinute - renewals - others <= UNRECORDED * this.aMinute) return 0;
    const minutes = Math.max(
      (RENEWALS.atOnce * this.aMinute - renewals) / (RENEWALS.aMinute * this.aMinute),
      (OTHERS.atOnce * this.aMinute - others) / (OTHERS.aMinute * this.aMinute),
    );
    return Math.ceil(minutes * MINUTE_MS);
  }

  #now(): RequestsLeft {
    return (this.#left = requestsAt(this.#left, this.aMinute, this.#nowMs()));
  }

  #total({ renewals, others }: RequestsLeft): number {
    return renewals + others;
  }
}

/**
 * The budget of bytes for status writes, since etcd keeps each version of a Node for minutes. Kept in memory and in
 * an annotation of the lease, so that an eviction does not refill the budget.
 */
export const STATUS_BUDGET = {
  /** The size of a burst in bytes: about six writes of a Node with many images. */
  bytesAtOnce: 128 * 1024,
  /** The bytes that refill in an hour: nine times those of a Node of 20 KiB that is written every five minutes. */
  bytesAnHour: 2 * 1024 * 1024,
  /**
   * The least bytes that a write within the machine's own share leaves in the budget. A write that leaves less also
   * needs bytes of the join token's share (RATE_LIMITS.nodeBytes).
   */
  ownBytes: 64 * 1024,
  /** The bytes within the machine's own share that refill in an hour: the largest Node, written every five minutes. */
  ownBytesAnHour: 12 * 64 * 1024,
  /** The most urgent writes in a burst: writes that must not wait (isUrgent). */
  urgentAtOnce: 2,
  urgentAMinute: 2,
} as const;
/** The size above which a Node is not written, since every controller of the cluster reads lists of Nodes. */
export const MAX_NODE_BYTES = 64 * 1024;

/** The rest of STATUS_BUDGET. An absent budget is full. */
export interface StatusBudget {
  /** The bytes that are left. Negative after urgent writes: later writes wait until the number is positive again. */
  bytes: number;
  urgent: number;
  /** Milliseconds since 1970. */
  atMs: number;
}

/** Returns the budget that is left at this time. If the clock was put back, nothing refills. */
export function budgetAt(budget: StatusBudget | undefined, nowMs: number): StatusBudget {
  const { bytesAtOnce, bytesAnHour, ownBytes, ownBytesAnHour, urgentAtOnce, urgentAMinute } = STATUS_BUDGET;
  if (!budget) return { bytes: bytesAtOnce, urgent: urgentAtOnce, atMs: nowMs };
  const elapsedMs = Math.max(0, nowMs - budget.atMs);
  const slowFromMs = Math.max(0, ((ownBytes - budget.bytes) * HOUR_MS) / bytesAnHour);
  const fast = (Math.min(elapsedMs, slowFromMs) * bytesAnHour) / HOUR_MS;
  const slow = (Math.max(0, elapsedMs - slowFromMs) * ownBytesAnHour) / HOUR_MS;
  return {
    bytes: Math.min(bytesAtOnce, budget.bytes + fast + slow),
    urgent: Math.min(urgentAtOnce, budget.urgent + (elapsedMs * urgentAMinute) / 60_000),
    atMs: nowMs,
  };
}

export function isFull(budget: StatusBudget, nowMs: number): boolean {
  const { bytes, urgent } = budgetAt(budget, nowMs);
  return bytes >= STATUS_BUDGET.bytesAtOnce && urgent >= STATUS_BUDGET.urgentAtOnce;
}

/** Returns the budget that is left after a write; null if the write must wait. */
export function spendWrite(
  budget: StatusBudget | undefined,
  { bytes, urgent }: { bytes: number; urgent: boolean },
  nowMs: number,
): StatusBudget | null {
  const left = budgetAt(budget, nowMs);
  if (left.bytes >= bytes) return { ...left, bytes: left.bytes - bytes };
  return urgent && left.urgent >= 1 ? { ...left, bytes: left.bytes - bytes, urgent: left.urgent - 1 } : null;
}

/** Returns the budget after a registration's write, which never waits: registrations have a budget of their own. */
export function spendAnyway(budget: StatusBudget | undefined, bytes: number, nowMs: number): StatusBudget {
  const left = budgetAt(budget, nowMs);
  return { ...left, bytes: left.bytes - bytes };
}

/** Returns the bytes of a Node as JSON, slightly more than the apiserver stores. */
export function sizeOf(node: Node): number {
  return new TextEncoder().encode(JSON.stringify(node)).length;
}

/** Returns true if the write changes Ready from True or Unknown. Changes from False can wait: urgent writes are few. */
export function isUrgent(original: Node, next: Node): boolean {
  const [was, is] = [readyConditionOf(original)?.status, readyConditionOf(next)?.status];
  return was === "Unknown" || (was === "True" && is !== "True");
}

/** Returns the budget as the text of the lease's annotation: the amounts in the order of StatusBudget. */
export function budgetText({ bytes, urgent, atMs }: StatusBudget): string {
  return [Math.floor(bytes), Math.floor(urgent * 1000) / 1000, atMs].join(" ");
}

/** Returns the budget in the lease's annotation; undefined (full) without it; an empty budget for an invalid text. */
export function parseBudget(text: string | undefined, nowMs: number): StatusBudget | undefined {
  if (text === undefined) return undefined;
  const [bytes = Number.NaN, urgent = -1, atMs = -1, ...rest] = text.split(" ").map(Number);
  const isSound = [urgent, atMs].every((amount) => amount >= 0 && Number.isFinite(amount));
  if (!isSound || !Number.isFinite(bytes) || rest.length > 0) return emptyBudget(nowMs);
  // A time from a clock that was ahead must not keep the budget from refilling.
  return { bytes, urgent, atMs: Math.min(atMs, nowMs) };
}

/** Returns the budget of a machine whose lease cannot be read: empty. */
export const emptyBudget = (nowMs: number): StatusBudget => ({ bytes: 0, urgent: 0, atMs: nowMs });

/** The least time between two registrations at the lowest MACHINE_REQUESTS. Higher values shorten it in proportion. */
export const REGISTRATION_APART_MS = 10_000;

/** The size of a Node up to which its registration costs one token. The cost of a larger Node rises in proportion. */
const NODE_BYTES = 32 * 1024;

/** Returns the bucket after a registration, or how many milliseconds to wait. `aMinute`: MACHINE_REQUESTS. */
export function spendRegistration(
  budget: TokenBucket | undefined,
  nowMs: number,
  { aMinute, nodeBytes }: { aMinute: number; nodeBytes: number },
): Result<TokenBucket, number> {
  const { atOnce, everyMs } = RATE_LIMITS.registrations;
  const cost = Math.max(1, nodeBytes / NODE_BYTES);
  if (!budget) return success({ left: atOnce - cost, atMs: nowMs });
  // A clock that was put back must not extend the wait.
  const sinceMs = Math.max(0, nowMs - budget.atMs);
  const apartMs = Math.floor((REGISTRATION_APART_MS * NUMBER_RANGES.MACHINE_REQUESTS[0]) / aMinute);
  const left = tokensAt(budget, RATE_LIMITS.registrations, nowMs);
  const waitMs = Math.max(apartMs - sinceMs, Math.ceil((1 - left) * everyMs));
  return waitMs > 0 ? failure(waitMs) : success({ left: left - cost, atMs: nowMs });
}

/**
 * The number of immediate attempts of a step that fails at the apiserver. Afterwards the step is tried once in each
 * report interval. Lease and status back off separately, so that a failing status does not stop renewals.
 */
export const TRIES_AT_ONCE = 4;

export interface BackOff {
  /** The error of the last attempt. */
  error: ApiError;
  /** The attempts that were left at `atMs` (milliseconds since 1970). One attempt is added every `everyMs`. */
  tries: number;
  atMs: number;
  everyMs: number;
}

/** Returns the back-off after a step; undefined if the step succeeded, or the apiserver refused only this request. */
export function backOffAfter(
  before: BackOff | undefined,
  error: ApiError | null,
  {
    facts,
    random,
    ...machine
  }: { facts: Pick<Facts, "settings">; nowMs: () => number; random: () => number },
): BackOff | undefined {
  if (!error || !isFailing(error)) return undefined;
  const nowMs = machine.nowMs();
  // A random time below a report interval: each periodic report may try, and objects do not retry together.
  const everyMs = reportIntervalMs(facts.settings) * (0.5 + 0.4 * random());
  return { error, tries: Math.max(0, triesAt(before, nowMs) - 1), atMs: nowMs, everyMs };
}

/** Returns the last error if the step must not be tried now; undefined if the step may be tried. */
export function errorMeanwhile(backOff: BackOff | undefined, nowMs: number): ApiError | undefined {
  return triesAt(backOff, nowMs) < 1 ? backOff?.error : undefined;
}

/** Returns the number of attempts that are allowed now. A clock that was put back ends the wait. */
function triesAt(backOff: BackOff | undefined, nowMs: number): number {
  if (!backOff || nowMs < backOff.atMs) return TRIES_AT_ONCE;
  return Math.min(TRIES_AT_ONCE, backOff.tries + (nowMs - backOff.atMs) / backOff.everyMs);
}

/** The number of updates that failed right after another failed update, since this object woke. */
export type RepeatedFailures = Readonly<Record<"lease" | "status", number>>;

/** Counts and logs a repeated failure. Upstream's onRepeatedHeartbeatFailure closes connections instead. */
export function repeatedHeartbeatFailure(
  before: RepeatedFailures | undefined,
  what: keyof RepeatedFailures,
  log: MachineLog,
): RepeatedFailures {
  const failures = { lease: 0, status: 0, ...before };
  failures[what]++;
  log(`${what}: another update in a row has failed, ${failures[what]} so far`);
  return failures;
}
