// How often a machine may have the apiserver asked: whoever has its key decides how often it reports. Renewals of its lease
// have a share that nothing else can take, and its Node comes before events. Counts each request, also repeated ones.
import { NODE_STATUS_UPDATE_TRIES } from "../../shared/node/heartbeat.ts";
import type { RequestKind } from "../kube/kube-client.ts";
import type { NodeRecordStore, RequestsLeft } from "../storage/records.ts";

/** Shares of the requests at once, and of those a minute: a lease is renewed twelve times a minute at most. */
const RENEWALS = { atOnce: 0.4, aMinute: 0.6 } as const;
const OTHERS = { atOnce: 0.6, aMinute: 0.4 } as const;
/** Of those at once: events leave so much for the Node. */
const KEPT_FROM_EVENTS = 0.2;
/** Of those at once: what may be missing without a row, some more than comes back until an object is evicted (10 s). */
const UNRECORDED = 0.2;

/** Of a step, so that it does not end halfway: the Node is created or read, adopted and written. */
export const REGISTRATION_REQUESTS = 4;
/** Of a try to write the status: the Node is read and written. */
export const STATUS_REQUESTS = 2;

/** What is left at this time: it fills up as time passes. A clock that was put back fills nothing. */
export function requestsAt(left: RequestsLeft | undefined, aMinute: number, nowMs: number): RequestsLeft {
  const [renewals, others] = [RENEWALS.atOnce * aMinute, OTHERS.atOnce * aMinute];
  if (!left) return { renewals, others, atMs: nowMs };
  const minutes = Math.max(0, nowMs - left.atMs) / 60_000;
  return {
    renewals: Math.min(renewals, left.renewals + minutes * RENEWALS.aMinute * aMinute),
    others: Math.min(others, left.others + minutes * OTHERS.aMinute * aMinute),
    atMs: nowMs,
  };
}

/** What is left after a request; null: it has to wait. */
export function spendRequest(
  budget: RequestsLeft | undefined,
  asked: RequestKind,
  aMinute: number,
  nowMs: number,
): RequestsLeft | null {
  const left = requestsAt(budget, aMinute, nowMs);
  if (asked === "lease") return left.renewals >= 1 ? { ...left, renewals: left.renewals - 1 } : null;
  const kept = asked === "event" ? KEPT_FROM_EVENTS * aMinute : 0;
  return left.others - kept >= 1 ? { ...left, others: left.others - 1 } : null;
}

/** Of one name, whichever machine has it. In memory, and in SQLite where much of it is spent: an eviction fills nothing. */
export class RequestBudget {
  readonly #records: NodeRecordStore;
  /** Requests at once, and a minute. */
  readonly aMinute: number;
  readonly #nowMs: () => number;
  #left: RequestsLeft | undefined;

  constructor(records: NodeRecordStore, aMinute: number, nowMs: () => number) {
    this.#records = records;
    this.aMinute = aMinute;
    this.#nowMs = nowMs;
    this.#left = records.get("requestsLeft");
  }

  /** Call it before each request; false: it is not to be made. */
  take(asked: RequestKind): boolean {
    const left = spendRequest(this.#left, asked, this.aMinute, this.#nowMs());
    this.#left = left ?? this.#left;
    return left !== null;
  }

  /** Counts a request that has to be made. What is overdrawn, a minute's worth at most, is missing later. */
  spend(asked: RequestKind): void {
    const left = requestsAt(this.#left, this.aMinute, this.#nowMs());
    const share = asked === "lease" ? "renewals" : "others";
    this.#left = { ...left, [share]: Math.max(-this.aMinute, left[share] - 1) };
  }

  /** May so many requests of this kind be made now? */
  allows(asked: RequestKind, count = 1): boolean {
    const { renewals, others } = requestsAt(this.#left, this.aMinute, this.#nowMs());
    if (asked === "lease") return renewals >= count;
    return others - (asked === "event" ? KEPT_FROM_EVENTS * this.aMinute : 0) >= count;
  }

  /** How often a status update may try in a row: as upstream, or once where that could use up what is left. */
  tries(): number {
    return this.allows("node", NODE_STATUS_UPDATE_TRIES * STATUS_REQUESTS) ? NODE_STATUS_UPDATE_TRIES : 1;
  }

  /** Call it when a tick ends. An object that is evicted with less missing than this gains nothing that counts. */
  keep(): void {
    const left = requestsAt(this.#left, this.aMinute, this.#nowMs());
    if (this.#missing(left) > UNRECORDED * this.aMinute) this.#records.put("requestsLeft", left);
  }

  /** When so little is missing that it need not be kept, in milliseconds from now. */
  keptForMs(): number {
    const { renewals, others } = requestsAt(this.#left, this.aMinute, this.#nowMs());
    const missing = this.#missing({ renewals, others }) - UNRECORDED * this.aMinute;
    if (missing <= 0) return 0;
    const minutes = Math.max(
      (RENEWALS.atOnce * this.aMinute - renewals) / (RENEWALS.aMinute * this.aMinute),
      (OTHERS.atOnce * this.aMinute - others) / (OTHERS.aMinute * this.aMinute),
    );
    return Math.ceil(minutes * 60_000);
  }

  #missing({ renewals, others }: Pick<RequestsLeft, "renewals" | "others">): number {
    return this.aMinute - renewals - others;
  }
}
