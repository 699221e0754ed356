// The table's head: a button in each cell orders by it, and the other way round when it is pressed again.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { FleetColumn } from "./columns.ts";
import type { FleetSort } from "./fleet-query.ts";

interface MachineTableHeadProps {
  columns: readonly FleetColumn[];
  sort: FleetSort;
  isDescending: boolean;
  onSort: (sort: FleetSort) => void;
  /** Of all that match; null: nothing can be chosen. */
  selected: "all" | "some" | "none" | null;
  onSelectAll: (isChosen: boolean) => void;
}

export function MachineTableHead(props: MachineTableHeadProps) {
  const { columns, sort, isDescending, onSort, selected, onSelectAll } = props;
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (box.current) box.current.indeterminate = selected === "some";
  }, [selected]);
  return (
    <thead role="rowgroup">
      <tr role="row" aria-rowindex={1}>
        {selected !== null && (
          <th role="columnheader" scope="col" class="fleet-select">
            <label>
              <input
                ref={box}
                type="checkbox"
                checked={selected === "all"}
                aria-label="Select all that match"
                onClick={() => onSelectAll(selected !== "all")}
              />
            </label>
          </th>
        )}
        {columns.map(({ name, title, sort: by, hint, isNumber }) => (
          <th
            key={name}
            role="columnheader"
            scope="col"
            class={`fleet-cell-${name}${isNumber ? " number" : ""}`}
            title={hint}
            aria-sort={by === sort ? (isDescending ? "descending" : "ascending") : undefined}
          >
            {by ? (
              <button type="button" class="plain" onClick={() => onSort(by)}>
                {title}
                {by === sort && (
                  <span class="fleet-arrow" aria-hidden="true">
                    {isDescending ? "▼" : "▲"}
                  </span>
                )}
              </button>
            ) : (
              title
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}
