// Draws the tools above the table (search, order, columns, mode, CSV, number of machines), and page links below.
import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { withRest } from "../base/places.ts";
import { usePage } from "../page.ts";
import { Link } from "../parts/link.tsx";
import { columnToggled, csvPath, FLEET_COLUMNS, type FleetColumn } from "./columns.ts";
import { FleetMenu } from "./fleet-menu.tsx";
import { FLEET_SORTS, type FleetQuery, type FleetSort, restOf, ROW_MODES } from "./fleet-query.ts";
import { countText } from "./fleet-rows.ts";
import { pageCount, pageNumbers } from "./row-window.ts";
import { SEARCH_FAULT_ID } from "./search-field.tsx";
import type { FleetSearch, SearchFault } from "./search-grammar.ts";

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

/** The parameters of the URL that a link without filters removes. The order stays. */
const EVERYTHING = { q: undefined, state: undefined, outage: undefined, page: undefined };

interface TableStatusProps {
  matching: number;
  fault: SearchFault | null;
  /** Applies the new order. null if the rows already have it. */
  onSettle: (() => void) | null;
}

export function TableStatus({ matching, fault, onSettle }: TableStatusProps) {
  const { live, route } = usePage();
  const all = useComputed(() => {
    void live.revision.value;
    return live.machines().size;
  });
  return (
    <div class="fleet-status">
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

export function PagesLinks({ query, count }: { query: FleetQuery; count: number }) {
  const { route } = usePage();
  const last = pageCount(count);
  const current = Math.min(query.page, last);
  const hrefOfPage = (page: number) => withRest(route.value, restOf({ ...query, page }));
  return (
    <nav class="fleet-pages" aria-label="Pages of the table">
      {current > 1 ? (
        <Link href={hrefOfPage(current - 1)}>Previous</Link>
      ) : (
        <span class="quiet">Previous</span>
      )}
      {pageNumbers(count, current).map((page, at) =>
        page === null ? (
          <span key={`gap-${at}`} class="quiet">
            …
          </span>
        ) : (
          <Link key={page} href={hrefOfPage(page)} isCurrent={page === current}>
            {page}
          </Link>
        ),
      )}
      {current < last ? <Link href={hrefOfPage(current + 1)}>Next</Link> : <span class="quiet">Next</span>}
    </nav>
  );
}
