// Draws a link to another place of the page. The link opens without a reload, or in a new tab like any link.
import type { ComponentChildren } from "preact";
import { usePage } from "../page.ts";

interface LinkProps {
  /** The address, from hrefOf or withRest. */
  href: string;
  children: ComponentChildren;
  class?: string | undefined;
  title?: string | undefined;
  isCurrent?: boolean;
  /** Called if the link opens in this tab. */
  onOpen?: (() => void) | undefined;
}

export function Link({ href, children, class: className, title, isCurrent, onOpen }: LinkProps) {
  const { go } = usePage();
  const open = (event: MouseEvent) => {
    const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!isPlain) return;
    event.preventDefault();
    go(href);
    onOpen?.();
  };
  return (
    <a
      href={href}
      class={className}
      title={title}
      aria-current={isCurrent ? "page" : undefined}
      onClick={open}
    >
      {children}
    </a>
  );
}
