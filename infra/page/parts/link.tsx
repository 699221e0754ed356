// A link to another place of the page: opened without loading anew, and as any link in a new tab.
import type { ComponentChildren } from "preact";
import { usePage } from "../page.ts";

interface LinkProps {
  /** Of hrefOf or withRest. */
  href: string;
  children: ComponentChildren;
  class?: string | undefined;
  title?: string | undefined;
  isCurrent?: boolean;
  /** It was opened here, and not in a new tab. */
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
