// What the fleet index holds of a machine, and how its node object tells it. Both are RPC values and stored JSON: fields
// are added, and never change their meaning. Times are milliseconds since 1970.
import type { Phase } from "../protocol/answers.ts";
import type { HistoryKind } from "../protocol/operator-api.ts";
import type { FleetState } from "./state.ts";

export interface SummarizedCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
  /** Of the last transition; 0: not known. */
  sinceMs: number;
}

/** It changes on transitions only: nothing in it moves while a machine is steady. */
export interface MachineSummary {
  state: FleetState;
  /** When the state began. */
  sinceMs: number;
  /** Of the last answer to the machine; null: it has had none. */
  phase: Phase | null;
  /** Why it is not ready, in one line, for operators; "": nothing is known, or it is ready. */
  why: string;
  /** The Node's, as last known or decided, in its order: Ready is the last. */
  conditions: SummarizedCondition[];
  /** The Node's as last known, others' included; {} where there was none. */
  labels: Record<string, string>;
  isUnschedulable: boolean;
  /** "": not known. */
  versions: { shim: string; kernel: string; os: string; runtime: string; architecture: string };
  /** The Node's. */
  addresses: { type: string; address: string }[];
  /** From which it reports, as the Worker sees it; "": the platform does not say. */
  address: string;
  /** The Node's capacity, as quantities. */
  capacity: Record<string, string>;
  /** How far its clock is ahead, to a second; 0 unless that is more than a minute. */
  skewMs: number;
  /** Since when it is silent; null: it is not. */
  silentSinceMs: number | null;
  /** The boot ID; "": not known. */
  boot: string;
  /** A digest of the startId: equal ones are the same process. */
  process: string;
  transport: "http" | "socket";
  /** What the deployment or the join token does not let it have, for operators; "": nothing. */
  withheld: string;
  key: {
    /** RFC 7638. */
    thumbprint: string;
    /** ID of the join token. */
    token: string;
    pinnedAtMs: number;
    /** Has it ever reported with this pin? */
    isUsed: boolean;
  };
  /** When the Node, as last known, was created; 0, or absent in what an earlier version told: not known, or there is none. */
  createdMs?: number;
}

/** A line of a machine's history; IDs rise within one generation. */
export interface ToldEntry {
  id: number;
  atMs: number;
  kind: HistoryKind;
  text: string;
}

/** What a node object tells of its machine: all of it, and the lines of history that were not told yet. */
export interface MachineTelling {
  name: string;
  /** Of the registry's pin. A newer one is another machine, or the same anew: its history begins again. */
  generation: number;
  /** Rises with each attempt to tell, so that one that comes late changes nothing. */
  version: number;
  summary: MachineSummary;
  /** Oldest first. */
  entries: ToldEntry[];
  /**
   * There are lines before these, which were told. An index that does not know the machine takes nothing of it, and asks for
   * all by its answer.
   */
  isSequel?: true;
}

/** The answer: from which line of history on the next telling is to have. */
export interface ToldUntil {
  entryId: number;
}
