// Draws a link to another place of the page. The link opens without a reload, or in a new tab like any link. Draws the
// links between the pages of a list.
import type { ComponentChildren } from "preact";
import { withRest } from "../base/places.ts";
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

interface PageLinksProps {
  /** The parameter `after` of the present page; undefined on the first page. */
  after: string | undefined;
  /** The parameter `after` of the next page; null or undefined on the last page. */
  next: string | null | undefined;
  /** The words of the two links. */
  first: string;
  following: string;
}

export function PageLinks({ after, next, first, following }: PageLinksProps) {
  const route = usePage().route.value;
  if (after === undefined && !next) return null;
  return (
    <nav class="row" aria-label="Pages">
      {after !== undefined && <Link href={withRest(route, { after: undefined })}>{first}</Link>}
      {next && <Link href={withRest(route, { after: next })}>{following}</Link>}
    </nav>
  );
}
