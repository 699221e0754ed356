// The shapes of which a machine's sections are made: a card with a heading, a fold that draws when it is opened.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type SectionId, sectionTitle } from "./sections.ts";

interface SectionProps {
  id: SectionId;
  /** Beside the heading. */
  aside?: ComponentChildren;
  children: ComponentChildren;
}

export function Section({ id, aside, children }: SectionProps) {
  return (
    <section id={id} class="machine-section card" aria-labelledby={`${id}-title`} tabIndex={-1}>
      <header class="row spread">
        <h2 id={`${id}-title`}>{sectionTitle(id)}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

interface FoldProps {
  title: ComponentChildren;
  children: ComponentChildren;
  isOpenFirst?: boolean;
}

/** What is in it is drawn, and asked for, once it is opened. */
export function Fold({ title, children, isOpenFirst = false }: FoldProps) {
  const [isOpen, setOpen] = useState(isOpenFirst);
  return (
    <details class="machine-fold" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && <div class="machine-folded">{children}</div>}
    </details>
  );
}

export const Nothing = ({ children }: { children: ComponentChildren }) => <p class="quiet">{children}</p>;
