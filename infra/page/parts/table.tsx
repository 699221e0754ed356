// Tables, and the box in which content that is wider than the screen scrolls.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface ScrollBoxProps {
  /** The content's name for screen readers: "Join tokens". */
  label: string;
  class?: string;
  children: ComponentChildren;
}

/** Scrolls by itself, and the keyboard reaches it. */
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

type Head = string | { text: string; title: string };

interface TableProps {
  /** The table's name for screen readers. */
  label: string;
  /** An object is a column of numbers with a tooltip. */
  heads: readonly Head[];
  /** The last column has buttons. */
  hasActions?: boolean;
  /** Rows. */
  children: ComponentChildren;
}

export function Table({ label, heads, hasActions = false, children }: TableProps) {
  return (
    <ScrollBox label={label} class="card flush">
      <table>
        <TableHead heads={heads} hasActions={hasActions} />
        <tbody>{children}</tbody>
      </table>
    </ScrollBox>
  );
}

/** The head of a table that has its own box, or none. */
export function TableHead({ heads, hasActions = false }: Pick<TableProps, "heads" | "hasActions">) {
  return (
    <thead>
      <tr>
        {heads.map((head) => {
          const { text, title }: { text: string; title?: string } =
            typeof head === "string" ? { text: head } : head;
          return (
            <th key={text} scope="col" class={title && "number"} title={title}>
              {text}
            </th>
          );
        })}
        {hasActions && (
          <th scope="col">
            <span class="visually-hidden">Actions</span>
          </th>
        )}
      </tr>
    </thead>
  );
}
