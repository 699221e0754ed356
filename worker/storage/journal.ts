// Stores what follows from a decision, in one transaction: the conditions, what the setters remember, the events that
// it causes, and a line of history for each change.
import type { WarningReason } from "../../shared/kubernetes/event-reasons.ts";
import { departures, transitions } from "../../shared/fleet/condition-lines.ts";
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
  /** In the form that SQLite keeps. */
  memory: ReportedMemory;
  events: readonly OccurredEvent[];
  nowMs: number;
}

export interface ProcessStart {
  process: NodeRecords["process"];
  /** Its own, in their order. */
  events: readonly OccurredEvent[];
  /** Its events count from the beginning, with a spam budget that is full. */
  isFresh: boolean;
}

export interface Journal {
  /** In SQLite before it returns; nothing is written where the decision changes nothing. */
  decide: (decision: Decision) => void;
  /** A process of the shim has started: what is recorded once per process may be recorded again. */
  begin: (start: ProcessStart, nowMs: number) => void;
  /** An event that follows from no decision. */
  tell: (event: OccurredEvent, nowMs: number) => void;
  /** A line of history (by default of the kind `registration`), and a Warning for the cluster. */
  warn: (reason: WarningReason, text: string, nowMs: number, kind?: HistoryKind) => void;
  /** A line of history. */
  note: (kind: HistoryKind, text: string, nowMs: number) => void;
}

/** What is stored about a machine: its records, and the journal, which adds to its history and outbox. */
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
      // True of almost every heartbeat. A transaction has a cost even where it writes nothing.
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
        // Removed, not emptied: a new object has none, and so writes one row less.
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
