// What the fleet index stores of a machine, and the updates that its node object sends. Both are RPC values and stored
// JSON: fields are added, and never change their meaning. Times are milliseconds since 1970.
import type { Phase } from "../protocol/answers.ts";
import type { HistoryKind } from "../protocol/operator-api.ts";
import type { FleetState } from "./state.ts";

export interface SummarizedCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
  /** Time of the last transition; 0 if not known. */
  sinceMs: number;
}

/** A machine's summary. It changes on transitions only. */
export interface MachineSummary {
  state: FleetState;
  /** When the state began. */
  sinceMs: number;
  /** Phase of the last answer to the machine; null before the first. */
  phase: Phase | null;
  /** Why it is not ready, in one line for operators; "" if it is ready, or nothing is known. */
  why: string;
  /** The Node's conditions as last known or decided, in order: Ready is the last. */
  conditions: SummarizedCondition[];
  /** The Node's labels as last known, those of other writers included; {} without a Node. */
  labels: Record<string, string>;
  isUnschedulable: boolean;
  /** "" if not known. */
  versions: { shim: string; kernel: string; os: string; runtime: string; architecture: string };
  /** The Node's addresses. */
  addresses: { type: string; address: string }[];
  /** The address it reports from, as the Worker sees it; "" if the platform does not provide it. */
  address: string;
  /** The Node's capacity, as quantities. */
  capacity: Record<string, string>;
  /** How far its clock is ahead, to a second; 0 if at most a minute. */
  skewMs: number;
  /** Start of the silence; null if it is not silent. */
  silentSinceMs: number | null;
  /** The boot ID; "" if not known. */
  boot: string;
  /** Digest of the startId: equal digests mean the same process of the shim. */
  process: string;
  transport: "http" | "socket";
  /** What the deployment or the join token withholds from it, for operators; "" if nothing. */
  withheld: string;
  key: {
    /** JWK thumbprint (RFC 7638). */
    thumbprint: string;
    /** ID of the join token. */
    token: string;
    pinnedAtMs: number;
    /** Whether it has ever reported with this pin. */
    isUsed: boolean;
  };
  /** When the Node was created; 0 or absent if not known, or without a Node. */
  createdMs?: number;
}

/** A line of a machine's history. IDs rise within one generation. */
export interface UpdateEntry {
  id: number;
  atMs: number;
  kind: HistoryKind;
  text: string;
}

/** An update from a node object: the whole summary, and the lines of history that the index lacks. */
export interface MachineUpdate {
  name: string;
  /** Generation of the registry's pin. A newer one is another enrolment: its history begins again. */
  generation: number;
  /** Rises with each attempt, so that an update that arrives late changes nothing. */
  version: number;
  summary: MachineSummary;
  /** Oldest first. */
  entries: UpdateEntry[];
  /**
   * Earlier lines were sent before. An index that does not know the machine stores nothing, and its answer asks for all
   * lines.
   */
  isSequel?: true;
}

/** The answer: the last line of history that the index has. */
export interface UpdatedUntil {
  entryId: number;
}
