// Stores a decision in one transaction: conditions, the setters' memory, events, and a line of history per change.
import type { WarningReason } from "../../shared/kubernetes/event-reasons.ts";
import { departures, transitions } from "../../shared/fleet/history-lines.ts";
import { decidedConditions } from "../../shared/node/decided.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { ReportedMemory } from "../../shared/from-report/reported-status.ts";
import { SHIM_STARTED } from "../../shared/fleet/timeline.ts";
import type { HistoryKind } from "../../shared/protocol/history-kinds.ts";
import type { History } from "./history.ts";
import type { NodeRecords, NodeRecordStore } from "./records.ts";
import type { OccurredEvent, Outbox } from "./outbox.ts";

export interface Decision {
  /** The Node that the decision results in. */
  node: Node;
  /** The setters' memory in its stored form. */
  memory: ReportedMemory;
  events: readonly OccurredEvent[];
  nowMs: number;
}

export interface ProcessStart {
  process: NodeRecords["process"];
  /** The events of the process's start, in order. */
  events: readonly OccurredEvent[];
  /** true if event counts and the spam budget start again with this process. */
  isFresh: boolean;
}

export type Journal = ReturnType<typeof journal>;

/** A machine's stored state. */
export interface Stored {
  records: NodeRecordStore;
  journal: Journal;
}

export function journal(
  storage: DurableObjectStorage,
  records: NodeRecordStore,
  outbox: Pick<Outbox, "add">,
  history: Pick<History, "add">,
) {
  return {
    /** Stores the decision before it returns; writes nothing if nothing changed. */
    decide({ node, memory, events, nowMs }: Decision): void {
      const decided = decidedConditions(node);
      // Almost every heartbeat's decision ends here: even an empty transaction would have a cost.
      if (events.length === 0 && records.holds("decided", decided) && records.holds("memory", memory)) return;
      storage.transactionSync(() => {
        const before = records.get("decided") ?? [];
        records.put("decided", decided);
        records.put("memory", memory);
        outbox.add(events, nowMs);
        history.add("condition", [...transitions(before, decided), ...departures(before, decided)], nowMs);
      });
    },
    /** Records the start of a shim process. Events that occur once per process may be recorded again. */
    begin({ process, events, isFresh }: ProcessStart, nowMs: number): void {
      storage.transactionSync(() => {
        records.put("process", process);
        // Removing an absent record costs nothing, while a new object would write a row for an empty record.
        records.remove("decided");
        if (isFresh) records.remove("correlator");
        outbox.add(events, nowMs);
        history.add("registration", [SHIM_STARTED], nowMs);
      });
    },
    /** Adds an event that belongs to no decision. */
    tell(event: OccurredEvent, nowMs: number): void {
      outbox.add([event], nowMs);
    },
    /** Adds a line of history, and a Warning event with the same text. */
    warn(reason: WarningReason, text: string, nowMs: number, kind: HistoryKind = "registration"): void {
      storage.transactionSync(() => {
        outbox.add([{ type: "Warning", reason, message: text }], nowMs);
        history.add(kind, [text], nowMs);
      });
    },
    /** Adds a line of history. */
    note(kind: HistoryKind, text: string, nowMs: number): void {
      history.add(kind, [text], nowMs);
    },
  };
}
