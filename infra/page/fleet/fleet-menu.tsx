// Draws a button that opens a small box below it. Escape, a link in the box, or the focus or a click elsewhere closes it.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface FleetMenuProps {
  title: string;
  /** The text of the button. By default the title. */
  word?: string;
  children: ComponentChildren;
}

export function FleetMenu({ title, word, children }: FleetMenuProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  const closeAfterLink = ({ target }: Event) => {
    if (menu.current && target instanceof Element && target.closest("a")) menu.current.open = false;
  };
  useEffect(() => {
    const close = ({ target }: Event) => {
      if (menu.current && !(target instanceof Node && menu.current.contains(target)))
        menu.current.open = false;
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || !menu.current?.open) return;
      menu.current.open = false;
      menu.current.querySelector("summary")?.focus();
    };
    addEventListener("pointerdown", close);
    addEventListener("focusin", close);
    addEventListener("keydown", onKey);
    return () => {
      removeEventListener("pointerdown", close);
      removeEventListener("focusin", close);
      removeEventListener("keydown", onKey);
    };
  }, []);
  return (
    <details ref={menu} class="fleet-menu" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary
        aria-label={word === undefined ? undefined : title}
        title={word === undefined ? undefined : title}
      >
        {word ?? title}
      </summary>
      <div class="fleet-menu-box" onClick={closeAfterLink}>
        {isOpen && children}
      </div>
    </details>
  );
}
