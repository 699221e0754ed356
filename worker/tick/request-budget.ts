// How often a machine may have the apiserver asked: whoever has its key decides how often it reports. Renewals of its lease
// have a share that nothing else can take, and its Node comes before events. Counts each request, also repeated ones.
import { NODE_STATUS_UPDATE_TRIES } from "../../shared/node/heartbeat.ts";
import type { RequestKind } from "../kube/kube-client.ts";
import type { NodeRecords, NodeRecordStore, RequestsLeft } from "../storage/records.ts";

/**
 * Shares of the requests at once, and of those a minute: a lease is renewed twelve times a minute at most. `within`: in
 * whatever minute, also one that begins with all of those at once.
 */
const RENEWALS = { atOnce: 0.4, aMinute: 0.6, within: 0.65 } as const;
const OTHERS = { atOnce: 0.6, aMinute: 0.4, within: 0.6 } as const;
const MINUTE_MS = 60_000;
const PART_MS = 2000;
/** Of those at once: events leave so much for the Node. */
const KEPT_FROM_EVENTS = 0.2;
/** Of those at once: what may be missing without a row, some more than comes back until an object is evicted (10 s). */
const UNRECORDED = 0.2;

/** Of a step, so that it does not end halfway: the Node is created or read, adopted and written. */
export const REGISTRATION_REQUESTS = 4;
/** Node and lease are read twice, and deleted. */
export const REMOVAL_REQUESTS = 6;
/** Of a try to write the status: the Node is read and written. */
export const STATUS_REQUESTS = 2;

/**
 * What is left at this time: it fills up as time passes. A clock that was put back fills nothing, and what was asked
 * counts as asked now: go on from what this returns, or nothing fills until that clock has caught up.
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

/** How many requests of a kind may be made now, not whole ones: of both what was saved up and what a minute may have. */
export function allowance(left: RequestsLeft, asked: RequestKind, aMinute: number): number {
  const share = shareOf(asked);
  const { within } = share === "renewals" ? RENEWALS : OTHERS;
  const kept = asked === "event" ? KEPT_FROM_EVENTS * aMinute : 0;
  return Math.min(left[share], within * aMinute - asks(left, share)) - kept;
}

/** After a request, whether or not it was allowed. */
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

/** Of one name, whichever machine has it. In memory, and in SQLite where much of it is spent: an eviction fills nothing. */
export class RequestBudget {
  readonly #records: NodeRecordStore;
  /** Requests at once, and a minute. */
  readonly aMinute: number;
  readonly #nowMs: () => number;
  #left: NodeRecords["requestsLeft"] | undefined;

  constructor(records: NodeRecordStore, aMinute: number, nowMs: () => number) {
    this.#records = records;
    this.aMinute = aMinute;
    this.#nowMs = nowMs;
    this.#left = records.get("requestsLeft");
  }

  /** Call it before each request; false: it is not to be made. */
  take(asked: RequestKind): boolean {
    const isAllowed = this.allows(asked);
    if (isAllowed) this.#left = afterRequest(this.#now(), asked);
    return isAllowed;
  }

  /** Counts a request that has to be made. What is overdrawn, a minute's worth at most, is missing later. */
  spend(asked: RequestKind): void {
    const { renewals, others, ...left } = afterRequest(this.#now(), asked);
    const bounded = (share: number) => Math.max(-this.aMinute, share);
    this.#left = { ...left, renewals: bounded(renewals), others: bounded(others) };
  }

  /** What is left now: for whoever renews meanwhile. */
  get left(): RequestsLeft {
    return this.#now();
  }

  /** Counts renewals that somebody else has made since so much was left: what comes back counts from then on. */
  spendMeanwhile(renewals: number, before: RequestsLeft): void {
    const spent = requestsAt(
      { ...before, renewals: before.renewals - renewals },
      this.aMinute,
      this.#nowMs(),
    );
    const known = this.#left && this.#left.atMs > before.atMs ? this.#now() : spent;
    this.#left = { ...known, renewals: Math.max(-this.aMinute, spent.renewals) };
  }

  /** May so many requests of this kind be made now? */
  allows(asked: RequestKind, count = 1): boolean {
    return allowance(this.#now(), asked, this.aMinute) >= count;
  }

  /** May so many be overdrawn, so that a minute has no more than it may all the same? */
  allowsAnyway(count: number): boolean {
    const left = this.#now();
    const most = (RENEWALS.within + OTHERS.within) * this.aMinute;
    return left.others >= 0 && asks(left, "renewals") + asks(left, "others") + count <= most;
  }

  /** How often a status update may try in a row: as upstream, or once where that could use up what is left. */
  tries(): number {
    return this.allows("node", NODE_STATUS_UPDATE_TRIES * STATUS_REQUESTS) ? NODE_STATUS_UPDATE_TRIES : 1;
  }

  /** Call it when a tick ends. An object that is evicted with less missing than this gains nothing that counts. */
  keep(): void {
    const left = this.#now();
    const kept = requestsAt(this.#records.get("requestsLeft"), this.aMinute, left.atMs);
    if (this.#total(kept) - this.#total(left) > UNRECORDED * this.aMinute)
      this.#records.put("requestsLeft", left);
  }

  /** When so little is missing that it need not be kept, in milliseconds from now. */
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
