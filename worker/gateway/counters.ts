// Counts the events of a gateway for GET /metrics. The counts are only in memory, since they are not worth stored rows.
import {
  AGAIN_REASONS,
  type AgainReason,
  CLOSING_REASONS,
  type ClosingReason,
} from "../../shared/protocol/frames.ts";
import type { Durations, Measured, Sample } from "../metrics/metrics.ts";

/** The outcomes of a PUT of a lease. `late`: the PUT waited too long, and was not sent. */
const OUTCOMES = ["renewed", "lost", "failed", "late"] as const;
type RenewalOutcome = (typeof OUTCOMES)[number];
/** The results of samples of usage. `dropped`: too many samples waited. `expired`: a machine had no room for the sample. */
const USAGE_OUTCOMES = ["sent", "refused", "dropped", "expired"] as const;
type UsageOutcome = (typeof USAGE_OUTCOMES)[number];
/** The reasons in the metric of closed sockets. A machine that leaves gets a `left` frame, not a `closing` frame. */
const ENDS = [...CLOSING_REASONS, "left"] as const;
type SocketEnd = ClosingReason | "left";

/** The current values of a gateway's gauges. */
export interface GatewayStatus {
  gateway: number;
  members: number;
  isSuspended: boolean;
  /** The number of PUTs that wait, and the seconds for which the first of them has waited. */
  queue: { length: number; seconds: number };
}

export class GatewayCounters {
  readonly #sinceMs: number;
  readonly #again = zeros<AgainReason>(AGAIN_REASONS);
  readonly #ends = zeros<SocketEnd>(ENDS);
  readonly #renewals = zeros<RenewalOutcome>(OUTCOMES);
  readonly #usage = zeros<UsageOutcome>(USAGE_OUTCOMES);
  #heartbeats = 0;
  #quiet = 0;

  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  heartbeat(): void {
    this.#heartbeats++;
  }

  quiet(): void {
    this.#quiet++;
  }

  again(reason: AgainReason): void {
    this.#again[reason]++;
  }

  ended(how: SocketEnd): void {
    this.#ends[how]++;
  }

  renewal(outcome: RenewalOutcome): void {
    this.#renewals[outcome]++;
  }

  usage(outcome: UsageOutcome, samples: number): void {
    this.#usage[outcome] += samples;
  }

  measure(status: GatewayStatus, durations: Pick<Durations, "samples">): Measured {
    const { gateway, members, isSuspended, queue } = status;
    const labels = { gateway: String(gateway) };
    const count = (value: number): Sample[] => [{ labels, value, sinceMs: this.#sinceMs }];
    const each = (counted: Record<string, number>, label: string) =>
      Object.entries(counted).map(([key, value]): Sample => {
        return { labels: { ...labels, [label]: key }, value, sinceMs: this.#sinceMs };
      });
    return {
      rollcall_gateway_machines: [{ labels, value: members }],
      rollcall_gateway_suspended: [{ labels, value: isSuspended ? 1 : 0 }],
      rollcall_gateway_waiting_renewals: [{ labels, value: queue.length }],
      rollcall_gateway_longest_wait_seconds: [{ labels, value: queue.seconds }],
      rollcall_gateway_heartbeats_total: count(this.#heartbeats),
      rollcall_gateway_quiet_heartbeats_total: count(this.#quiet),
      rollcall_gateway_again_total: each(this.#again, "reason"),
      rollcall_gateway_renewals_total: each(this.#renewals, "outcome"),
      rollcall_gateway_closed_sockets_total: each(this.#ends, "reason"),
      rollcall_gateway_usage_samples_total: each(this.#usage, "outcome"),
      rollcall_gateway_request_duration_seconds: durations
        .samples()
        .map((sample) => ({ ...sample, labels: { ...labels, ...sample.labels } })),
    };
  }
}

function zeros<Key extends string>(keys: readonly Key[]): Record<Key, number> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the object has each key
  return Object.fromEntries(keys.map((key) => [key, 0])) as Record<Key, number>;
}
