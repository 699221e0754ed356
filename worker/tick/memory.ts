// A tick's memory for the next tick, which an eviction may lose. Steps return changed fields; only tick.ts writes.
import type { ReportedMemory } from "../../shared/from-report/reported-status.ts";
import type { Lease } from "../../shared/kubernetes/types.ts";
import type { HeartbeatState } from "../../shared/node/heartbeat.ts";
import type { WrittenParts } from "../../shared/node/parts.ts";
import type { BackOff, RepeatedFailures, StatusBudget } from "./budgets.ts";

export interface TickMemory {
  /** The lease as it was last written, so that the next renewal needs no GET. */
  lease?: Lease | null | undefined;
  /** The time of the last renewal that is known to have succeeded. */
  renewedAtMs?: number | undefined;
  /** The setters' errors that were logged last. An error that lasts is logged once. */
  setterErrors?: string;
  /** The time of the last status write. The lease has a copy for evictions, so that no row is needed. */
  status?: HeartbeatState | undefined;
  /** The status budget that is left; absent if full. The lease has a copy for evictions. */
  budget?: StatusBudget | undefined;
  /** The reason why the last due write had to wait. */
  withheld?: string | undefined;
  /** The version of the Node that was last read or written. SQLite has only the version of the Node's last change. */
  nodeVersion?: string | undefined;
  /** The time of the last heartbeat that was written. Later heartbeats must not have an earlier time. */
  heartbeatMs?: number;
  /** The memory of the setters. SQLite has this memory without the times that change with every report. */
  setters?: ReportedMemory | undefined;
  /** The last written values of the parts that other writers may undo. SQLite has only the parts that were undone. */
  written?: WrittenParts;
  /** Milliseconds to wait after the next failed attempt to register. */
  registrationDelayMs?: number | undefined;
  repeatedFailures?: RepeatedFailures | undefined;
  /** Present while the apiserver does not accept writes of the lease. `statusBackOff`: writes of the status. */
  leaseBackOff?: BackOff | undefined;
  statusBackOff?: BackOff | undefined;
  /** When a refused change of rules' taints is tried again, in milliseconds since 1970. */
  taintsAgainAtMs?: number | undefined;
  /** The time of the last check of a name that another writer has taken. */
  lookedAtMs?: number | undefined;
}
