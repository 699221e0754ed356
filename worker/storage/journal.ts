// Stores a decision in one transaction: the conditions, the setters' memory, the events, and a line of history for each
// change.
import type { WarningReason } from "../../shared/kubernetes/event-reasons.ts";
import { departures, transitions } from "../../shared/fleet/history-lines.ts";
import { decidedConditions } from "../../shared/node/decided.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { ReportedMemory } from "../../shared/from-report/reported-status.ts";
import { SHIM_STARTED } from "../../shared/fleet/timeline.ts";
import type { HistoryKind } from "../../shared/protocol/operator-api.ts";
import type { History } from "./history.ts";
import type { NodeRecords, NodeRecordStore } from "./records.ts";
import type { OccurredEvent, Outbox } from "./outbox.ts";

export interface Decision {
  /** The Node as it should be now. */
  node: Node;
  /** In its stored form. */
  memory: ReportedMemory;
  events: readonly OccurredEvent[];
  nowMs: number;
}

export interface ProcessStart {
  process: NodeRecords["process"];
  /** The start's events, in order. */
  events: readonly OccurredEvent[];
  /** Event counts and the spam budget start again. */
  isFresh: boolean;
}

export interface Journal {
  /** Stores the decision before it returns; writes nothing if nothing changed. */
  decide: (decision: Decision) => void;
  /** Records the start of a process of the shim. Events once per process may then be recorded again. */
  begin: (start: ProcessStart, nowMs: number) => void;
  /** Adds an event without a decision. */
  tell: (event: OccurredEvent, nowMs: number) => void;
  /** Adds a line of history (by default of the kind `registration`), and a Warning event. */
  warn: (reason: WarningReason, text: string, nowMs: number, kind?: HistoryKind) => void;
  /** Adds a line of history. */
  note: (kind: HistoryKind, text: string, nowMs: number) => void;
}

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
): Journal {
  return {
    decide({ node, memory, events, nowMs }) {
      const decided = decidedConditions(node);
      // Almost every heartbeat ends here. An empty transaction would have a cost.
      if (events.length === 0 && records.holds("decided", decided) && records.holds("memory", memory)) return;
      storage.transactionSync(() => {
        const before = records.get("decided") ?? [];
        records.put("decided", decided);
        records.put("memory", memory);
        outbox.add(events, nowMs);
        history.add("condition", [...transitions(before, decided), ...departures(before, decided)], nowMs);
      });
    },
    begin({ process, events, isFresh }, nowMs) {
      storage.transactionSync(() => {
        records.put("process", process);
        // Removing an absent record costs nothing: a new object writes one row less.
        records.remove("decided");
        if (isFresh) records.remove("correlator");
        outbox.add(events, nowMs);
        history.add("registration", [SHIM_STARTED], nowMs);
      });
    },
    tell(event, nowMs) {
      outbox.add([event], nowMs);
    },
    warn(reason, text, nowMs, kind = "registration") {
      storage.transactionSync(() => {
        outbox.add([{ type: "Warning", reason, message: text }], nowMs);
        history.add(kind, [text], nowMs);
      });
    },
    note(kind, text, nowMs) {
      history.add(kind, [text], nowMs);
    },
  };
}
