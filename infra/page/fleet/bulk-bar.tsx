// Below the table: acting on many machines. Loaded once the table is there, since nobody begins with it.
import type { ReadonlySignal } from "@preact/signals";
import { usePage } from "../page.ts";
import { lazyView } from "../parts/lazy-view.tsx";
import type { FleetQuery } from "./fleet-query.ts";

export interface BulkBarProps {
  /** Names. */
  selected: ReadonlySignal<ReadonlySet<string>>;
  /** Names of all machines that match the query, in the table's order. */
  matching: readonly string[];
  query: FleetQuery;
  /** Something was done with them: the selection is put away. */
  onDone: () => void;
}

const BulkWhich = lazyView<BulkBarProps>(async () => (await import("./bulk-which.tsx")).BulkWhich);

export function BulkBar(props: BulkBarProps) {
  // Who may only look would be refused all of it.
  if (!usePage().session.isAdmin()) return null;
  return (
    <section class="bulk-bar" aria-label="Acting on many machines">
      <BulkWhich {...props} />
    </section>
  );
}
