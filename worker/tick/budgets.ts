// How often a machine may have the apiserver asked: whoever has its key decides how often it reports. Renewals of its lease
// have a share that nothing else can take, and its Node comes before events. Counts each request, also repeated ones.
import { NUMBER_RANGES } from "../../shared/deployment/numbers.ts";
import type { ApiError } from "../../shared/kubernetes/api-error.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { NODE_STATUS_UPDATE_TRIES, readyConditionOf } from "../../shared/node/heartbeat.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { RequestKind } from "../kube/kube-client.ts";
import type { MachineLog } from "../log.ts";
import { type Allowance, allowanceAt } from "../storage/allowance.ts";
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

// How much of its Node a machine may have written: whoever has its key decides how often its status changes, and etcd keeps
// each version of a Node for minutes. Kept in memory and in the lease's annotation, so that an eviction does not fill it up.

export const STATUS_BUDGET = {
  /** Bytes at once: some six writes of a Node with many images. */
  bytesAtOnce: 128 * 1024,
  /** A Node of 20 KiB every five minutes takes a ninth of it. */
  bytesAnHour: 2 * 1024 * 1024,
  /** Writes that are not to be withheld, see isUrgent. */
  urgentAtOnce: 2,
  urgentAMinute: 2,
} as const;
/** Of a Node. What is larger is not written: a list of Nodes is read by every controller of the cluster. */
export const MAX_NODE_BYTES = 64 * 1024;

/** What is left. An absent one is full. */
export interface StatusBudget {
  /** Less than nothing after writes that could not wait: those after them wait until that has come back as well. */
  bytes: number;
  urgent: number;
  /** When that was so, in milliseconds since 1970. */
  atMs: number;
}

/** What is left at this time: it fills up as time passes. A clock that was put back fills nothing. */
export function budgetAt(budget: StatusBudget | undefined, nowMs: number): StatusBudget {
  const { bytesAtOnce, bytesAnHour, urgentAtOnce, urgentAMinute } = STATUS_BUDGET;
  if (!budget) return { bytes: bytesAtOnce, urgent: urgentAtOnce, atMs: nowMs };
  const elapsedMs = Math.max(0, nowMs - budget.atMs);
  return {
    bytes: Math.min(bytesAtOnce, budget.bytes + (elapsedMs * bytesAnHour) / 3_600_000),
    urgent: Math.min(urgentAtOnce, budget.urgent + (elapsedMs * urgentAMinute) / 60_000),
    atMs: nowMs,
  };
}

/** Is as much left as if nothing had been written for long? */
export function isFull(budget: StatusBudget, nowMs: number): boolean {
  const { bytes, urgent } = budgetAt(budget, nowMs);
  return bytes >= STATUS_BUDGET.bytesAtOnce && urgent >= STATUS_BUDGET.urgentAtOnce;
}

/** What is left after a write of so many bytes; null: it has to wait. */
export function spendWrite(
  budget: StatusBudget | undefined,
  { bytes, urgent }: { bytes: number; urgent: boolean },
  nowMs: number,
): StatusBudget | null {
  const left = budgetAt(budget, nowMs);
  if (left.bytes >= bytes) return { ...left, bytes: left.bytes - bytes };
  return urgent && left.urgent >= 1 ? { ...left, bytes: left.bytes - bytes, urgent: left.urgent - 1 } : null;
}

/** What is left after a write that had to be: registrations have a budget of their own. */
export function spendAnyway(budget: StatusBudget | undefined, bytes: number, nowMs: number): StatusBudget {
  const left = budgetAt(budget, nowMs);
  return { ...left, bytes: left.bytes - bytes };
}

/** Bytes of a Node in JSON; the apiserver keeps somewhat less. */
export function sizeOf(node: Node): number {
  return new TextEncoder().encode(JSON.stringify(node)).length;
}

/**
 * A Node that stops being Ready, and one that the node controller has given up, are not left to look otherwise. Becoming
 * Ready again can wait, so that both are bounded.
 */
export function isUrgent(original: Node, next: Node): boolean {
  const [was, is] = [readyConditionOf(original)?.status, readyConditionOf(next)?.status];
  return was === "Unknown" || (was === "True" && is !== "True");
}

/** For the lease's annotation: amounts in the order of StatusBudget. */
export function budgetText({ bytes, urgent, atMs }: StatusBudget): string {
  return [Math.floor(bytes), Math.floor(urgent * 1000) / 1000, atMs].join(" ");
}

/** undefined: full, as for a lease from before there were budgets. A text that cannot be read counts as nothing left. */
export function parseBudget(text: string | undefined, nowMs: number): StatusBudget | undefined {
  if (text === undefined) return undefined;
  const [bytes = Number.NaN, urgent = -1, atMs = -1, ...rest] = text.split(" ").map(Number);
  const isSound = [urgent, atMs].every((amount) => amount >= 0 && Number.isFinite(amount));
  if (!isSound || !Number.isFinite(bytes) || rest.length > 0) return emptyBudget(nowMs);
  // A clock that was ahead must not keep it from filling.
  return { bytes, urgent, atMs: Math.min(atMs, nowMs) };
}

/** Of a lease that cannot be read. */
export const emptyBudget = (nowMs: number): StatusBudget => ({ bytes: 0, urgent: 0, atMs: nowMs });

