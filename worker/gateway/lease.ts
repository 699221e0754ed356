// A lease loan as a gateway has it in memory: what has become of it since its receipt, whether it is over, and what is
// given back of it. Asks nobody.
import {
  capacityOfSignals,
  type KeptSamples,
  NO_SAMPLES,
  sampleOf,
  thinned,
} from "../../shared/fleet/samples.ts";
import { type ApiResult, isConflict, isNotFound } from "../../shared/kubernetes/api-error.ts";
import type { Lease } from "../../shared/kubernetes/types.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { currentMs, type Timer } from "../clock.ts";
import type { Environment } from "../env.ts";
import { kubeConnector, pathTo } from "../kube/connect.ts";
import type { HeldToken } from "../kube/token.ts";
import { retryAfterMsOf } from "../kube/not-the-apiserver.ts";
import type { ReturnedLoan, LeaseLoan } from "../machine/lease-loan.ts";
import type { Durations } from "../metrics/metrics.ts";

/** Times are milliseconds since 1970. */
export interface HeldLoan {
  readonly loan: LeaseLoan;
  readonly receivedMs: number;
  /** As it was written last. */
  lease: Lease;
  /** A PUT has no answer: nobody knows whether `lease` is the last version. The next PUT shows it. */
  isLeaseInDoubt: boolean;
  /** The last PUT has failed. */
  isFailing: boolean;
  /** When the last PUT began; null: none has. */
  askedMs: number | null;
  /** When the last PUT that succeeded began. */
  renewedMs: number | null;
  /** When the last heartbeat came, and what it said. */
  heardMs: number | null;
  vitals: Vitals;
  skewMs: number | null;
  samples: KeptSamples;
  /** PUTs. */
  requests: number;
  /** Nothing is written under it any more: it waits to be given back. */
  isEnded: boolean;
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
    samples: NO_SAMPLES,
    requests: 0,
    isEnded: false,
  };
}

/** May nothing be renewed under it any more? A clock that was put back shows no durations. */
export function isOver(held: HeldLoan, nowMs: number): boolean {
  const { loan, receivedMs, askedMs, renewedMs, heardMs } = held;
  if (held.isEnded || nowMs < Math.max(receivedMs, askedMs ?? 0, heardMs ?? 0)) return true;
  return nowMs - receivedMs >= loan.quietForMs || nowMs - (renewedMs ?? receivedMs) >= loan.leaseMs;
}

/** A heartbeat was accepted. */
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
  held.samples = {
    // Under one loan it stays the same.
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
    handoff: loan.handoff,
  };
}

// Whether the apiserver is asked: where it fails, one request at a time finds out whether it still does. Makes none itself.

/** From one request to the next while it fails: the first time, the longest, and the longest that it can ask for itself. */
export const SUSPENSION_MS = { first: 1000, longest: 10_000, longestAsked: 60_000 } as const;

/** A request; what came of it is said with it. */
interface AskedOnce {
  /** Counted from 1, as they begin. */
  n: number;
  /** Is it the one that finds out whether the apiserver answers again? */
  isProbe: boolean;
}

export class Suspension {
  #begun = 0;
  /** The last to begin of those that have succeeded. */
  #succeeded = 0;
  /** 0: the apiserver answers, as far as is known. */
  #waitMs = 0;
  #failedMs = 0;
  #probeFromMs = 0;
  /** The one that finds out, while it is under way. */
  #probe: number | null = null;

  get isOn(): boolean {
    return this.#waitMs > 0;
  }

  /** May a request begin now? A clock that was put back makes nobody wait for longer. */
  mayAsk(nowMs: number): boolean {
    if (this.#waitMs === 0) return true;
    return this.#probe === null && (nowMs >= this.#probeFromMs || nowMs < this.#failedMs);
  }

  /** Call it as a request begins; with what it returns its outcome is said. */
  begin(): AskedOnce {
    const asked = { n: ++this.#begun, isProbe: this.#waitMs > 0 };
    if (asked.isProbe) this.#probe = asked.n;
    return asked;
  }

  succeeded({ n }: AskedOnce): void {
    this.#succeeded = Math.max(this.#succeeded, n);
    this.#waitMs = 0;
    this.#probe = null;
  }

  /**
   * `retryAfterMs`: what the apiserver has asked for. Of many that fail at once each after the first changes nothing; nor does
   * one that was slow, while another that began later has had its answer.
   */
  failed({ n }: AskedOnce, nowMs: number, retryAfterMs = 0): void {
    const isProbe = n === this.#probe;
    if (isProbe) this.#probe = null;
    if (n < this.#succeeded && retryAfterMs === 0) return;
    const isFirst = this.#waitMs === 0;
    if (!isProbe && !isFirst) return;
    const { first, longest, longestAsked } = SUSPENSION_MS;
    this.#waitMs = isFirst ? first : Math.min(2 * this.#waitMs, longest);
    this.#failedMs = nowMs;
    this.#probeFromMs = nowMs + Math.max(this.#waitMs, Math.min(retryAfterMs, longestAsked));
  }
}

// PUTs a lease once, and says what came of it. Never reads one, never creates one, and repeats nothing but a request that
// was answered 401, with another token.

/** A machine waits for the answer to its heartbeat meanwhile. */
export const PUT_WITHIN_MS = 3000;

export type LeasePut =
  | { kind: "renewed"; lease: Lease }
  /** Somebody else has written it, or it is gone. */
  | { kind: "lost" }
  /** `isAnswered`: by the apiserver, so that nothing was written. */
  | { kind: "failed"; isAnswered: boolean; retryAfterMs: number };

/** `onRequest`: before each request. Never rejects. */
export type PutLease = (lease: Lease, onRequest: () => void) => Promise<LeasePut>;

export function leasePutter(
  env: Environment,
  token: HeldToken,
  durations: Durations,
  timer: Timer,
): PutLease {
  let isStart = true;
  const { url, fetch } = pathTo(env);
  return async (lease, onRequest) => {
    let retryAfterMs = 0;
    // The client would wait and repeat. That is for one machine at a time, and not for each of them.
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
    // The token at hand serves meanwhile.
    const refreshed = token.refresh(isStart);
    isStart = false;
    const result = await connect(PUT_WITHIN_MS).updateLease(lease);
    await refreshed;
    return outcomeOf(result, retryAfterMs);
  };
}

function outcomeOf(result: ApiResult<Lease>, retryAfterMs: number): LeasePut {
  if (result.ok) return { kind: "renewed", lease: result.value };
  const { error } = result;
  if (isNotFound(error) || isConflict(error)) return { kind: "lost" };
  return { kind: "failed", isAnswered: error.kind === "status", retryAfterMs };
}
