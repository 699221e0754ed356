// Draws the bar below the table: actions for the selected or all matching machines, and running bulk actions.
import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { BulkProgress, BulksAnswer } from "../../../shared/protocol/administration-answers.ts";
import { usePolled } from "../parts/answer.tsx";
import { lazyView } from "../parts/lazy-view.tsx";
import type { BulkDialogProps } from "./bulk-dialog.tsx";
import { bulkTitle, nextLookMs, progressText, shownBulks } from "./bulk-words.ts";
import type { FleetQuery } from "./fleet-query.ts";
import { counted } from "./needs-words.ts";

export interface BulkBarProps {
  /** The names of the machines that the operator has selected. */
  selected: ReadonlySignal<ReadonlySet<string>>;
  /** The names of all machines that match the query, in the table's order. */
  matching: readonly string[];
  query: FleetQuery;
  /** Called after an action, to clear the selection. */
  onDone: () => void;
}

const BulkDialog = lazyView<BulkDialogProps>(async () => (await import("./bulk-dialog.tsx")).BulkDialog);

export function BulkActions({ selected, matching, query, onDone }: BulkBarProps) {
  const opened = useSignal<BulkDialogProps["about"] | null>(null);
  const begunHere = useSignal<ReadonlySet<string>>(new Set());
  const { value, now } = usePolled<BulksAnswer>("/v1/bulk", ({ bulks }) => nextLookMs(bulks));
  const close = () => {
    opened.value = null;
    now();
  };
  const begun = (id: string) => {
    begunHere.value = new Set([...begunHere.value, id]);
    onDone();
    now();
  };
  const putAway = (id: string) => {
    begunHere.value = new Set([...begunHere.value].filter((each) => each !== id));
  };
  return (
    <>
      <Which
        selected={selected}
        matching={matching}
        query={query}
        onClear={onDone}
        onAct={(names) => (opened.value = { names })}
      />
      {shownBulks(value?.bulks ?? [], begunHere.value).map((bulk) => (
        <BulkLine
          key={bulk.id}
          bulk={bulk}
          onShow={() => (opened.value = { id: bulk.id })}
          onPutAway={() => putAway(bulk.id)}
        />
      ))}
      {opened.value && <BulkDialog about={opened.value} onBegun={begun} onClose={close} />}
    </>
  );
}

interface WhichProps extends Omit<BulkBarProps, "onDone"> {
  onClear: () => void;
  onAct: (names: string[]) => void;
}

function Which({ selected, matching, query, onClear, onAct }: WhichProps) {
  const { size } = selected.value;
  const isFiltered = query.text !== "" || query.states.size > 0 || query.outage !== null;
  if (size > 0)
    return (
      <div class="bulk-which">
        <span>
          <strong>{size.toLocaleString("en")}</strong> selected
        </span>
        <button type="button" class="primary" onClick={() => onAct([...selected.value])}>
          Act on {size === 1 ? "it" : "them"} …
        </button>
        <button type="button" class="plain" onClick={onClear}>
          Clear
        </button>
      </div>
    );
  return (
    <div class="bulk-which">
      <span class="quiet">None selected</span>
      <button type="button" disabled={matching.length === 0} onClick={() => onAct([...matching])}>
        Act on all {counted(matching.length, "machine")}
        {isFiltered ? (matching.length === 1 ? " that matches" : " that match") : ""} …
      </button>
    </div>
  );
}

interface BulkLineProps {
  bulk: BulkProgress;
  onShow: () => void;
  onPutAway: () => void;
}

function BulkLine({ bulk, onShow, onPutAway }: BulkLineProps) {
  const { action, state, done, failed, total, createdBy } = bulk;
  const isRunning = state === "running";
  return (
    <div class="bulk-line">
      <strong>{bulkTitle(action)}</strong>
      {isRunning && <progress max={total} value={done + failed} aria-label={bulkTitle(action)} />}
      <span>{progressText(bulk)}</span>
      <span class="quiet">by {createdBy}</span>
      <button type="button" onClick={onShow}>
        Show
      </button>
      {!isRunning && (
        <button type="button" class="plain" aria-label="Close" onClick={onPutAway}>
          ✕
        </button>
      )}
    </div>
  );
}
