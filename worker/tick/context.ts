// What the steps of one tick share: their input, what they remember, and their outcome. Types only.
import type { ReportedMemory } from "../../shared/from-report/reported-status.ts";
import type { Lease, Node } from "../../shared/kubernetes/types.ts";
import type { HeartbeatState } from "../../shared/node/heartbeat.ts";
import type { Phase } from "../../shared/protocol/answers.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Report } from "../../shared/protocol/report.ts";
import type { WrittenParts } from "../../shared/node/parts.ts";
import type { NodeMarks } from "../../shared/node/own-labels.ts";
import type { Environment, RegisterAgain } from "../env.ts";
import type { TokenSource } from "../kube/token.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { BackOff, RequestBudget, StatusBudget } from "./budgets.ts";
import type { MachineLog } from "../log.ts";
import type { Journal } from "../storage/journal.ts";
import type { Enrolment, LostPhase, NodeRecordStore } from "../storage/records.ts";

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
  /** The setters' errors as they were logged last: an error that stays is logged once. */
  setterErrors?: string;
  /** When the status was written last. The lease keeps it during an eviction, so that it costs no row. */
  status?: HeartbeatState | undefined;
  /** What the machine may still have written of its Node; the lease carries it as well. Absent: full. */
  budget?: StatusBudget | undefined;
  /** Why the last write that was due had to wait. */
  withheld?: string | undefined;
  /** Of the Node as it was last read or written; in SQLite it is as old as the last change. */
  nodeVersion?: string | undefined;
  /** The last heartbeat that was written: no later one may be older. */
  heartbeatMs?: number;
  /** What the setters remember; SQLite has it without the times that change with every report. */
  setters?: ReportedMemory;
  /** What was written of the parts of ours that somebody may undo; SQLite has those that somebody has undone. */
  written?: WrittenParts;
  /** The wait that follows the next registration attempt that fails. */
  registrationDelayMs?: number;
  /** How many updates have failed after one that failed, since this object woke. */
  repeatedFailures?: { lease: number; status: number };
  /** The lease, and the status, could not be written in the last ticks. */
  leaseBackOff?: BackOff | undefined;
  statusBackOff?: BackOff | undefined;
  /** When a taken name was last checked. */
  lookedAtMs?: number;
}

export interface TickInput {
  env: Environment;
  marks: NodeMarks;
  /** The cluster token as it is now. */
  token: TokenSource;
  enrolment: Enrolment;
  report: Report;
  /** The last good ones, within the deployment's bounds; undefined: there are none. */
  facts: Facts | undefined;
  records: NodeRecordStore;
  journal: Journal;
  memory: TickMemory;
  /** What the machine may still have the apiserver asked. */
  requests: RequestBudget;
  /** Asks the cluster's object: is every change of the Node by others known here? Never rejects. */
  isWatched: () => Promise<boolean>;
  /** currentMs */
  nowMs: () => number;
  /** Math.random */
  random: () => number;
}

export interface TickOutcome {
  phase: Phase;
  ready: boolean;
  /** For the machine's operator, who can do something about it. */
  message?: string;
  /** Present where the machine is to report sooner than its interval. */
  reportInMs?: number;
}

export interface TickContext extends Omit<TickInput, "env" | "token"> {
  name: string;
  deployment: string;
  registerAgain: RegisterAgain;
  facts: Facts;
  /** A client whose calls end `withinMs` from now. */
  client: (withinMs: number) => KubeClient;
  log: MachineLog;
  /** Asks the fleet index for the milliseconds until the Node's form may change; null if it does not answer. */
  formTurn: () => Promise<number | null>;
  /** The Node, if this tick has created it. */
  created?: Node;
  /** Set once the Node turns out to be no longer this machine's. */
  lost?: Loss;
}
