// What a tick remembers for the next one. An eviction may lose it. Steps take the fields that they need and return those
// that have changed; only tick.ts writes them here.
import type { ReportedMemory } from "../../shared/from-report/reported-status.ts";
import type { Lease } from "../../shared/kubernetes/types.ts";
import type { HeartbeatState } from "../../shared/node/heartbeat.ts";
import type { WrittenParts } from "../../shared/node/parts.ts";
import type { BackOff, RepeatedFailures, StatusBudget } from "./budgets.ts";

export interface TickMemory {
  /** The lease as it was last written: the next renewal needs no GET. */
  lease?: Lease | null | undefined;
  /** The time of the last renewal that is known to have succeeded. */
  renewedAtMs?: number | undefined;
  /** The errors of the setters that were last logged. An error that stays is logged once. */
  setterErrors?: string;
  /** When the status was last written. The lease carries it through an eviction, so that it costs no row. */
  status?: HeartbeatState | undefined;
  /** How much of its Node the machine may still have written. The lease carries it as well. Absent: full. */
  budget?: StatusBudget | undefined;
  /** Why the last write that was due had to wait. */
  withheld?: string | undefined;
  /** The version of the Node that was last read or written. The row in SQLite has the version of the last change. */
  nodeVersion?: string | undefined;
  /** The last heartbeat that was written. No later heartbeat may be older. */
  heartbeatMs?: number;
  /** What the setters remember. SQLite has it without the times that change with every report. */
  setters?: ReportedMemory | undefined;
  /** What was written of the parts that other writers may undo. SQLite has the parts that were undone. */
  written?: WrittenParts;
  /** The delay after the next registration attempt that fails. */
  registrationDelayMs?: number | undefined;
  repeatedFailures?: RepeatedFailures | undefined;
  /** Present while the apiserver fails to take the lease, or the status. */
  leaseBackOff?: BackOff | undefined;
  statusBackOff?: BackOff | undefined;
  /** When a taken name was last checked. */
  lookedAtMs?: number | undefined;
}
