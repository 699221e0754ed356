// Keeps a gateway's lent leases in memory, PUTs a lease, and suspends the PUTs while the apiserver fails.
import { backOff } from "../../shared/back-off.ts";
import {
  capacityOfSignals,
  type KeptSamples,
  NO_SAMPLES,
  sampleOf,
  thinned,
} from "../../shared/fleet/samples.ts";
import {
  type ApiResult,
  isConflict,
  isFailing,
  isNotFound,
  isUnauthorized,
} from "../../shared/kubernetes/api-error.ts";
import type { Lease } from "../../shared/kubernetes/types.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { currentMs, type Timer } from "../clock.ts";
import type { Environment } from "../env.ts";
import { kubeConnector, pathTo } from "../kube/connect.ts";
import type { HeldToken } from "../kube/token.ts";
import { retryAfterMsOf } from "../kube/not-the-apiserver.ts";
import type { ReturnedLoan, LeaseLoan } from "../machine/lease-loan.ts";
import type { Durations } from "../metrics/metrics.ts";
import { WHILE_BUSY } from "./lateness.ts";

/** A loan in the gateway's memory. Times are milliseconds since 1970. */
export interface HeldLoan {
  readonly loan: LeaseLoan;
  readonly receivedMs: number;
  /** The lease as the gateway last wrote it. */
  lease: Lease;
  /** true if a PUT got no answer, so that `lease` may not be the last version. The next PUT shows the truth. */
  isLeaseInDoubt: boolean;
  /** true if the last PUT has failed. */
  isFailing: boolean;
  /** The time at which the last PUT began; null if there was none. */
  askedMs: number | null;
  /** The time at which the last successful PUT began; null if there was none. */
  renewedMs: number | null;
  /** The time at which the last heartbeat came; null if there was none. */
  heardMs: number | null;
  vitals: Vitals;
  skewMs: number | null;
  /** The skew of the heartbeat that came fastest: each delay reduces the skew. null if no heartbeat came. */
  fastestSkewMs: number | null;
  samples: KeptSamples;
  /** The number of PUTs under this loan. */
  requests: number;
  /** true if the gateway writes nothing more under this loan, and soon returns it. Set by `endLoan`. */
  isEnded: boolean;
  /** Ends the wait for a PUT; null if no PUT of this loan waits. */
  stopWaiting: (() => void) | null;
}

export function holdLoan(loan: LeaseLoan, nowMs: number): HeldLoan {
  return {
    loan,
    receivedMs: nowMs,
    lease: loan.lease,
    isLeaseInDoubt: false,
    isFailing: false,
    askedMs: null,
    renewedMs: null,
    heardMs: null,
    vitals: loan.vitals,
    skewMs: null,
    fastestSkewMs: null,
    samples: NO_SAMPLES,
    requests: 0,
    isEnded: false,
    stopWaiting: null,
  };
}

/** Ends the loan. A waiting PUT of this loan never begins; a PUT in progress continues. */
export function endLoan(held: HeldLoan): void {
  held.isEnded = true;
  held.stopWaiting?.();
}

/** Returns the time at which the lease was last renewed, as far as the gateway knows. */
export function lastRenewalMs({ renewedMs, receivedMs }: HeldLoan): number {
  return renewedMs ?? receivedMs;
}

/**
 * Returns true if the loan has ended. A clock that was put back ends the loan, because no duration can be measured.
 * `calmMs`: the milliseconds since the isolate was last busy.
 */
export function isOver(held: HeldLoan, nowMs: number, calmMs: number): boolean {
  const { loan, receivedMs, askedMs, heardMs } = held;
  if (held.isEnded || nowMs < Math.max(receivedMs, askedMs ?? 0, heardMs ?? 0)) return true;
  const leases = calmMs === 0 ? WHILE_BUSY.leases : 1;
  // A drop-in's condition expires on time.
  const laterMs = loan.quiet.remaining ? 0 : Math.max(0, loan.quietForMs - calmMs);
  const longestMs = loan.quietForMs + (WHILE_BUSY.quiet - 1) * laterMs;
  return nowMs - receivedMs >= longestMs || nowMs - lastRenewalMs(held) >= leases * loan.leaseMs;
}

/** Records an accepted heartbeat in the loan: its time, vitals, skew and sample. */
export function noteBeat(
  held: HeldLoan,
  { vitals, skewMs }: { vitals: Vitals; skewMs: number },
  nowMs: number,
): void {
  const { capacity, samples } = held.samples;
  const sample = sampleOf(vitals.signals, nowMs);
  held.heardMs = nowMs;
  held.vitals = vitals;
  held.skewMs = skewMs;
  held.fastestSkewMs = Math.max(skewMs, held.fastestSkewMs ?? skewMs);
  held.samples = {
    // The machine's capacity does not change during a loan.
    capacity: capacity ?? capacityOfSignals(vitals.signals),
    samples: [...samples.slice(0, -1), ...thinned([...samples.slice(-1), sample], sample.atS)],
  };
}

export function returnedLoan(held: HeldLoan, nowMs: number): ReturnedLoan {
  const { loan, vitals, skewMs, samples, requests } = held;
  const agoMs = (atMs: number | null) => (atMs === null ? null : Math.max(0, nowMs - atMs));
  return {
    epoch: loan.epoch,
    lease: held.isLeaseInDoubt ? null : held.lease,
    renewedAgoMs: agoMs(held.renewedMs),
    heardAgoMs: agoMs(held.heardMs),
    vitals,
    skewMs,
    samples,
    requests,
    baton: loan.baton,
  };
}

