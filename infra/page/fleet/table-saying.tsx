// One line above the rows: how many there are, or what is wrong with the search; it is always there, so that nothing jumps.
import { useComputed } from "@preact/signals";
import { withRest } from "../base/route.ts";
import { usePage } from "../page.ts";
import { Link } from "../parts/link.tsx";
import { countText } from "./fleet-list.ts";
import { SEARCH_FAULT_ID } from "./search-field.tsx";
import type { SearchFault } from "./search-terms.ts";

/** No filter, and the order as it is. */
const EVERYTHING = { q: undefined, state: undefined, outage: undefined, page: undefined };

interface TableSayingProps {
  matching: number;
  fault: SearchFault | null;
  /** Has the new order; null: there is none. */
  onSettle: (() => void) | null;
}

export function TableSaying({ matching, fault, onSettle }: TableSayingProps) {
  const { live, route } = usePage();
  const all = useComputed(() => {
    void live.revision.value;
    return live.machines().size;
  });
  return (
    <div class="fleet-saying">
      {fault ? (
        <p id={SEARCH_FAULT_ID} class="fleet-fault" role="alert">
          <code>{fault.term}</code> cannot be read: {fault.expected}. Shown is what was searched before.
        </p>
      ) : (
        <p class="quiet" role="status">
          {countText(matching, all.value)}
          {matching === 0 && (
            <>
              {" "}
              <Link href={withRest(route.value, EVERYTHING)}>Show all</Link>
            </>
          )}
        </p>
      )}
      {onSettle && (
        <p>
          The order has changed.{" "}
          <button type="button" onClick={onSettle}>
            Apply
          </button>
        </p>
      )}
    </div>
  );
}
