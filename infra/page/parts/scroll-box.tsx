// A box for content that may be wider than the screen: it scrolls by itself, and the keyboard reaches it.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface ScrollBoxProps {
  /** The content's name for screen readers: "Join tokens". */
  label: string;
  class?: string;
  children: ComponentChildren;
}

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
