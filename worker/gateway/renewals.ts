// Renews the leases of a gateway's machines. Few PUTs run at the same time; the others wait in a queue.
import { nextRenewTime } from "../../shared/node/lease.ts";
import type { Timer } from "../clock.ts";
import type { GatewayCounters } from "./counters.ts";
import { type Lateness, WHILE_BUSY } from "./lateness.ts";
import {
  type HeldLoan,
  isOver,
  lastRenewalMs,
  type LeasePut,
  PUT_WITHIN_MS,
  type PutLease,
  Suspension,
} from "./lease.ts";

/** The most PUTs at a time. An object has six connections (Cloudflare's limit), and one is for its other requests. */
export const PUTS_AT_ONCE = 5;
/** The longest wait of a PUT. The PUT follows within PUT_WITHIN_MS, and a shim waits nine seconds for its answer. */
export const PUT_WAITS_MS = 4000;
/** A PUT waits for at most this share of the lease duration. */
const SHARE_OF_LEASE = 1 / 10;

/** How a renewal ended. `over`: the loan ended before the PUT. `late`: the PUT waited too long, and was dropped. */
export type Renewed = LeasePut["kind"] | "late" | "over" | "suspended";

const NO_ANSWER: LeasePut = { kind: "failed", isAnswered: false, retryAfterMs: 0 };

interface RenewalDependencies {
  putLease: PutLease;
  counters: GatewayCounters;
  /** Measures the PUTs. */
  capacity: { note: (tookMs: number, intervalMs: number) => void; noteLate: () => void };
  /** The lateness of the isolate. The PUTs of a busy isolate show nothing about the apiserver. */
  lateness: Pick<Lateness, "calmMs">;
  /** Typically the object's timer. */
  timer: Timer;
  /** Returns the current time in milliseconds. Typically currentMs. */
  nowMs: () => number;
}

/** A PUT that waits. `settle`: ends the wait, with true if the PUT may begin. */
interface Waiting {
  loan: HeldLoan;
  sinceMs: number;
  settle: (mayBegin: boolean) => void;
}

/** Renews the leases of a gateway's machines. */
export class Renewals {
  readonly suspension = new Suspension();
  readonly #in: RenewalDependencies;
  readonly #waiting = new Set<Waiting>();
  #running = 0;

  constructor(dependencies: RenewalDependencies) {
    this.#in = dependencies;
  }

  /** The number of waiting PUTs, and the seconds for which the first of them has waited. */
  get queue(): { length: number; seconds: number } {
    const [first] = this.#waiting;
    const waitedMs = first ? Math.max(0, this.#in.nowMs() - first.sinceMs) : 0;
    return { length: this.#waiting.size, seconds: waitedMs / 1000 };
  }

  /** Renews a lease as soon as a PUT may begin. `member.renewing` resolves after the PUT. */
  async renew(member: { renewing: Promise<void> | null }, loan: HeldLoan): Promise<Renewed> {
    const { counters, capacity, nowMs } = this.#in;
    // A free slot is taken without an await, so that a withdrawal finds either the waiting or the running PUT.
    if (this.#running < PUTS_AT_ONCE) this.#running++;
    else if (!(await this.#wait(loan))) {
      if (loan.isEnded) return "over";
      counters.renewal("late");
      capacity.noteLate();
      return "late";
    }
    try {
      if (isOver(loan, nowMs(), this.#in.lateness.calmMs)) return "over";
      if (!this.suspension.mayAsk(nowMs())) return "suspended";
      const putting = this.#put(loan);
      const renewing = putting.then(() => undefined);
      member.renewing = renewing;
      const kind = await putting;
      if (member.renewing === renewing) member.renewing = null;
      counters.renewal(kind);
      return kind;
    } finally {
      this.#next();
    }
  }

  get #isBusy(): boolean {
    return this.#in.lateness.calmMs === 0;
  }

  /** Resolves to true with a free slot; to false if the loan has ended, or the wait was too long. */
  #wait(loan: HeldLoan): Promise<boolean> {
    const { timer, nowMs } = this.#in;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiting: Waiting = {
      loan,
      sinceMs: nowMs(),
      settle: (mayBegin) => {
        this.#waiting.delete(waiting);
        loan.stopWaiting = null;
        stop();
        resolve(mayBegin);
      },
    };
    const drop = () => waiting.settle(false);
    const waitMs = Math.min(PUT_WAITS_MS, loan.loan.leaseMs * SHARE_OF_LEASE);
    const stop = timer(this.#isBusy ? WHILE_BUSY.putMs : waitMs, drop);
    loan.stopWaiting = drop;
    this.#waiting.add(waiting);
    return promise;
  }

  /** Passes a free slot on to the waiting PUT whose lease was renewed first. */
  #next(): void {
    let oldest: Waiting | undefined;
    for (const each of this.#waiting)
      if (!oldest || lastRenewalMs(each.loan) < lastRenewalMs(oldest.loan)) oldest = each;
    if (oldest) oldest.settle(true);
    else this.#running--;
  }

  async #put(loan: HeldLoan): Promise<LeasePut["kind"]> {
    const { putLease, capacity, nowMs } = this.#in;
    const { lease } = loan;
    const beganMs = nowMs();
    const renewed = { ...lease, spec: { ...lease.spec, renewTime: nextRenewTime(beganMs * 1000, lease) } };
    loan.askedMs = beganMs;
    const asked = this.suspension.begin();
    const withinMs = this.#isBusy ? WHILE_BUSY.putMs : PUT_WITHIN_MS;
    const put = await putLease(renewed, () => loan.requests++, withinMs).catch(() => NO_ANSWER);
    if (put.kind === "failed") {
      // Neither a refused lease nor a lease that fails repeatedly while others are renewed may suspend other renewals.
      if (put.isRefused || (!put.isAnswered && this.#isBusy)) this.suspension.succeeded(asked);
      else if (asked.isProbe || !loan.isFailing || put.retryAfterMs > 0)
        this.suspension.failed(asked, nowMs(), put.retryAfterMs);
      loan.isFailing = true;
      // The next PUT of this version of the lease shows whether the apiserver has executed the failed PUT.
      loan.isLeaseInDoubt ||= !put.isAnswered;
      return "failed";
    }
    this.suspension.succeeded(asked);
    capacity.note(nowMs() - beganMs, loan.loan.intervalMs);
    if (put.kind === "renewed") {
      loan.lease = put.lease;
      loan.isLeaseInDoubt = false;
      loan.isFailing = false;
      loan.renewedMs = beganMs;
    } else loan.isLeaseInDoubt = true;
    return put.kind;
  }
}
