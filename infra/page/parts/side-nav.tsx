// Draws a machine's list of links: at the side of a wide screen, folded on a narrow screen.
import type { ComponentChildren } from "preact";

export function SideNav({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <>
      <nav class="machine-nav machine-nav-side" aria-label={title}>
        {children}
      </nav>
      <details class="machine-nav machine-nav-folded">
        <summary>{title}</summary>
        <nav aria-label={title}>{children}</nav>
      </details>
    </>
  );
}