/** The times between two probes while the apiserver fails: the first, the longest, and the longest Retry-After. */
export const SUSPENSION_MS = { first: 1000, longest: 10_000, longestAsked: 60_000 } as const;

/** A request to the apiserver that has begun. */
interface AskedOnce {
  /** The number of the request, counted from 1. */
  n: number;
  /** true if the request probes whether the apiserver answers again. */
  isProbe: boolean;
}

/** Suspends the gateway's requests while the apiserver fails: then only one request at a time probes the apiserver. */
export class Suspension {
  #begun = 0;
  /** The number of the latest successful request. */
  #succeeded = 0;
  /** The number of consecutive failures, including failed probes; 0 if nothing is suspended. */
  #failures = 0;
  #failedMs = 0;
  #probeFromMs = 0;
  /** The number of the probe in progress; null if there is none. */
  #probe: number | null = null;

  get isOn(): boolean {
    return this.#failures > 0;
  }

  /** Returns true if a request may begin. A clock that was put back must not extend the wait. */
  mayAsk(nowMs: number): boolean {
    if (!this.isOn) return true;
    return this.#probe === null && (nowMs >= this.#probeFromMs || nowMs < this.#failedMs);
  }

  /** Counts a request as begun. Pass the result to `succeeded` or `failed`. Call it when a request begins. */
  begin(): AskedOnce {
    const asked = { n: ++this.#begun, isProbe: this.isOn };
    if (asked.isProbe) this.#probe = asked.n;
    return asked;
  }

  succeeded({ n }: AskedOnce): void {
    this.#succeeded = Math.max(this.#succeeded, n);
    this.#failures = 0;
    this.#probe = null;
  }

  /**
   * Records a failed request. Of many requests that fail together, only the first one counts. A slow failure does
   * not count if a later request has succeeded. `retryAfterMs`: the apiserver's Retry-After.
   */
  failed({ n }: AskedOnce, nowMs: number, retryAfterMs = 0): void {
    const isProbe = n === this.#probe;
    if (isProbe) this.#probe = null;
    if (n < this.#succeeded && retryAfterMs === 0) return;
    if (!isProbe && this.isOn) return;
    const { first, longest, longestAsked } = SUSPENSION_MS;
    this.#failures++;
    this.#failedMs = nowMs;
    const waitMs = backOff(this.#failures, first, longest);
    this.#probeFromMs = nowMs + Math.max(waitMs, Math.min(retryAfterMs, longestAsked));
  }
}

/** The time limit of a PUT, because the machine waits for the answer to its heartbeat. */
export const PUT_WITHIN_MS = 3000;

export type LeasePut =
  | { kind: "renewed"; lease: Lease }
  /** Another writer has changed or deleted the lease. */
  | { kind: "lost" }
  /** `isAnswered`: the apiserver answered; nothing was written. `isRefused`: the apiserver refuses this lease alone. */
  | { kind: "failed"; isAnswered: boolean; isRefused?: true; retryAfterMs: number };

/** PUTs a lease. Calls `onRequest` before each request. `withinMs`: by default PUT_WITHIN_MS. Never rejects. */
export type PutLease = (lease: Lease, onRequest: () => void, withinMs?: number) => Promise<LeasePut>;

/** Returns the function that PUTs a lease once. Repeats only a request with the answer 401, with another token. */
export function leasePutter(
  env: Environment,
  token: HeldToken,
  durations: Durations,
  timer: Timer,
): PutLease {
  let isStart = true;
  const { url, fetch } = pathTo(env);
  return async (lease, onRequest, withinMs = PUT_WITHIN_MS) => {
    let retryAfterMs = 0;
    // The Retry-After is removed, so that the client does not retry: the suspension waits for all machines together.
    const once = async (to: string, init: RequestInit) => {
      const startedMs = currentMs();
      const response = await fetch(to, init).catch((error: unknown) => {
        durations.note("PUT", "none", startedMs);
        throw error;
      });
      durations.note("PUT", String(response.status), startedMs);
      retryAfterMs = retryAfterMsOf(response) ?? 0;
      if (!response.headers.has("retry-after")) return response;
      const headers = new Headers(response.headers);
      headers.delete("retry-after");
      return new Response(response.body, { status: response.status, headers });
    };
    const mayAsk = () => {
      onRequest();
      return true;
    };
    const connect = kubeConnector(env, token, currentMs, mayAsk, {
      url,
      fetch: once,
      timer,
    });
    // The PUT uses the current token, and does not wait until another token arrives.
    const refreshed = token.refresh(isStart);
    isStart = false;
    const result = await connect(withinMs).updateLease(lease);
    await refreshed;
    return outcomeOf(result, retryAfterMs);
  };
}

function outcomeOf(result: ApiResult<Lease>, retryAfterMs: number): LeasePut {
  if (result.ok) return { kind: "renewed", lease: result.value };
  const { error } = result;
  if (isNotFound(error) || isConflict(error)) return { kind: "lost" };
  const isRefused = !isFailing(error) && !isUnauthorized(error);
  return {
    kind: "failed",
    isAnswered: error.kind === "status",
    ...(isRefused && { isRefused }),
    retryAfterMs,
  };
}
