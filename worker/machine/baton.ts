// What a machine's object has in memory, as it goes with a standing order and comes back with the next report: the object
// sleeps meanwhile, and wakes as if it had not. Plain values; of no meaning to whoever carries it.
import type { Report } from "../../shared/protocol/report.ts";
import type { WatchStanding } from "../cluster/watch-standing.ts";
import type { Allowance } from "../storage/allowance.ts";
import type { RequestsLeft } from "../storage/records.ts";
import type { UnstoredSamples } from "../storage/samples.ts";
import type { TickMemory } from "../tick/context.ts";
import type { Incumbent } from "./changed-facts.ts";
import type { Tickets } from "./tickets.ts";

/** Of its Upkeep. Times are milliseconds since 1970. */
export interface UpkeepMemory {
  /** Without the lease, which the order has. */
  tick: TickMemory;
  /** The last report, without its facts. */
  latest?: Report;
  latestMs: number;
  lastReportMs?: number;
  standing?: WatchStanding;
  between?: Allowance;
  /** To the apiserver, as the lease was lent. */
  requests: RequestsLeft;
}

export interface Baton {
  /** The enrolment that it is about. */
  enrolment: string;
  upkeep: UpkeepMemory;
  tickets: Tickets<never>;
  incumbent?: Incumbent;
  samples: UnstoredSamples;
}

/** They are stored, and long. */
export function withoutFacts(whole: Report): Report {
  const { facts: _, ...report } = whole;
  return report;
}
