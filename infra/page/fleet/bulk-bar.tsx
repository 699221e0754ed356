// Draws the bar of the selection: the number of selected machines, actions on them, and running bulk actions.
import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { BulkProgress, BulksAnswer } from "../../../shared/protocol/administration-answers.ts";
import { usePage } from "../page.ts";
import { usePolled } from "../parts/answer.tsx";
import { lazyView } from "../parts/lazy-view.tsx";
import { MaintenanceDialog, MuteDialog } from "../parts/quiet.tsx";
import type { BulkDialogProps } from "./bulk-dialog.tsx";
import { bulkTitle, nextLookMs, progressText, shownBulks } from "./bulk-words.ts";

interface BulkBarProps {
  /** The names of the machines that the operator has selected. */
  selected: ReadonlySignal<ReadonlySet<string>>;
  /** The names of all machines that match the query, in the table's order. */
  matching: readonly string[];
  /** Selects all machines that match the query. */
  onSelectAll: () => void;
  /** Called after an action, to clear the selection. */
  onDone: () => void;
}

const BulkDialog = lazyView<BulkDialogProps>(async () => (await import("./bulk-dialog.tsx")).BulkDialog);
/** Draws nothing without a selection and without an action. The bar stays on the screen, below the rows. */
export function BulkBar({ selected, matching, onSelectAll, onDone }: BulkBarProps) {
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
  const bulks = shownBulks(value?.bulks ?? [], begunHere.value);
  const isShown = selected.value.size > 0 || bulks.length > 0;
  return (
    <>
      {isShown && (
        <section class="bulk-bar" aria-label="Acting on many machines">
          <Selected
            selected={selected}
            matching={matching}
            onSelectAll={onSelectAll}
            onClear={onDone}
            onAct={(names) => (opened.value = { names })}
          />
          {bulks.map((bulk) => (
            <BulkLine
              key={bulk.id}
              bulk={bulk}
              onShow={() => (opened.value = { id: bulk.id })}
              onPutAway={() => putAway(bulk.id)}
            />
          ))}
        </section>
      )}
      {opened.value && <BulkDialog about={opened.value} onBegun={begun} onClose={close} />}
    </>
  );
}

interface SelectedProps extends Omit<BulkBarProps, "onDone"> {
  onClear: () => void;
  onAct: (names: string[]) => void;
}

function Selected({ selected, matching, onSelectAll, onClear, onAct }: SelectedProps) {
  const { live, session } = usePage();
  const isLive = live.connection.value.kind === "live";
  const opened = useSignal<"mute" | "maintenance" | null>(null);
  const close = () => (opened.value = null);
  const { size } = selected.value;
  if (size === 0) return null;
  const more = matching.filter((name) => !selected.value.has(name)).length;
  return (
    <div class="bulk-which">
      <span>
        <strong>{size.toLocaleString("en")}</strong> selected
      </span>
      <button
        type="button"
        class="primary"
        disabled={!isLive}
        title={isLive ? undefined : "The page is stale: the machines may have changed"}
        onClick={() => onAct([...selected.value])}
      >
        Act on {size === 1 ? "it" : "them"} …
      </button>
      {session.refusal("POST /v1/mutes") === null && (
        <button type="button" disabled={!isLive} onClick={() => (opened.value = "mute")}>
          Mute …
        </button>
      )}
      <button type="button" disabled={!isLive} onClick={() => (opened.value = "maintenance")}>
        Maintenance …
      </button>
      {opened.value === "mute" && <MuteDialog machines={[...selected.value]} onClose={close} />}
      {opened.value === "maintenance" && <MaintenanceDialog machines={[...selected.value]} onClose={close} />}
      {more > 0 && (
        <button type="button" onClick={onSelectAll}>
          Select all {matching.length.toLocaleString("en")}
        </button>
      )}
      <button type="button" class="plain" onClick={onClear}>
        Clear
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
