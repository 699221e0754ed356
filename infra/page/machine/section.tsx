// Draws a machine's sections: their list with shortcuts, a card with a heading, and a fold drawn when it is opened.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

interface SectionProps {
  id: SectionId;
  /** Content next to the heading. */
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

/** Draws a fold. The content is drawn, and its data requested, only when the fold is opened. */
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

/** The sections in the order of the view, each with its shortcut. */
export const MACHINE_SECTIONS = [
  { id: "timeline", title: "Timeline", key: "t" },
  { id: "conditions", title: "Conditions", key: "c" },
  { id: "room", title: "Headroom", key: "m" },
  { id: "events", title: "Events", key: "e" },
  { id: "history", title: "History", key: "h" },
  { id: "facts", title: "Facts", key: "f" },
  { id: "hardware", title: "Hardware", key: "w" },
  { id: "labels", title: "Labels and taints", key: "l" },
  { id: "key", title: "Key and identity", key: "i" },
  { id: "yaml", title: "Node as YAML", key: "y" },
  { id: "internals", title: "Internals", key: "d" },
  { id: "actions", title: "Actions", key: "a" },
] as const;
export type SectionId = (typeof MACHINE_SECTIONS)[number]["id"];

const sectionTitle = (id: SectionId): string => MACHINE_SECTIONS.find((each) => each.id === id)?.title ?? id;
