// The table itself: its head, and those of its rows that can be seen or are on this page.
import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import type { FleetColumn } from "./columns.ts";
import type { FleetQuery, FleetSort } from "./fleet-query.ts";
import { MachineTableHead } from "./machine-table-head.tsx";
import { MachineRow } from "./machine-table-row.tsx";
import { howMany, type Selection } from "./selection.ts";
import { useTableKeys } from "./table-keys.ts";
import { useRowWindow } from "./use-row-window.ts";
import { pageWindow } from "./windowing.ts";

interface MachineRowsProps {
  body: RefObject<HTMLTableSectionElement | null>;
  query: FleetQuery;
  columns: readonly FleetColumn[];
  rows: readonly FeedMachine[];
  /** null: nothing can be chosen. */
  selected: Selection | null;
  onSort: (sort: FleetSort) => void;
  onSelect: (name: string, isRange: boolean) => void;
  onSelectAll: (isChosen: boolean) => void;
}

/** In rem. */
const SELECT_WIDTH = 2.5;
const LEAST_REST_WIDTH = 14;

export function MachineRows(props: MachineRowsProps) {
  const { body, query, columns, rows, selected, onSort, onSelect, onSelectAll } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const { rowHeight, ...seen } = useRowWindow(body, scroller, rows.length);
  const isPaged = query.mode === "pages";
  const { from, to } = isPaged ? pageWindow(rows.length, query.page) : seen;
  const canSelect = selected !== null;
  useTableKeys({
    body,
    reach: isPaged ? { from, to } : { from: 0, to: rows.length },
    toggle: canSelect ? (index) => rows[index] && onSelect(rows[index].name, false) : undefined,
  });
  const width = columns.reduce((sum, column) => sum + (column.width ?? LEAST_REST_WIDTH), SELECT_WIDTH);
  return (
    <div ref={scroller} data-scrolls="machines" class={`fleet-scroll${isPaged ? " fleet-paged" : ""}`}>
      <table
        role="table"
        class="fleet-table"
        aria-label="Machines"
        aria-rowcount={rows.length + 1}
        style={{ minWidth: `${width}rem` }}
      >
        <colgroup>
          {canSelect && <col class="fleet-select" style={{ width: `${SELECT_WIDTH}rem` }} />}
          {columns.map(({ name, width }) => (
            <col key={name} style={width === undefined ? {} : { width: `${width}rem` }} />
          ))}
        </colgroup>
        <MachineTableHead
          columns={columns}
          sort={query.sort}
          isDescending={query.isDescending}
          onSort={onSort}
          selected={selected && howMany(selected, rows)}
          onSelectAll={onSelectAll}
        />
        <tbody ref={body} role="rowgroup">
          {!isPaged && from > 0 && <Gap key="above" height={from * rowHeight} />}
          {rows.slice(from, to).map((machine, at) => (
            <MachineRow
              key={machine.name}
              machine={machine}
              index={from + at}
              columns={columns}
              isSelected={selected && selected.has(machine.name)}
              onSelect={onSelect}
            />
          ))}
          {!isPaged && to < rows.length && <Gap key="below" height={(rows.length - to) * rowHeight} />}
        </tbody>
      </table>
    </div>
  );
}

/** In place of the rows that are not drawn. */
function Gap({ height }: { height: number }) {
  return <tr class="fleet-gap" aria-hidden="true" style={{ height: `${height}px` }} />;
}