// How often new processes of a machine's shim cause a registration: each may write the Node, and whoever has the machine's
// key decides how many there are. Repeated tries of one process are none; they have their own wait (registration.ts).

export const REGISTRATION_BUDGET = {
  atOnce: 6,
  everyMs: 60_000,
  /** Between two, where the deployment allows the least requests a minute; less where it allows more. */
  apartMs: 10_000,
} as const;

/** A Node that is larger than this counts as several: each registration may write all of it. */
const NODE_BYTES = 32 * 1024;

/**
 * What is left after one more, of a Node of so many bytes; else how long to wait, in milliseconds. `aMinute`: the
 * deployment's MACHINE_REQUESTS.
 */
export function spendRegistration(
  budget: Allowance | undefined,
  nowMs: number,
  { aMinute, nodeBytes }: { aMinute: number; nodeBytes: number },
): Result<Allowance, number> {
  const { atOnce, everyMs } = REGISTRATION_BUDGET;
  const cost = Math.max(1, nodeBytes / NODE_BYTES);
  if (!budget) return success({ left: atOnce - cost, atMs: nowMs });
  // A clock that was put back must not extend the wait.
  const sinceMs = Math.max(0, nowMs - budget.atMs);
  const apartMs = Math.floor((REGISTRATION_BUDGET.apartMs * NUMBER_RANGES.MACHINE_REQUESTS[0]) / aMinute);
  const left = allowanceAt(budget, REGISTRATION_BUDGET, nowMs);
  const waitMs = Math.max(apartMs - sinceMs, Math.ceil((1 - left) * everyMs));
  return waitMs > 0 ? failure(waitMs) : success({ left: left - cost, atMs: nowMs });
}

// How often the events of a new process of a machine's shim begin afresh, as a kubelet's do: with a full spam budget, and
// counted from one. Whoever has the machine's key decides how often it starts.

/** 24 in whatever hour: of each type of event, 25 pass for each. */
export const FRESH_EVENTS = { atOnce: 12, everyMs: 300_000 } as const;

/** Where none is left, the process goes on with the budget and the counts of the one before it. */
export function spendFreshEvents(
  budget: Allowance | undefined,
  nowMs: number,
): { isFresh: boolean; left: Allowance } {
  const left = allowanceAt(budget, FRESH_EVENTS, nowMs);
  const isFresh = left >= 1;
  return { isFresh, left: { left: isFresh ? left - 1 : left, atMs: nowMs } };
}

// Spares an apiserver that fails: a step that failed is tried four times at once, and then once for each of the machine's
// report intervals, whatever the machine sends meanwhile. Each object does so by itself, and each step: a status that
// cannot be written must not keep the lease from being renewed.

export const TRIES_AT_ONCE = 4;

/** Of a step that the apiserver failed. */
export interface BackOff {
  error: ApiError;
  /** How often it may be tried again, as of `atMs` (milliseconds since 1970); one more comes every `everyMs`. */
  tries: number;
  atMs: number;
  everyMs: number;
}

/** Call it with the outcome of a step; undefined: it did not fail, or was refused, which is an answer. */
export function backOffAfter(
  before: BackOff | undefined,
  error: ApiError | null,
  reportIntervalMs: number,
  nowMs: number,
  random: () => number, // Math.random
): BackOff | undefined {
  if (!error || !isFailing(error)) return undefined;
  // Less than an interval, so that no periodic report is passed over; random, so that objects that failed together do not
  // try together.
  const everyMs = reportIntervalMs * (0.5 + 0.4 * random());
  return { error, tries: Math.max(0, triesAt(before, nowMs) - 1), atMs: nowMs, everyMs };
}

/** The error that a step has as long as it is not tried; undefined: try it. */
export function errorMeanwhile(backOff: BackOff | undefined, nowMs: number): ApiError | undefined {
  return triesAt(backOff, nowMs) < 1 ? backOff?.error : undefined;
}

/** A clock that was put back ends the wait. */
function triesAt(backOff: BackOff | undefined, nowMs: number): number {
  if (!backOff || nowMs < backOff.atMs) return TRIES_AT_ONCE;
  return Math.min(TRIES_AT_ONCE, backOff.tries + (nowMs - backOff.atMs) / backOff.everyMs);
}

/** Is it the apiserver that fails, and not this request that is refused? */
function isFailing(error: ApiError): boolean {
  if (error.kind === "unanswered") return true;
  const { code = 0 } = error.status;
  return code === 429 || code >= 500;
}

// Counts the updates of lease and status that fail although the one before failed as well (upstream
// onRepeatedHeartbeatFailure, which closes connections: here there are none to close).

/** What is to be updated. */
type Renewed = "lease" | "status";

/** `what` could not be updated, twice or more in a row. Each is a line of the log, with how many there were so far. */
export function repeatedHeartbeatFailure(
  { memory, log }: { memory: { repeatedFailures?: Record<Renewed, number> }; log: MachineLog },
  what: Renewed,
): void {
  const failures = { lease: 0, status: 0, ...memory.repeatedFailures };
  failures[what]++;
  memory.repeatedFailures = failures;
  log(`${what}: another update in a row has failed, ${failures[what]} so far`);
}
