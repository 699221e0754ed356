// Above the table: the search, the order where the head is not there, the columns, how one goes through the rows, the CSV.
import type { ComponentChildren } from "preact";
import { withRest } from "../base/route.ts";
import { usePage } from "../page.ts";
import { ColumnsMenu } from "./columns-menu.tsx";
import { FLEET_COLUMNS, type FleetColumn } from "./columns.ts";
import { csvPath } from "./csv.ts";
import { FLEET_SORTS, type FleetQuery, type FleetSort, restOf, ROW_MODES } from "./fleet-query.ts";
import type { FleetSearch } from "./search-terms.ts";

interface TableToolsProps {
  field: ComponentChildren;
  query: FleetQuery;
  search: FleetSearch;
  columns: readonly FleetColumn[];
  onSort: (sort: FleetSort) => void;
  onColumns: (columns: readonly FleetColumn[]) => void;
}

export function TableTools({ field, query, search, columns, onSort, onColumns }: TableToolsProps) {
  const path = csvPath(query, search, columns);
  return (
    <div class="fleet-tools">
      {field}
      <OrderChoice query={query} onSort={onSort} />
      <ColumnsMenu columns={columns} onChoose={onColumns} />
      <RowsChoice query={query} />
      {path === null ? (
        <span
          class="fleet-csv quiet"
          title="There is no CSV of an outage’s machines: clear that filter first"
        >
          CSV
        </span>
      ) : (
        <a class="fleet-csv" href={path} download="machines.csv" title="All machines that match, as CSV">
          CSV
        </a>
      )}
    </div>
  );
}

/** On a phone, where the table has no head. */
function OrderChoice({ query, onSort }: { query: FleetQuery; onSort: (sort: FleetSort) => void }) {
  const titles = new Map(FLEET_COLUMNS.map(({ sort, title }) => [sort, title]));
  const choose = ({ currentTarget }: { currentTarget: HTMLSelectElement }) => {
    const sort = FLEET_SORTS.find((each) => each === currentTarget.value);
    if (sort && sort !== query.sort) onSort(sort);
  };
  return (
    <span class="fleet-order">
      <select aria-label="Order by" value={query.sort} onChange={choose}>
        {FLEET_SORTS.map((sort) => (
          <option key={sort} value={sort}>
            {titles.get(sort)}
          </option>
        ))}
      </select>
      <button
        type="button"
        aria-label="Reverse the order"
        aria-pressed={query.isDescending}
        onClick={() => onSort(query.sort)}
      >
        {query.isDescending ? "▼" : "▲"}
      </button>
    </span>
  );
}

const MODE_WORDS = { scroll: "Scroll", pages: "Pages" } as const;

function RowsChoice({ query }: { query: FleetQuery }) {
  const { go, route } = usePage();
  const choose = ({ currentTarget }: { currentTarget: HTMLSelectElement }) => {
    const mode = ROW_MODES.find((each) => each === currentTarget.value) ?? "scroll";
    go(withRest(route.peek(), restOf({ ...query, mode, page: 1 })), "replace");
  };
  return (
    <select
      aria-label="How to go through the rows"
      title="How to go through the rows"
      value={query.mode}
      onChange={choose}
    >
      {ROW_MODES.map((mode) => (
        <option key={mode} value={mode}>
          {MODE_WORDS[mode]}
        </option>
      ))}
    </select>
  );
}
