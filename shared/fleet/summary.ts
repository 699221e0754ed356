// Defines a machine's summary in the fleet index, and the node object's updates. The summary and the updates are
// RPC values and stored JSON: fields are added, and never change their meaning. Times are milliseconds since 1970.
import type { Phase } from "../protocol/answers.ts";
import type { HistoryKind } from "../protocol/history-kinds.ts";
import type { FleetState } from "./state.ts";

export interface SummarizedCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
  /** The time of the condition's last transition; 0 if not known. */
  sinceMs: number;
}

/** A machine's summary, which changes only on transitions, not with every report. */
export interface MachineSummary {
  state: FleetState;
  /** The start of the state. */
  sinceMs: number;
  /** The phase of the last answer to the machine; null until the first answer. */
  phase: Phase | null;
  /** The reason why the machine is not ready, in one line for operators; "" if it is ready, or no reason is known. */
  why: string;
  /** The Node's conditions as last known or decided. Ready is the last one. */
  conditions: SummarizedCondition[];
  /** The Node's labels as last known, including labels of other writers; {} without a Node. */
  labels: Record<string, string>;
  isUnschedulable: boolean;
  /** The versions by the machine's facts; "" if not known. */
  versions: { shim: string; kernel: string; os: string; runtime: string; architecture: string };
  /** The Node's addresses. */
  addresses: { type: string; address: string }[];
  /** The address that the machine reports from, as the Worker sees it; "" if the platform does not provide it. */
  address: string;
  /** The Node's capacity: quantities by resource name. */
  capacity: Record<string, string>;
  /** The time by which the machine's clock is ahead, to a second; 0 if it differs by at most a minute. */
  skewMs: number;
  /** The start of the silence; null if the machine is not silent. */
  silentSinceMs: number | null;
  /** The machine's boot ID; "" if not known. */
  boot: string;
  /** The digest of the startId: an equal digest means the same process of the shim. */
  process: string;
  transport: "http" | "socket";
  /** The parts that the deployment or the join token withholds from the machine, for operators; "" if none. */
  withheld: string;
  key: {
    /** The JWK thumbprint of the machine's key (RFC 7638). */
    thumbprint: string;
    /** The ID of the join token that the machine enrolled with. */
    token: string;
    pinnedAtMs: number;
    /** true if the machine has ever reported with the key of its present pin. */
    isUsed: boolean;
  };
  /** The time at which the Node was created; 0 or absent if it is unknown, or the machine has no Node. */
  createdMs?: number;
  /** The feature rules that match the machine, as `object/rule`, sorted; absent if none matches. */
  rules?: string[];
}

/** A line of a machine's history. IDs increase within one generation. */
export interface UpdateEntry {
  id: number;
  atMs: number;
  kind: HistoryKind;
  text: string;
}

/** An update from a node object: the whole summary, and the lines of history that the fleet index lacks. */
export interface MachineUpdate {
  name: string;
  /** The generation of the registry's pin. With a newer generation the machine's history starts again. */
  generation: number;
  /** The update's number, which increases with each attempt; the fleet index ignores an update that arrives late. */
  version: number;
  summary: MachineSummary;
  /** The new lines of history, oldest first. */
  entries: UpdateEntry[];
  /** true if earlier lines were sent before; an index that does not know the machine then asks for all lines. */
  isSequel?: true;
}

/** The answer to an update: the last line of history that the fleet index has. */
export interface UpdatedUntil {
  entryId: number;
}
