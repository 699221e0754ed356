// Draws tables, which become cards on a phone, and a box that scrolls content wider than the screen.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface ScrollBoxProps {
  /** The name of the content for screen readers, like "Join tokens". */
  label: string;
  class?: string;
  children: ComponentChildren;
}

/** Draws a box that scrolls by itself, and that the keyboard can reach if it scrolls. */
export function ScrollBox({ label, class: className = "", children }: ScrollBoxProps) {
  const box = useRef<HTMLDivElement>(null);
  const [isScrollable, setScrollable] = useState(false);
  useEffect(() => {
    const shown = box.current;
    if (!shown) return undefined;
    const observer = new ResizeObserver(() => setScrollable(shown.scrollWidth > shown.clientWidth));
    observer.observe(shown);
    for (const child of shown.children) observer.observe(child);
    return () => observer.disconnect();
  }, []);
  const reached = isScrollable ? { tabIndex: 0, role: "region" as const, "aria-label": label } : {};
  return (
    <div ref={box} class={`scroll ${className}`} {...reached}>
      {children}
    </div>
  );
}

export interface Column<Row> {
  /** The head of the column, and the name of the value in a card. */
  head: string;
  hint?: string | undefined;
  /** The class of the column's cells: `number` (which also aligns the head), `unbroken`, `wrap`, `mono`. */
  class?: string | undefined;
  cell: (row: Row) => ComponentChildren;
  /** true if the cell is the heading of its row. */
  isRowHead?: true;
}

interface TableProps<Row> {
  /** The name of the table for screen readers, like "Join tokens". */
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string | number;
  rowClass?: (row: Row) => string | undefined;
  /** Draws the buttons of a row, in a column of their own. */
  actions?: ((row: Row) => ComponentChildren) | false;
  class?: string;
  caption?: ComponentChildren;
  /** Returns the ID of a row. A row with an ID can get the focus. */
  rowId?: (row: Row) => string | undefined;
  /** Returns the group of a row. A line separates groups, whose rows are next to each other. */
  groupOf?: (row: Row) => string;
  /** `scrolls`: a narrow screen scrolls the table. Otherwise the rows become cards there. */
  narrow?: "scrolls";
}

/** Draws a table. On a phone each row is a card: the heading of the row, then a line for each value with its name. */
export function DataTable<Row>(props: TableProps<Row>) {
  const { label, rows, columns, actions, class: className = "", caption, groupOf, narrow } = props;
  const groups = groupOf ? [...Map.groupBy(rows, groupOf)] : [["", rows] as const];
  return (
    <ScrollBox label={label}>
      <table class={`${className} ${narrow === "scrolls" ? "" : "cards"}`} aria-label={label}>
        {caption && <caption>{caption}</caption>}
        <thead>
          <tr>
            {columns.map(({ head, hint, class: of }) => (
              <th key={head} scope="col" class={of === "number" ? of : undefined} title={hint}>
                {head}
              </th>
            ))}
            {actions && (
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        {groups.map(([group, of]) => (
          <tbody key={group}>
            {of.map((row) => (
              <TableRow key={props.keyOf(row)} row={row} table={props} />
            ))}
          </tbody>
        ))}
      </table>
    </ScrollBox>
  );
}

function TableRow<Row>({ row, table }: { row: Row; table: TableProps<Row> }) {
  const { columns, rowClass, rowId, actions } = table;
  const id = rowId?.(row);
  const buttons = actions && actions(row);
  return (
    <tr class={rowClass?.(row)} id={id} tabIndex={id === undefined ? undefined : -1}>
      {columns.map(({ head, class: of, cell, isRowHead }) => {
        const Cell = isRowHead ? "th" : "td";
        return (
          <Cell key={head} class={of} scope={isRowHead && "row"} data-head={head}>
            {cell(row)}
          </Cell>
        );
      })}
      {actions && <td class="acts">{buttons}</td>}
    </tr>
  );
}

interface CardTableProps<Row> extends TableProps<Row> {
  /** The sentence that replaces a table without rows. */
  none?: ComponentChildren;
}

/** Draws a table in a card. */
export function CardTable<Row>({ none = "There are none.", ...props }: CardTableProps<Row>) {
  if (props.rows.length === 0) return <p class="card">{none}</p>;
  return (
    <div class="card flush">
      <DataTable {...props} />
    </div>
  );
}
