// Limits the deliveries to each receiver: about machines with one join token, about outages of one network, about the
// cluster, and in all. Alerts beyond a limit wait; one later message then has all waiting alerts.
import type { Alert } from "../../shared/fleet/alert.ts";
import type { Row } from "../storage/query.ts";
import {
  DEPLOYMENT_SHARES,
  RATE_LIMITS,
  reserve,
  shares,
  type TokenBucket,
} from "../storage/token-bucket.ts";
import { DEPLOYMENT, HeldBack } from "./shares.ts";

/** The time without use after which a bucket is full again. */
const FULL_AFTER_MS = 15 * 60_000;
/** The least tokens of a bucket: after many alerts at once, the next alert waits for two intervals at most. */
const LEAST_LEFT = -1;

export class DeliveryRates {
  readonly #sql: SqlStorage;
  readonly #heldBack: HeldBack;
  readonly #factor: () => number;

  /** `factor` returns the deployment's SHARED_LIMITS_FACTOR. */
  constructor(sql: SqlStorage, factor: () => number) {
    this.#sql = sql;
    this.#heldBack = new HeldBack(sql);
    this.#factor = factor;
  }

  /** Returns the milliseconds until the receiver may get an alert about `subject`; 0 if it may get the alert now. */
  waitMs(receiver: string, subject: string, nowMs: number): number {
    for (const who of [subject, DEPLOYMENT]) {
      const { waitMs } = reserve(this.#bucket(receiver, who), this.#limit(who), 1, nowMs);
      if (waitMs === 0) continue;
      this.#heldBack.note("deliveries", who, nowMs);
      return waitMs;
    }
    return 0;
  }

  /** Counts deliveries. `subjects`: for each delivery, those of its alerts. */
  spend(receiver: string, subjects: readonly (readonly string[])[], nowMs: number): void {
    this.#sql.exec("DELETE FROM delivery_shares WHERE at_ms < ?", nowMs - FULL_AFTER_MS);
    for (const who of new Set([...subjects.flat(), DEPLOYMENT])) {
      const cost = subjects.filter((each) => who === DEPLOYMENT || each.includes(who)).length;
      const { bucket } = reserve(this.#bucket(receiver, who), this.#limit(who), cost, nowMs);
      const put = "INSERT OR REPLACE INTO delivery_shares VALUES (?, ?, ?, ?)";
      this.#sql.exec(put, receiver, who, Math.max(LEAST_LEFT, bucket.left), nowMs);
    }
  }

  #bucket(receiver: string, who: string): TokenBucket | undefined {
    const query =
      "SELECT left_now AS left, at_ms AS atMs FROM delivery_shares WHERE receiver = ? AND who = ?";
    return this.#sql.exec<Row<TokenBucket>>(query, receiver, who).toArray()[0];
  }

  #limit(who: string) {
    return shares(RATE_LIMITS.deliveries, this.#factor() * (who === DEPLOYMENT ? DEPLOYMENT_SHARES : 1));
  }
}

/** Returns what an alert is about, for the limits. `token`: the join token of the alert's first machine. */
export function subjectOf({ kind, address }: Pick<Alert, "kind" | "address">, token: string): string {
  return { machine: token, outage: `outage behind ${address}`, cluster: "cluster" }[kind];
}
