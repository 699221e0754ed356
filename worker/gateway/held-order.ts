// A standing order as a gateway has it in memory: what has become of it since its receipt, whether it is over, and what is
// given back of it. Asks nobody.
import {
  capacityOfSignals,
  type KeptSamples,
  NO_SAMPLES,
  sampleOf,
  thinned,
} from "../../shared/fleet/samples.ts";
import type { Lease } from "../../shared/kubernetes/types.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import type { ReturnedOrder, StandingOrder } from "../machine/lease-loan.ts";

/** Times are milliseconds since 1970. */
export interface HeldOrder {
  readonly order: StandingOrder;
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

export function holdOrder(order: StandingOrder, nowMs: number): HeldOrder {
  return {
    order,
    receivedMs: nowMs,
    lease: order.lease,
    isLeaseInDoubt: false,
    isFailing: false,
    askedMs: null,
    renewedMs: null,
    heardMs: null,
    vitals: order.vitals,
    skewMs: null,
    samples: NO_SAMPLES,
    requests: 0,
    isEnded: false,
  };
}

/** May nothing be renewed under it any more? A clock that was put back shows no durations. */
export function isOver(held: HeldOrder, nowMs: number): boolean {
  const { order, receivedMs, askedMs, renewedMs, heardMs } = held;
  if (held.isEnded || nowMs < Math.max(receivedMs, askedMs ?? 0, heardMs ?? 0)) return true;
  return nowMs - receivedMs >= order.quietForMs || nowMs - (renewedMs ?? receivedMs) >= order.leaseMs;
}

/** A heartbeat was accepted. */
export function noteBeat(
  held: HeldOrder,
  { vitals, skewMs }: { vitals: Vitals; skewMs: number },
  nowMs: number,
): void {
  const { capacity, samples } = held.samples;
  const sample = sampleOf(vitals.signals, nowMs);
  held.heardMs = nowMs;
  held.vitals = vitals;
  held.skewMs = skewMs;
  held.samples = {
    // Under one order it stays the same.
    capacity: capacity ?? capacityOfSignals(vitals.signals),
    samples: [...samples.slice(0, -1), ...thinned([...samples.slice(-1), sample], sample.atS)],
  };
}

export function returnedOrder(held: HeldOrder, nowMs: number): ReturnedOrder {
  const { order, vitals, skewMs, samples, requests } = held;
  const agoMs = (atMs: number | null) => (atMs === null ? null : Math.max(0, nowMs - atMs));
  return {
    epoch: order.epoch,
    lease: held.isLeaseInDoubt ? null : held.lease,
    renewedAgoMs: agoMs(held.renewedMs),
    heardAgoMs: agoMs(held.heardMs),
    vitals,
    skewMs,
    samples,
    requests,
    baton: order.baton,
  };
}
