// Draws the tools above the table: order, columns, CSV, and the number of machines.
import { useComputed } from "@preact/signals";
import type { FleetSearch, SearchFault } from "../../../shared/fleet/search-language.ts";
import { usePage } from "../page.ts";
import { lazyView } from "../parts/lazy-view.tsx";
import { columnToggled, csvPath, FLEET_COLUMNS, type FleetColumn } from "./columns.ts";
import { FleetMenu } from "./fleet-menu.tsx";
import { FLEET_SORTS, type FleetQuery, type FleetSort } from "./fleet-query.ts";
import { countText } from "./fleet-rows.ts";
import { SEARCH_FAULT_ID } from "./search-field.tsx";

interface TableToolsProps {
  query: FleetQuery;
  search: FleetSearch;
  columns: readonly FleetColumn[];
  onSort: (sort: FleetSort) => void;
  onColumns: (columns: readonly FleetColumn[]) => void;
}

export function TableTools({ query, search, columns, onSort, onColumns }: TableToolsProps) {
  const path = csvPath(query, search, columns);
  return (
    <div class="fleet-tools">
      <OrderChoice query={query} onSort={onSort} />
      <FleetMenu title="Groups">
        <GroupChoices />
      </FleetMenu>
      <FleetMenu title="Views">
        <SavedViews columns={columns} />
      </FleetMenu>
      <ColumnsMenu columns={columns} onChoose={onColumns} />
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

const SavedViews = lazyView<{ columns: readonly FleetColumn[] }>(
  async () => (await import("./saved-views.tsx")).SavedViews,
);
const GroupChoices = lazyView(async () => (await import("./group-table.tsx")).GroupChoices);

/** Draws a choice of the order for a phone, where the table has no head. */
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

interface ColumnsMenuProps {
  columns: readonly FleetColumn[];
  onChoose: (columns: readonly FleetColumn[]) => void;
}

function ColumnsMenu({ columns, onChoose }: ColumnsMenuProps) {
  return (
    <FleetMenu title="Columns">
      <fieldset class="fleet-columns">
        <legend class="visually-hidden">Columns</legend>
        {FLEET_COLUMNS.map(({ name, title, hint }) => (
          <label key={name} title={hint}>
            <input
              type="checkbox"
              checked={columns.some((column) => column.name === name)}
              disabled={name === "name"}
              onChange={() => onChoose(columnToggled(columns, name))}
            />{" "}
            {title}
          </label>
        ))}
      </fieldset>
    </FleetMenu>
  );
}

interface TableStatusProps {
  matching: number;
  fault: SearchFault | null;
  /** Applies the new order. null if the rows already have it. */
  onSettle: (() => void) | null;
}

export function TableStatus({ matching, fault, onSettle }: TableStatusProps) {
  const { live } = usePage();
  const all = useComputed(() => {
    void live.revision.value;
    return live.machines().size;
  });
  return (
    <div class="fleet-status">
      {onSettle && (
        <button type="button" title="The order has changed" onClick={onSettle}>
          Apply the new order
        </button>
      )}
      {fault ? (
        <p id={SEARCH_FAULT_ID} class="fleet-fault" role="alert">
          <code>{fault.term}</code> cannot be read: {fault.expected}. The table shows the search before.
        </p>
      ) : (
        <p class="quiet" role="status">
          {countText(matching, all.value)}
        </p>
      )}
    </div>
  );
}
