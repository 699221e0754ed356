// Draws tables, and a box that scrolls content wider than the screen.
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
  head: string;
  hint?: string;
  /** The class of the column's cells. The class `number` also aligns the head. */
  class?: string;
  cell: (row: Row) => ComponentChildren;
  /** true if the cell is the heading of its row. */
  isRowHead?: true;
}

interface TableProps<Row> {
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
}

export function Table<Row>(props: TableProps<Row>) {
  const { rows, columns, keyOf, rowClass, actions, class: className, caption, rowId } = props;
  return (
    <table class={className}>
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
      <tbody>
        {rows.map((row) => (
          <tr
            key={keyOf(row)}
            class={rowClass?.(row)}
            id={rowId?.(row)}
            tabIndex={rowId?.(row) === undefined ? undefined : -1}
          >
            {columns.map(({ head, class: of, cell, isRowHead }) => {
              const Cell = isRowHead ? "th" : "td";
              return (
                <Cell key={head} class={of} scope={isRowHead && "row"}>
                  {cell(row)}
                </Cell>
              );
            })}
            {actions && <td>{actions(row)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Draws a table in a card. */
export function CardTable<Row>({ label, ...table }: TableProps<Row> & { label: string }) {
  return (
    <ScrollBox label={label} class="card flush">
      <Table {...table} />
    </ScrollBox>
  );
}
