// What the steps of one tick share: their input, what they remember, what came of them. Types only.
import type { ReportedMemory } from "../../shared/from-report/reported-status.ts";
import type { Lease, Node } from "../../shared/kubernetes/types.ts";
import type { HeartbeatState } from "../../shared/node/heartbeat.ts";
import type { Phase } from "../../shared/protocol/answers.ts";
import type { Report } from "../../shared/protocol/report.ts";
import type { Environment } from "../env.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { MachineLog } from "../log.ts";
import type { Journal } from "../storage/journal.ts";
import type { Enrolment, LostPhase, NodeRecords, NodeRecordStore } from "../storage/records.ts";

/** Why nothing more is written for a Node. */
export interface Loss {
  phase: LostPhase;
  /** For the log, history and an event. */
  reason: string;
}

/** What a tick remembers for the next one, and an eviction may lose. */
export interface TickMemory {
  /** The lease as it was written last: the next renewal needs no GET. */
  lease?: Lease | null;
  /** When a renewal last succeeded, as far as is known. */
  renewedAtMs?: number;
  /** What was said of the setters last: a fault that stays is said once. */
  setterErrors?: string;
  /** When the status was written last; the lease carries it over an eviction, so that it costs no row. */
  status?: HeartbeatState | undefined;
  /** The last heartbeat that was written: no later one may be older. */
  heartbeatMs?: number;
  /** What the setters remember; SQLite has it without what only counts while the machine reports. */
  setters?: ReportedMemory;
  /** The wait that follows the next registration attempt that fails. */
  registrationDelayMs?: number;
  /** When a name that is taken was looked at last. */
  lookedAtMs?: number;
}

export interface TickInput {
  env: Environment;
  enrolment: Enrolment;
  report: Report;
  records: NodeRecordStore;
  journal: Journal;
  memory: TickMemory;
  /** Date.now */
  nowMs: () => number;
  /** Math.random */
  random: () => number;
}

export interface TickOutcome {
  phase: Phase;
  ready: boolean;
  /** What the machine's operator can do something about. */
  message?: string;
  /** Sooner than the interval asks for. */
  reportInMs?: number;
}

/** What the steps of one tick share. */
export interface TickContext extends Omit<TickInput, "env"> {
  name: string;
  deployment: string;
  facts: NodeRecords["facts"]["facts"];
  /** A client whose calls end `withinMs` from now. */
  client: (withinMs: number) => KubeClient;
  log: MachineLog;
  /** The Node as this very tick has created it. */
  created?: Node;
  /** Set once the Node turns out to be no longer this machine's. */
  lost?: Loss;
}
